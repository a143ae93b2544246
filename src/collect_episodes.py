"""Collects the episodes of one task, behaviour and seed into an episode store.

The simulator runs in a child process, so that its crash ends in a message that names the episode, and in no store.
"""

import signal
from typing import Any

from veridream.data.collection import collect
from veridream.envs.base import SimulatorMissing
from veridream.envs.registry import make
from veridream.provenance.child import Died, Note, in_child
from veridream.provenance.stage import Job, StageError, stage

AGAIN = "run the workflow again; if it ends at the same episode, "
CRASHED = f"{AGAIN}check the renderer (make doctor) and that the packages are those of requirements/lock.txt, or leave the task out of the params"
KILLED = f"{AGAIN}free some memory or run fewer jobs at once: the system kills what takes too much"


def run(job: Job, note: Note) -> dict[str, Any]:
    """What becomes of the job's counts and facts."""
    p = job.params
    try:
        env = make(p["task"], p["render"]["size"], p["render"]["quality"], p["frame_skip"], p["max_steps"])
    except SimulatorMissing as e:
        raise StageError(str(e)) from None
    try:
        counts = collect(env, job.out["store"], p, lambda episode, seed: note([episode, seed]))
        return {"counts": counts, "facts": {"renderer": env.renderer, "determinism": env.determinism}}
    finally:
        env.close()


def crash(e: Died, p: dict[str, Any]) -> str:
    where = f"episode {e.note[0]} of {p['episodes']} (seed {e.note[1]})" if e.note else "before the first episode, while the simulator started"
    remedy = KILLED if e.signum == signal.SIGKILL else CRASHED
    return f"{p['role']}/{p['task']}/{p['behaviour']}-s{p['seed']}: the simulator ended by {e.how}, {where}; no store was written. Remedy: {remedy}"


with stage("collect_episodes", outputs=("store",)) as job:
    try:
        done = in_child(lambda note: run(job, note))
    except Died as e:
        raise StageError(crash(e, job.params)) from None
    job.counts, job.facts = done["counts"], done["facts"]
