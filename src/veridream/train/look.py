"""Looks at held-out windows while a base model trains: is the tokenizer alive, do rollouts beat repeating the last frame, are actions heard.

Plain loss hides all three. Windows are spread evenly over each task's held-out ones, noise has one seed, so looks differ by the weights alone.
Of several processes each looks at its own tasks.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from PIL import Image

from veridream.data.corpus import Corpus
from veridream.data.index import Index
from veridream.data.windows import WindowIndex, Windows
from veridream.metrics.foreground import foreground_psnr
from veridream.metrics.motion import decoded_motion_ratio
from veridream.metrics.psnr import psnr
from veridream.nn.device import device_of
from veridream.nn.dynamics import Dynamics
from veridream.nn.sampler import predict_next, rollout
from veridream.nn.tokenizer import Tokenizer
from veridream.params.model import Watch
from veridream.train.parallel import part
from veridream.train.seeding import generator

MEDIAN_FRAMES = 256  # of a task, that its median image is taken over
FEWEST_FRAMES = 8  # of a look at a tokenizer that trains on independent frames, as far as episodes go: motion needs some
CONTEXT = 3  # a rollout's context is one third of the window
TAU_CTX = 0.1  # context corruption
STRIPS = "strips"


@dataclass(frozen=True)
class Heldout:
    """This process's tasks and the windows it looks at."""

    corpus: Corpus
    windows: dict[str, Windows]
    frames: int
    strips: tuple[str, ...]  # tasks to draw

    @staticmethod
    def choose(index: Index, corpus: Corpus, frames: int, watch: Watch) -> "Heldout":
        """watch.windows of each task, evenly spread over its windows of `frames` frames in held-out episodes.

        Raises ValueError when no held-out episode is that long.
        """
        known = WindowIndex.build(index.select(role="corpus", split="heldout"), frames)
        chosen = {}
        for k in part().rows(len(known.tasks)).tolist():
            ids = np.linspace(known.bounds[k], known.bounds[k + 1] - 1, watch.windows).astype(np.int64)
            chosen[known.tasks[k]] = known.take(ids)
        return Heldout(corpus, chosen, frames, tuple(known.tasks[: watch.strips]))

    def truth(self, task: str) -> np.ndarray:
        """float32 [B,T,H,W,3] in [0, 1]."""
        return self.corpus.frames(self.windows[task], self.frames).astype(np.float32) / np.float32(255)


def _mean(values: np.ndarray) -> float:
    """Over the finite ones; NaN without any."""
    finite = values[np.isfinite(values)]
    return float(finite.mean()) if len(finite) else float("nan")


def _draw(work: Path, done: int, task: str, truth_THWC: np.ndarray, model_THWC: np.ndarray) -> None:
    """A PNG of truth above model, time to the right."""
    rows = [np.concatenate(list(x), axis=1) for x in (truth_THWC, model_THWC)]
    folder = work / STRIPS
    folder.mkdir(parents=True, exist_ok=True)
    Image.fromarray(np.rint(np.concatenate(rows) * 255).astype(np.uint8)).save(folder / f"step-{done:08d}-{task}.png")


@dataclass(frozen=True)
class TokenizerLook:
    """Steps done -> heldout_psnr, heldout_psnr_fg (dB) and heldout_decoded_motion (1 alive, 0 dead) of each task."""

    tokenizer: Tokenizer
    heldout: Heldout
    medians: Mapping[str, np.ndarray]  # float32 [H,W,3] in [0, 1]
    work: Path

    @torch.no_grad()
    def __call__(self, done: int) -> dict[str, float]:
        out, device = {}, device_of(self.tokenizer)
        for task in self.heldout.windows:
            truth = self.heldout.truth(task)
            made = self.tokenizer.decode(self.tokenizer.encode(torch.from_numpy(truth).to(device))).clamp(0, 1).cpu().numpy()
            out[f"heldout_psnr/{task}"] = _mean(psnr(made, truth))
            out[f"heldout_psnr_fg/{task}"] = _mean(foreground_psnr(made, truth, self.medians[task]))
            out[f"heldout_decoded_motion/{task}"] = _mean(decoded_motion_ratio(made, truth))
            if task in self.heldout.strips:
                _draw(self.work, done, task, truth[0], made[0])
        return out


def _longest(index: Index) -> int:
    """Frames of the longest held-out episode, of the task where it is shortest."""
    held = index.select(role="corpus", split="heldout")
    return min(int(held.length[held.task == t].max()) for t in held.tasks())


def tokenizer_look(tokenizer: Tokenizer, corpus: Corpus, index: Index, window: int, watch: Watch, work: Path) -> TokenizerLook:
    """`window`: frames a training sequence."""
    frames = window if tokenizer.arch.time_every else max(window, min(FEWEST_FRAMES, _longest(index)))
    heldout = Heldout.choose(index, corpus, frames, watch)
    train = index.select(role="corpus", split="train")
    medians = {t: corpus.median_image(train, t, MEDIAN_FRAMES).astype(np.float32) / np.float32(255) for t in heldout.windows}
    return TokenizerLook(tokenizer, heldout, medians, work)


@dataclass(frozen=True)
class DynamicsLook:
    """Steps done -> heldout_dpsnr (dB over repeating the last context frame) and heldout_asr (action-shuffle ratio) of each task."""

    tokenizer: Tokenizer
    dynamics: Dynamics
    heldout: Heldout
    substeps: int
    work: Path

    @torch.no_grad()
    def __call__(self, done: int) -> dict[str, float]:
        out = {}
        for task, windows in self.heldout.windows.items():
            truth = self.heldout.truth(task)
            context = max(1, truth.shape[1] // CONTEXT)
            made, ratio = self._dream(task, windows, truth, context)
            still = np.broadcast_to(truth[:, context - 1 : context], made.shape)
            out[f"heldout_dpsnr/{task}"] = _mean(psnr(made, truth[:, context:]) - psnr(still, truth[:, context:]))
            out[f"heldout_asr/{task}"] = ratio
            if task in self.heldout.strips:
                _draw(self.work, done, task, truth[0, context:], made[0])
        return out

    def _dream(self, task: str, windows: Windows, truth: np.ndarray, context: int) -> tuple[np.ndarray, float]:
        """(decoded rollout after the context, action-shuffle ratio pooled over the windows). Shuffled actions are those of the window before."""
        device, corpus, t = device_of(self.dynamics), self.heldout.corpus, truth.shape[1]
        z = self.tokenizer.encode(torch.from_numpy(truth).to(device))
        action, mask = (torch.from_numpy(x).to(device) for x in (corpus.actions(windows, t), corpus.mask(windows)))
        noise = generator("look", task)
        made = rollout(self.dynamics, z[:, :context], action, mask, t - context, self.substeps, TAU_CTX, 1, "first", noise).z_BHLD
        frames = self.tokenizer.decode(torch.cat([z[:, :context], made], dim=1))[:, context:].clamp(0, 1)
        errors = []
        for led in (action.roll(1, dims=0), action):
            ahead = predict_next(self.dynamics, z, led, mask, 1, TAU_CTX, generator("look shuffle", task))
            errors.append(float((ahead - z)[:, 1:].square().mean()))
        return frames.cpu().numpy(), errors[0] / errors[1] if errors[1] else float("nan")


def dynamics_look(tokenizer: Tokenizer, dynamics: Dynamics, corpus: Corpus, index: Index, window: int, watch: Watch, work: Path) -> DynamicsLook:
    return DynamicsLook(tokenizer.to(device_of(dynamics)), dynamics, Heldout.choose(index, corpus, window, watch), watch.substeps, work)
