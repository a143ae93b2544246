"""Encoded frames of whole stores: a folder with one safetensors file a store id (slashes become "__"), `z` f4 [N,L,D].

Row t of a store's latents is row t of its frames. A tokenizer without time attention encodes each frame alone; one with it encodes
each episode in consecutive windows of its training length, so latents look as they did when the dynamics will meet them.
"""

import itertools
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from veridream.data.corpus import Corpus
from veridream.data.windows import Windows
from veridream.io.episode_store import EpisodeStore
from veridream.io.progress import Progress
from veridream.nn.device import device_of
from veridream.nn.tokenizer import Tokenizer
from veridream.provenance.stage import StageError

CHUNK = 512  # frames encoded at once


class Rows(Protocol):
    """What a store's latents must offer: slices of rows."""

    def __getitem__(self, rows: slice) -> np.ndarray: ...


def file_name(store: str) -> str:
    return store.replace("/", "__") + ".safetensors"


class LatentCache:
    """Latents by store id, in memory or read by slice from files."""

    def __init__(self, stores: Mapping[str, Rows], shape: tuple[int, int]):
        self.stores, self.shape = dict(stores), shape  # shape is (L, D)

    def rows(self, store: str, start: int, stop: int) -> np.ndarray:
        """f4 [stop-start,L,D]."""
        if store not in self.stores:
            raise StageError(f"store {store} has no latents; encode it (encode_latents) with the other stores")
        out = self.stores[store][start:stop]
        if len(out) != stop - start:
            raise StageError(f"{store}: rows {start}..{stop} reach past its latents; they are of another version of the store, encode it again")
        return out

    def windows(self, windows: Windows, T: int) -> np.ndarray:
        """f4 [B,T,L,D]."""
        return np.stack([self.rows(s, a, a + T) for s, a in zip(windows.store, windows.start.tolist(), strict=True)])

    def save(self, folder: str | Path) -> None:
        """Writes every store's file into a new folder."""
        Path(folder).mkdir(parents=True)
        for store, z in sorted(self.stores.items()):
            save_file({"z": np.ascontiguousarray(z[:])}, Path(folder) / file_name(store))

    @staticmethod
    def open(folder: str | Path) -> "LatentCache":
        """Opens a saved cache; rows are read when asked for. Raises StageError naming the file that is damaged or of another shape."""
        found: dict[str, Any] = {}
        shapes: dict[tuple[int, int], Path] = {}
        for path in sorted(Path(folder).glob("*.safetensors")):
            try:
                rows = safe_open(path, "np").get_slice("z")
            except SafetensorError as e:
                raise StageError(f"{path}: damaged latents ({e}); delete {folder} and run the workflow again") from None
            shapes.setdefault((rows.get_shape()[1], rows.get_shape()[2]), path)
            found[path.stem.replace("__", "/")] = rows
        if len(shapes) != 1:
            raise StageError(f"{folder}: " + ("no latents in it" if not shapes else f"latents of several shapes: {shapes}") + "; encode the stores again")
        return LatentCache(found, next(iter(shapes)))


def encode_store(tokenizer: Tokenizer, store: EpisodeStore, corpus: Corpus, window: int, progress: Progress | None = None) -> np.ndarray:
    """z f4 [N,L,D] of one store. `window` is the frames a sequence of the tokenizer's training; 1 without time attention."""
    window = window if tokenizer.arch.time_every else 1
    out = np.empty((store.frames, tokenizer.arch.latents, tokenizer.arch.latent_dim), dtype=np.float32)
    for first, last, length in _spans(store, window):
        frames = torch.from_numpy(corpus.rows(store.id, first, last).astype(np.float32) / 255.0).to(device_of(tokenizer))
        z = tokenizer.encode(frames.unflatten(0, (-1, length)))
        out[first:last] = z.flatten(0, 1).cpu().numpy()
        if progress is not None:
            progress.update(last - first)
    return out


def _spans(store: EpisodeStore, window: int) -> list[tuple[int, int, int]]:
    """(first row, last row + 1, frames a sequence) of each encoder call."""
    if window == 1:
        return [(a, min(a + CHUNK, store.frames), 1) for a in range(0, store.frames, CHUNK)]
    spans = []
    for offset, length in zip(store.offset.tolist(), store.length.tolist(), strict=True):
        cuts = [*range(offset, offset + length, window), offset + length]
        spans += [(a, b, b - a) for a, b in itertools.pairwise(cuts)]
    return spans


@torch.no_grad()
def encode_stores(tokenizer: Tokenizer, corpus: Corpus, window: int, name: str = "encode_latents") -> LatentCache:
    """Latents of every store of the corpus, in memory."""
    tokenizer.eval()
    with Progress(name, sum(s.frames for s in corpus.stores.values())) as progress:
        held = {i: encode_store(tokenizer, s, corpus, window, progress) for i, s in sorted(corpus.stores.items())}
    return LatentCache(held, (tokenizer.arch.latents, tokenizer.arch.latent_dim))
