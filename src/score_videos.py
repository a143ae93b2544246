"""Scores a folder of videos on WorldModelBench: leaderboard as markdown, CSV, JSON and one HTML page.

    python src/score_videos.py --benchmark WorldModelBench --videos my_videos --model mine --answers results.json --out scores
    python src/score_videos.py --benchmark WorldModelBench --videos my_videos --model mine --votes votes.csv --out scores
    python src/score_videos.py --benchmark WorldModelBench --videos my_videos --model mine --vila-python vila/bin/python --weights vila-ewm --out scores

--benchmark is a checkout of the benchmark: worldmodelbench.json beside images/. --videos holds one <stem>.mp4 an item. Answers come from a
results file of the published script (--answers), from a table of human votes (--votes), or from the benchmark's own judge, run in its own
environment (--vila-python, --weights); those are kept in <out>/cache.jsonl, so that the same command goes on after an interruption.
"""

import argparse
import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path

from veridream.figures.wmb_page import Judged, write_leaderboard
from veridream.io.progress import Progress
from veridream.params.model import Stats
from veridream.provenance.digest import content_id
from veridream.provenance.lock import Locked
from veridream.stats.bootstrap import Boot
from veridream.wmb.answers import Judge, JudgeError, take
from veridream.wmb.cache import open_cache
from veridream.wmb.items import LIST, BenchmarkError, check_official, find_videos, load_items
from veridream.wmb.judges.replay import ReplayJudge
from veridream.wmb.judges.votes import VoteJudge
from veridream.wmb.leaderboard import Entry
from veridream.wmb.questions import EVALUATION, OURS, QUESTIONS, Wording, official_wording
from veridream.wmb.run import run_judge, write_lines
from veridream.wmb.scoring import score


def parse() -> argparse.Namespace:
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--benchmark", type=Path, required=True, metavar="DIR")
    ap.add_argument("--videos", type=Path, required=True, metavar="DIR")
    ap.add_argument("--model", required=True, help="name of the model whose videos these are")
    ap.add_argument("--out", type=Path, required=True, metavar="DIR")
    judge = ap.add_mutually_exclusive_group(required=True)
    judge.add_argument("--answers", type=Path, help="results file of the published script, of this model")
    judge.add_argument("--votes", type=Path, help="CSV or parquet: video, voter, eight labels")
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


@contextlib.contextmanager
def judge_of(a: argparse.Namespace) -> Iterator[Judge]:
    if a.answers:
        yield ReplayJudge(a.answers, a.model, wording(a))
    elif a.votes:
        yield VoteJudge(a.votes)
    else:
        from veridream.wmb.judges.vila import VilaJudge

        if a.weights is None:
            raise BenchmarkError("--vila-python needs --weights, the folder of the judge's weights")
        with VilaJudge(a.vila_python, a.weights, wording(a), a.mode, a.seed) as judge:
            yield judge


def main(a: argparse.Namespace) -> None:
    items = load_items(a.benchmark)
    if not a.own_items:
        check_official(items)
    videos, unlisted = find_videos(a.videos, items)
    a.out.mkdir(parents=True, exist_ok=True)
    total = len(items) * len(QUESTIONS) * a.repeats
    with judge_of(a) as judge, open_cache(a.out / "cache.jsonl") as cache, Progress(f"score_videos {a.model}", total) as progress:
        lines = run_judge(judge, items, videos, cache, a.repeats, progress.update)
        kept = cache.hits
    write_lines(a.out / "answers.jsonl", lines)
    entry = Entry(a.model, "wmb", judge.id, judge.version, score(items, take(lines), a.missing, a.repeats))
    facts = {"model": a.model, "judge": judge.id, "judge version": judge.version, "missing videos": f"{len(entry.scores.missing)}, policy {a.missing}"}
    facts |= {"items": content_id(a.benchmark / LIST if a.benchmark.is_dir() else a.benchmark)["sha256"], "mp4 files of no item": len(unlisted)}
    if isinstance(judge, VoteJudge):
        told = judge.agreement()
        facts |= {f"votes, {k}": v for k, v in told.items() if not isinstance(v, dict)}
        facts |= {f"votes, {q}": f"alpha {told['alphas'][q]:.3f}, equal pairs {told['equal'][q]:.3f}" for q in QUESTIONS}
    if isinstance(judge, ReplayJudge):
        facts |= {"scores in the file that its answers do not give": "unknown" if judge.accs_differ is None else judge.accs_differ}
    out = {"csv": "leaderboard.csv", "markdown": "leaderboard.md", "json": "leaderboard.json", "page": "index.html"}
    paths = {k: a.out / name for k, name in out.items()}
    write_leaderboard(paths, [Judged(entry, lines, videos)], Boot(**Stats().model_dump()), facts)
    print(paths["markdown"].read_text().split("### By domain")[0])
    if unlisted:
        print(f"{len(unlisted)} mp4 files are no item's video and were not scored: {', '.join(unlisted[:3])}")
    print(f"{kept} of {len(lines)} answers were there already; the page: {paths['page']}")


if __name__ == "__main__":
    try:
        main(parse())
    except (BenchmarkError, JudgeError, Locked) as e:
        sys.exit(f"score_videos: {e}")
