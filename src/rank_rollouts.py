"""The wmb-sim leaderboard of the judged models and their controls: CSV, markdown, JSON and a page with every clip and answer."""

from pathlib import Path

from veridream.figures.wmb_page import Judged, write_leaderboard
from veridream.provenance.stage import StageError, stage
from veridream.stats.bootstrap import Boot
from veridream.wmb.answers import take
from veridream.wmb.items import find_videos, load_items
from veridream.wmb.layout import ENTRIES, MODEL, read_manifest
from veridream.wmb.leaderboard import Entry
from veridream.wmb.run import Line, read_lines
from veridream.wmb.scoring import score

SHARED = ("simulator", "frozen")  # controls that no model enters


def title_of(entry: str, model: str) -> str:
    return model if entry == MODEL else entry if entry in SHARED else f"{model}, {entry.replace('_', ' ')}"


def judged(entry: str, model: str, folder: Path, lines: list[Line]) -> Judged:
    """One entry of a model's export with its answers. Windows of one episode are resampled together."""
    own, items = [x for x in lines if x["entry"] == entry], load_items(folder / entry)
    episode = {m["stem"]: f"{m['store']}#{m['episode']}" for m in read_manifest(folder / entry)}
    kind = "model" if entry == MODEL else "control"
    one = Entry(title_of(entry, model), "wmb-sim", own[0]["judge"], own[0]["version"], score(items, take(own)), kind, episode)  # type: ignore[arg-type]
    return Judged(one, own, find_videos(folder / entry / "videos", items)[0])


def main() -> None:
    with stage("rank_rollouts", inputs=("answers", "exports"), outputs=("csv", "markdown", "json", "page")) as job:
        exports = {p.name: p for p in job.inputs["exports"]}
        unmatched = sorted({p.stem for p in job.inputs["answers"]} ^ set(exports))
        if unmatched:
            raise StageError(f"{', '.join(unmatched)}: give both the answers and the export of each model")
        found: list[Judged] = []
        for path in job.inputs["answers"]:
            lines, shared = read_lines(path), SHARED if found else ()
            found += [judged(e, path.stem, exports[path.stem], lines) for e in ENTRIES if e not in shared]
        facts = {"scale": job.params["scale"], "judge": found[0].entry.judge, "judge_version": found[0].entry.judge_version}
        write_leaderboard(job.out, found, Boot(**job.params["stats"]), facts)
        job.counts = {"entries": len(found), "items": found[0].entry.scores.expected, "undecidable": len(found[0].entry.scores.undecidable)}


if __name__ == "__main__":
    main()
