"""Scores folders of videos on WorldModelBench: leaderboard as markdown, CSV, JSON and one HTML page.

    python src/score_videos.py --benchmark WorldModelBench --videos my_videos --model mine --answers results.json --out scores
    python src/score_videos.py --benchmark WorldModelBench --videos my_videos --model mine --votes votes.csv --out scores
    python src/score_videos.py --benchmark WorldModelBench --videos my_videos --model mine --vila-python vila/bin/python --weights vila-ewm --out scores

--benchmark is a checkout of the benchmark: worldmodelbench.json beside images/. --videos holds one <stem>.mp4 an item. Answers come from a
results file of the published script (--answers), from a table of human votes (--votes), or from the benchmark's own judge, run in its own
environment (--vila-python, --weights); those are kept in <out>/cache.jsonl, so that the same command goes on after an interruption.

Several models in one ranking: give --model and --videos (and --answers or --votes) once for each, in the same order.
"""

import argparse
import contextlib
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from veridream.figures.wmb_page import Judged, write_leaderboard
from veridream.io.progress import Progress
from veridream.params.model import Stats
from veridream.provenance.digest import content_id
from veridream.provenance.lock import Locked
from veridream.stats.bootstrap import Boot
from veridream.wmb.answers import DescribedJudge, JudgeError, take
from veridream.wmb.cache import open_cache
from veridream.wmb.items import LIST, OFFICIAL_SHA256, BenchmarkError, check_official, find_videos, load_items
from veridream.wmb.judges.replay import ReplayJudge
from veridream.wmb.judges.votes import VoteJudge
from veridream.wmb.leaderboard import Entry
from veridream.wmb.questions import EVALUATION, OURS, QUESTIONS, Wording, official_wording
from veridream.wmb.run import run_judge, write_lines
from veridream.wmb.scoring import Scores, refuse_missing, score


def parse() -> argparse.Namespace:
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--benchmark", type=Path, required=True, metavar="DIR")
    ap.add_argument("--videos", type=Path, required=True, action="append", metavar="DIR")
    ap.add_argument("--model", required=True, action="append", help="name of the model whose videos these are")
    ap.add_argument("--out", type=Path, required=True, metavar="DIR")
    judge = ap.add_mutually_exclusive_group(required=True)
    judge.add_argument("--answers", type=Path, action="append", help="results file of the published script, of this model")
    judge.add_argument("--votes", type=Path, action="append", help="CSV or parquet: video, voter, eight labels")
    judge.add_argument("--vila-python", type=Path, help="python of an environment with the benchmark's judge")
    ap.add_argument("--weights", type=Path, help="with --vila-python: folder of the judge's weights")
    ap.add_argument("--mode", choices=("sampled", "greedy"), default="sampled", help="with --vila-python: decoding; sampled is the official one")
    ap.add_argument("--seed", type=int, default=0, help="with --vila-python: seed of the first repeat")
    ap.add_argument("--repeats", type=int, default=1, help="with --vila-python: answers a question")
    ap.add_argument("--cot", action="store_true", help="with --vila-python: the published questions' step-by-step form")
    ap.add_argument("--missing", choices=("error", "zero", "drop"), default="error", help="what a missing video does")
    ap.add_argument("--own-items", action="store_true", help="the benchmark folder is not the published test set")
    return ap.parse_args()


def wording(a: argparse.Namespace) -> Wording:
    """The published words where the checkout has them."""
    return official_wording(a.benchmark, a.cot) if (a.benchmark / EVALUATION).is_file() else OURS


@dataclass(frozen=True)
class Given:
    """One model's videos, and the file with answers about them where there is one."""

    model: str
    videos: Path
    answers: Path | None


def given(a: argparse.Namespace) -> list[Given]:
    """What the command names. Raises BenchmarkError when a model lacks its folder or file."""
    files = a.answers or a.votes or [None] * len(a.model)
    if not len(a.model) == len(a.videos) == len(files):
        raise BenchmarkError(f"{len(a.model)} --model, {len(a.videos)} --videos, {len(files)} files of answers: give each once a model, in the same order")
    return [Given(*each) for each in zip(a.model, a.videos, files, strict=True)]


