"""Play a task at the keyboard, in a web page on this machine, and keep the episodes as a store of behaviour human.

    python src/play.py --task pygame-pong --episodes 2 --out human

Open the address it prints. Writes <out>/<role>/<task>/human-s<seed>.zarr once the last episode is over; validate_store, the exporters and a
finetune's --extra take it like any other. Ctrl-C keeps finished episodes: the same command goes on with the next one.
"""

import argparse
import os
import shutil
import signal
import sys
from pathlib import Path
from typing import Any

from veridream import spec
from veridream.envs.base import SimulatorMissing
from veridream.envs.registry import make
from veridream.io.store_manifest import StoreError
from veridream.params.load import load_params
from veridream.params.tasks import task
from veridream.play.exchange import Exchange
from veridream.play.keys import legend
from veridream.play.record import record_play
from veridream.play.server import page, serving
from veridream.provenance.lock import Locked, hold_lock
from veridream.provenance.stage import StageError


def arguments() -> argparse.Namespace:
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--task", required=True)
    ap.add_argument("--out", type=Path, required=True, help="folder of human stores")
    ap.add_argument("--episodes", type=int, default=1)
    ap.add_argument("--seed", type=int, default=0, help="of the store; an episode's own seed follows from it")
    ap.add_argument("--role", choices=spec.ROLES, default="targeted")
    ap.add_argument("--port", type=int, default=8000, help="0: any free one")
    ap.add_argument("--pace", type=float, default=1.0, help="0.5: half as fast as the task's own clock")
    ap.add_argument("--scale", default="laptop", help="whose render, collect.max_steps and collect.frame_skip; stores of one corpus share them")
    ap.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="over the scale, such as render.size=224")
    a = ap.parse_args()
    if a.episodes < 1 or a.seed < 0 or a.pace <= 0:
        ap.error("--episodes is at least 1, --seed at least 0, --pace above 0")
    return a


def play(a: argparse.Namespace) -> Path:
    """The store's path. Nothing stands under it until the last episode is over."""
    t, p = task(a.task), load_params(a.scale, a.set)
    render, kept = p.render.model_dump(), {"max_steps": p.collect.max_steps, "frame_skip": p.collect.frame_skip}
    params: dict[str, Any] = {"role": a.role, "task": t.id, "behaviour": "human", "seed": a.seed, "episodes": a.episodes, "render": render, **kept}
    path: Path = a.out / a.role / t.id / f"human-s{a.seed}.zarr"
    part, work = path.with_name(f".{path.name}.part"), path.with_name(f".{path.stem}.actions")
    if path.exists():
        raise StoreError(f"{path}: it exists already; give another --seed or delete it first")
    with hold_lock(path.with_name(f".{path.name}.lock"), str(path)):
        shutil.rmtree(part, ignore_errors=True)  # of a killed session
        env, exchange = make(t.id, p.render.size, p.render.quality, **kept), Exchange()
        before = signal.signal(signal.SIGINT, exchange.interrupt)
        try:
            text = page(t.id, t.instruction, t.action_dim, legend(t.action_dim), kept["frame_skip"] / t.control_hz / a.pace)
            with serving(exchange, text, a.port) as address:
                print(f"{t.id}: {t.instruction}", *(f"  {keys:8} {what}" for keys, what in legend(t.action_dim)), f"open {address}", sep="\n", flush=True)
                record_play(env, part, params, exchange, work)
            os.replace(part, path)
        finally:
            signal.signal(signal.SIGINT, before)
            env.close()
            shutil.rmtree(part, ignore_errors=True)
        shutil.rmtree(work)
    return path


if __name__ == "__main__":
    try:
        print(play(arguments()))
    except (StageError, ValueError, SimulatorMissing, Locked) as e:
        sys.exit(f"play: {e}")
    except KeyboardInterrupt:
        print("play: interrupted; finished episodes are kept, the same command goes on with the next one", file=sys.stderr)
        sys.exit(128 + signal.SIGINT)
