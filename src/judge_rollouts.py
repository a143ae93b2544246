"""Answers WorldModelBench's questions about one model's exported rollouts and controls, from the simulator. Goes on where it stopped.

Tolerances come from the reconstruction control of --calibration, one export for all models of a leaderboard.
"""

from veridream.data.corpus import Corpus
from veridream.data.index import load_index
from veridream.io.progress import Progress
from veridream.provenance.stage import Job, StageError, stage
from veridream.wmb.answers import JudgeError
from veridream.wmb.cache import open_cache
from veridream.wmb.items import find_videos, load_items
from veridream.wmb.judges.sim import SimJudge, calibrated
from veridream.wmb.layout import ENTRIES, read_manifest
from veridream.wmb.questions import QUESTIONS
from veridream.wmb.run import Line, run_judge, write_lines
from veridream.wmb.scenes import scenes_of, task_models


def main(job: Job) -> None:
    settings, folder, calibration = job.params["wmb"], job.input("exports"), job.input("calibration")
    index, corpus = load_index(*job.inputs["index"]), Corpus(job.inputs["stores"])
    manifest, items = read_manifest(folder / "simulator"), load_items(folder / "simulator")
    models = task_models(index, corpus, sorted({m["task"] for m in manifest}))
    scenes = scenes_of(manifest, corpus, models, settings["gap"])
    reconstructions, _ = find_videos(calibration / "reconstruction" / "videos", items)
    judge = SimJudge(scenes, calibrated(scenes, reconstructions, corpus.size, settings["quantile"], settings["lasting"]), corpus.size)
    lines: list[Line] = []
    total = len(ENTRIES) * len(items) * len(QUESTIONS)
    with open_cache(job.work / "answers.jsonl") as cache, Progress(f"judge_rollouts {job.params['model']}", total) as progress:  # type: ignore[operator]
        for entry in ENTRIES:
            videos, _ = find_videos(folder / entry / "videos", items)
            lines += [{"entry": entry, **x} for x in run_judge(judge, items, videos, cache, 1, progress.update)]
        job.facts["answers from the cache"] = cache.hits
    write_lines(job.out["answers"], lines)
    decoded = {t: {"dims": list(m.probe.dims), "r2": [round(x, 3) for x in m.probe.r2]} for t, m in models.items()}
    job.counts |= {"items": len(items), "answers": len(lines), "undecidable": len(judge.undecidable), "decoded": decoded}


if __name__ == "__main__":
    with stage("judge_rollouts", inputs=("exports", "calibration", "index", "stores"), outputs=("answers",), work=True) as job:
        try:
            main(job)
        except JudgeError as e:
            raise StageError(str(e)) from None
