"""Frames a second of each domain's renderer against the package's own render call, and of two collecting processes against one.

    python benchmarks/simulators.py --sizes 64,224

Both renderers draw the same states in one run, turn about, so that a busy machine disturbs both alike. Printed: median milliseconds a frame
of each, and their ratio. MiniArcade and Atari have no other renderer; their own figures stand alone.
"""

import argparse
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable

import numpy as np

from veridream.envs.registry import make

Render = Callable[[], object]


def dmcontrol(size: int) -> Render:
    from dm_control import suite

    env = suite.load("walker", "walk")
    env.reset()
    return lambda: env.physics.render(size, size, camera_id=0)


def metaworld(size: int) -> Render:
    import metaworld

    env = metaworld.MT1("push-v3", seed=0)
    one = env.train_classes["push-v3"](render_mode="rgb_array", width=size, height=size)
    one.set_task(env.train_tasks[0])
    one.reset()
    return one.render


def gym(name: str, **options: object) -> Callable[[int], Render]:
    def start(size: int) -> Render:
        import gymnasium

        sized = {"width": size, "height": size} if name.startswith("Half") else {}
        env = gymnasium.make(name, render_mode="rgb_array", **sized, **options)  # type: ignore[arg-type]
        env.reset(seed=0)
        return env.render

    return start


def ogbench(size: int) -> Render:
    import gymnasium
    import ogbench  # noqa: F401  registers the environments

    env = gymnasium.make("pointmaze-medium-v0", render_mode="rgb_array", width=size, height=size)
    env.reset(seed=0)
    return env.render


# task -> the package's own way to a picture of it; None: there is no other
BASELINES: dict[str, Callable[[int], Render] | None] = {
    "walker-walk": dmcontrol,
    "mw-push": metaworld,
    "mujoco-halfcheetah": gym("HalfCheetah-v5"),
    "og-point-maze": ogbench,
    "lunarlander-hover": gym("LunarLander-v3", continuous=True),
    "atari-pong": None,
    "pygame-pong": None,
}


def milliseconds(render: Render) -> float:
    began = time.perf_counter()
    render()
    return 1000 * (time.perf_counter() - began)


def row(task: str, size: int, frames: int) -> str:
    env, rng = make(task, size), np.random.default_rng(0)
    baseline = BASELINES[task]
    other = baseline(size) if baseline else None
    env.reset(0)
    ours, theirs = [], []
    for _ in range(frames):
        if env.step(rng.uniform(-1, 1, env.action_dim)).is_last:
            env.reset(0)
        ours.append(milliseconds(env.render))
        if other:
            theirs.append(milliseconds(other))
    env.close()
    mine = statistics.median(ours[2:])
    if not theirs:
        return f"| {task} | {size} | {mine:.2f} | – | – |"
    own = statistics.median(theirs[2:])
    return f"| {task} | {size} | {mine:.2f} | {own:.1f} | {own / mine:.1f} |"


def collecting(task: str, size: int, frames: int) -> float:
    """Frames a second of this process alone: step and render."""
    env, rng = make(task, size), np.random.default_rng(0)
    env.reset(0)
    env.render()
    began = time.perf_counter()
    for _ in range(frames):
        if env.step(rng.uniform(-1, 1, env.action_dim)).is_last:
            env.reset(0)
        env.render()
    return frames / (time.perf_counter() - began)


def together(task: str, size: int, frames: int, processes: int) -> float:
    """Frames a second of so many processes in all."""
    command = [sys.executable, __file__, "--worker", task, "--sizes", str(size), "--frames", str(frames)]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=os.environ) for _ in range(processes)]
    return sum(float(p.communicate()[0].split()[-1]) for p in running)


def main() -> None:
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--sizes", default="64,224")
    ap.add_argument("--frames", type=int, default=40)
    ap.add_argument("--worker", help="for the program itself: a task to collect")
    a = ap.parse_args()
    sizes = [int(s) for s in a.sizes.split(",")]
    if a.worker:
        print(collecting(a.worker, sizes[0], a.frames))
        return
    print("| task | px | ours, ms a frame | the package's, ms | ratio |\n|---|---|---|---|---|")
    for task in BASELINES:
        for size in sizes:
            print(row(task, size, a.frames), flush=True)
    for task in ("walker-walk", "mw-push"):
        one, two = together(task, 64, 20 * a.frames, 1), together(task, 64, 20 * a.frames, 2)
        print(f"\n{task}, 64 px: {one:.0f} frames/s in one process, {two:.0f} in two: {two / one:.2f} times", flush=True)


if __name__ == "__main__":
    main()
