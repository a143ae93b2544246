"""Frames a second of each domain's renderer against the package's own render call; start-up; two collecting processes against one.

    PYTHONPATH=src python benchmarks/simulators.py --sizes 64,224

Every renderer of a row draws its states in one process, turn about. Time is CPU time of all threads: frames a second are those of one core, as in a
collection with a job a core, and a busy machine disturbs little. "As shipped" is the package's
render call with its own defaults; "same size" is the package asked for a frame of our size, where it can be. A round is the median of
`--frames` frames; printed are the median round and, in brackets, the lowest and highest ratio of the rounds. Two
processes are held against one by the wall clock, which says something on an idle machine alone.
"""

import argparse
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence

import numpy as np
from package_renders import ROWS, Row

from veridream.envs.registry import make

HEAD = "| domain | task | px | ours, frames/s | package as shipped | ratio | package, same size | ratio |\n|---|---|---|---|---|---|---|---|"
WARM = 2  # frames of each renderer before the first round
TWO = ("walker-walk", "mw-push", "mujoco-halfcheetah", "rd-push-red", "pygame-pong")


def milliseconds(call: Callable[[], object]) -> float:
    began = time.process_time()
    call()
    return 1000 * (time.process_time() - began)


def rounds(row: Row, size: int, frames: int, repeats: int) -> dict[str, list[float]]:
    """{renderer: median milliseconds a frame of each round}."""
    env, rng = make(row.task, size), np.random.default_rng(0)
    env.reset(0)
    packages = {"shipped": row.start(None)} if row.start else {}
    if row.start and row.sizable:
        packages["same size"] = row.start(size)

    def ours() -> float:
        if env.step(rng.uniform(-1, 1, env.action_dim)).is_last:
            env.reset(0)
        return milliseconds(env.render)

    def turn() -> dict[str, float]:
        out = {"ours": ours()}
        for name, package in packages.items():
            package.move()
            package.ready()
            out[name] = milliseconds(package.draw)
        return out

    for _ in range(WARM):
        turn()
    medians: dict[str, list[float]] = {}
    for _ in range(repeats):
        turns = [turn() for _ in range(frames)]
        for name in turns[0]:
            medians.setdefault(name, []).append(statistics.median(t[name] for t in turns))
    env.close()
    return medians


def line(row: Row, size: int, medians: dict[str, list[float]]) -> str:
    cells = [row.domain, row.task, str(size), per_second(medians["ours"])]
    for name, note in (("shipped", f" ({row.shipped})"), ("same size", "")):
        if name not in medians:
            cells += ["–", "–"]
            continue
        ratios = [theirs / ours for theirs, ours in zip(medians[name], medians["ours"], strict=True)]
        cells += [per_second(medians[name]) + note, spread(ratios)]
    return "| " + " | ".join(cells) + " |"


def per_second(ms: Sequence[float]) -> str:
    return f"{1000 / statistics.median(ms):.3g}"


def spread(values: Sequence[float]) -> str:
    return f"{statistics.median(values):.1f} [{min(values):.1f}, {max(values):.1f}]"


def collecting(task: str, size: int, frames: int) -> float:
    """Frames a second of this process alone, by the wall clock: step and render."""
    env, rng = make(task, size), np.random.default_rng(0)
    env.reset(0)
    env.render()
    began = time.perf_counter()
    for _ in range(frames):
        if env.step(rng.uniform(-1, 1, env.action_dim)).is_last:
            env.reset(0)
        env.render()
    return frames / (time.perf_counter() - began)


def starting(task: str, size: int) -> float:
    """CPU seconds of this process until the task's first frame: Python, the imports, the environment, a reset, a render."""
    env = make(task, size)
    env.reset(0)
    env.render()
    return time.process_time()


def child(processes: int, *words: object) -> list[float]:
    """What so many processes of this program print, run side by side."""
    command = [sys.executable, __file__, *map(str, words)]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(processes)]
    return [float(p.communicate()[0].split()[-1]) for p in running]


def main() -> None:
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--sizes", default="64,224")
    ap.add_argument("--frames", type=int, default=12, help="of each renderer, a round")
    ap.add_argument("--repeats", type=int, default=3, help="rounds")
    ap.add_argument("--tasks", default=",".join(r.task for r in ROWS), help="of these alone")
    ap.add_argument("--part", choices=("render", "start", "two", "all"), default="all")
    ap.add_argument("--collect", help="for the program itself: prints the frames a second of collecting this task")
    ap.add_argument("--start", help="for the program itself: prints the CPU seconds until this task's first frame")
    a = ap.parse_args()
    sizes = [int(s) for s in a.sizes.split(",")]
    if a.collect or a.start:
        print(collecting(a.collect, sizes[0], a.frames) if a.collect else starting(a.start, sizes[0]))
        return
    wanted = [r for r in ROWS if r.task in a.tasks.split(",")]
    print(f"load average at the start: {os.getloadavg()[0]:.1f} of {os.cpu_count()} cores\n")
    if a.part in ("render", "all"):
        print(HEAD)
        for row in wanted:
            for size in sizes:
                print(line(row, size, rounds(row, size, a.frames, a.repeats)), flush=True)
    if a.part in ("start", "all"):
        print("\n| domain | task | CPU seconds to the first frame in a new process |\n|---|---|---|")
        for row in wanted:
            seconds = [child(1, "--start", row.task, "--sizes", sizes[0])[0] for _ in range(a.repeats)]
            print(f"| {row.domain} | {row.task} | {spread(seconds)} |", flush=True)
    if a.part in ("two", "all"):
        print(f"\n| task, {sizes[0]} px | one process, frames/s | two | ratio |\n|---|---|---|---|")
        for task in (t for t in TWO if t in a.tasks.split(",")):
            one, two = [], []
            for _ in range(a.repeats):
                for n, into in ((1, one), (2, two)):
                    into.append(sum(child(n, "--collect", task, "--sizes", sizes[0], "--frames", 20 * a.frames)))
            ratios = [y / x for x, y in zip(one, two, strict=True)]
            print(f"| {task} | {statistics.median(one):.0f} | {statistics.median(two):.0f} | {spread(ratios)} |", flush=True)
    print(f"\nload average at the end: {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