@contextlib.contextmanager
def judges_of(a: argparse.Namespace) -> Iterator[Callable[[Given], DescribedJudge]]:
    """The judge of each model; the benchmark's own one is loaded once for all."""
    if a.answers:
        yield lambda one: ReplayJudge(one.answers, one.model, wording(a))  # type: ignore[arg-type]
    elif a.votes:
        yield lambda one: VoteJudge(one.answers)  # type: ignore[arg-type]
    else:
        from veridream.wmb.judges.vila import VilaJudge

        if a.weights is None:
            raise BenchmarkError("--vila-python needs --weights, the folder of the judge's weights")
        with VilaJudge(a.vila_python, a.weights, wording(a), a.mode, a.seed) as judge:
            yield lambda one: judge


def facts_of(judge: DescribedJudge, scores: Scores, repeats: int) -> dict[str, Any]:
    """What is known of one model's answers beside its row."""
    missing = f"{len(scores.missing)}, policy {scores.policy}"
    return {"judge": judge.id, "judge version": judge.version, "repeats": repeats, "missing videos": missing, **judge.described()}


def main(a: argparse.Namespace) -> None:
    items, models = load_items(a.benchmark), given(a)
    if not a.own_items:
        check_official(items)
    folders = [find_videos(one.videos, items) for one in models]
    if a.missing == "error":  # before hours of judging, not after
        for one, (videos, _) in zip(models, folders, strict=True):
            refuse_missing([i.stem for i in items if i.stem not in videos], len(items), one.model)
    a.out.mkdir(parents=True, exist_ok=True)
    facts: dict[str, Any] = {"items": content_id(a.benchmark / LIST if a.benchmark.is_dir() else a.benchmark)["sha256"]}
    facts["items are the published file, byte for byte"] = facts["items"] == OFFICIAL_SHA256
    found: list[Judged] = []
    unlisted: list[str] = []
    total = len(models) * len(items) * len(QUESTIONS) * a.repeats
    with judges_of(a) as judge_of, open_cache(a.out / "cache.jsonl") as cache, Progress("score_videos", total) as progress:
        for one, (videos, others) in zip(models, folders, strict=True):
            judge = judge_of(one)
            lines = [{"model": one.model, **x} for x in run_judge(judge, items, videos, cache, a.repeats, progress.update)]
            scores = score(items, take(lines), a.missing, a.repeats)
            shared = "" if a.vila_python else type(judge).__name__  # files of several judges are ranked on the word of whoever gives them together
            found.append(Judged(Entry(one.model, "wmb", judge.id, judge.version, scores, ranking=shared), lines, videos))
            own = {"model": one.model, **facts_of(judge, scores, a.repeats), "mp4 files of no item": len(others)}
            facts |= own if len(models) == 1 else {f"{one.model}: {k}": v for k, v in own.items() if k != "model"}
            unlisted += others
        kept = cache.hits
    whole = [x for one in found for x in one.lines]
    write_lines(a.out / "answers.jsonl", whole)
    out = {"csv": "leaderboard.csv", "markdown": "leaderboard.md", "json": "leaderboard.json", "page": "index.html"}
    paths = {k: a.out / name for k, name in out.items()}
    write_leaderboard(paths, found, Boot(**Stats().model_dump()), facts)
    print(paths["markdown"].read_text().split("### By domain")[0])
    if unlisted:
        print(f"{len(unlisted)} mp4 files are no item's video and were not scored: {', '.join(unlisted[:3])}")
    print(f"{kept} of {len(whole)} answers were there already; the page: {paths['page']}")


if __name__ == "__main__":
    try:
        main(parse())
    except (BenchmarkError, JudgeError, Locked) as e:
        sys.exit(f"score_videos: {e}")
