"""The truths behind an export: scenes of the simulator judge, from the episode stores its manifest names."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from veridream.data.corpus import Corpus
from veridream.data.index import Index
from veridream.wmb.sim.task_scene import TaskModel, TaskScene, fit_task

PROBE_FRAMES = 2000  # training frames of a task that its probe learns from


def task_models(index: Index, corpus: Corpus, tasks: Sequence[str], most: int = PROBE_FRAMES) -> dict[str, TaskModel]:
    """What training frames say of each task. Held-out episodes, from which items are taken, are not among them."""
    out = {}
    for t in sorted(tasks):
        part = index.select(role="corpus", split="train", task=t)
        if not len(part):
            raise ValueError(f"task {t}: no training episode in the index; collect some (collect.counts)")
        frames, states, episode = training_frames(part, corpus, most)
        out[t] = fit_task(t, corpus.median_image(part, t), frames, states, episode)
    return out


def training_frames(part: Index, corpus: Corpus, most: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(frames uint8 [N,H,W,3], states [N,S], episode numbers [N]) of these episodes, thinned evenly to about `most` frames."""
    every = max(1, -(-part.frames() // most))
    frames, states, episode = [], [], []
    for i, (sid, offset, length) in enumerate(zip(part.store, part.offset.tolist(), part.length.tolist(), strict=True)):
        rows = np.arange(i % every, length, every)
        frames.append(corpus.rows(sid, offset, offset + length)[rows])
        states.append(corpus.stores[sid].state[offset : offset + length][rows])
        episode.append(np.full(len(rows), i))
    return np.concatenate(frames), np.concatenate(states), np.concatenate(episode)


def scenes_of(manifest: Sequence[Mapping[str, Any]], corpus: Corpus, models: Mapping[str, TaskModel], gap: int) -> dict[str, TaskScene]:
    """{stem: the truth of its video}."""
    out = {}
    for m in manifest:
        frames = corpus.rows(m["store"], m["row"], m["row"] + m["horizon"] + 1)
        out[m["stem"]] = TaskScene(models[m["task"]], np.array(frames), gap)
    return out
