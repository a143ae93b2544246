"""An episode store as a Minari dataset: N + 1 observations and N actions an episode, frames lossless.

Our row t holds observation t and what led to it, Minari's step t the observation and what was done then: action and reward move one row up.
Minari's infos belong to observations, so `state` and `acted` stay; what the numbers in `acted` stand for is the metadata's `acted_names`.
"""

import os
from pathlib import Path

import numpy as np

from veridream.io.episode_store import EpisodeStore, StoreError


def export_minari(store: EpisodeStore, root: Path) -> Path:
    """Writes veridream/<task>/<behaviour>-v0 under `root`, Minari's datasets folder; the dataset's path. Raises StoreError when it is there already."""
    a = store.attrs
    name = f"veridream/{a.task}/{a.behaviour}-v0"
    if (root / name).exists():
        raise StoreError(f"{root / name}: it exists already; delete it first")
    os.environ["MINARI_DATASETS_PATH"] = str(root)
    import minari
    from gymnasium.spaces import Box
    from minari.data_collector import EpisodeBuffer

    buffers = []
    for i in range(len(store)):
        rows = store.rows(i)
        n = rows.stop - rows.start - 1
        ended = bool(store.is_terminal[rows.stop - 1])
        flags = [False] * (n - 1)
        buffers.append(
            EpisodeBuffer(
                id=i,
                seed=int(store.seed[i]),
                observations=np.asarray(store.frame[rows]),
                actions=store.prev_action[rows][1:, : a.action_dim],
                rewards=store.reward[rows][1:].tolist(),
                terminations=[*flags, ended],
                truncations=[*flags, not ended],
                infos={"state": store.state[rows], "acted": store.acted[rows]},
            )
        )
    dataset = minari.create_dataset_from_buffers(
        name,
        buffers,
        observation_space=Box(0, 255, (a.size, a.size, 3), np.uint8),
        action_space=Box(-1.0, 1.0, (a.action_dim,), np.float32),
        algorithm_name=a.behaviour,
        description=f"{a.instruction} ({a.renderer})",
        data_format="hdf5",
        jpeg_encoding=False,
    )
    dataset.storage.update_metadata({"acted_names": a.acted_names})
    return root / name
