"""Training of the tokenizer (paper Sec. 3, App. F): masked reconstruction, with the departures small scales need as params."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from veridream.data.corpus import Corpus
from veridream.data.index import Index
from veridream.data.windows import WindowIndex, Windows, sample_windows, window_keys
from veridream.metrics.foreground import THRESHOLD
from veridream.nn.dropout import Dropout
from veridream.nn.lpips import Lpips
from veridream.nn.tokenizer import Tokenizer, patchify, unpatchify
from veridream.params.model import TokenizerTrain
from veridream.train.gradients import StepLoss
from veridream.train.parallel import Part, part
from veridream.train.seeding import derive, generator

CPU = torch.device("cpu")


class Frames(Protocol):
    """Where a step's frames come from: the corpus itself, or processes that read ahead (train.ahead)."""

    def __call__(self, step: int, share: Part, windows: Windows) -> np.ndarray: ...


def draw_mask(frames: tuple[int, int], patches: int, mask_max: float, rng: torch.Generator) -> Tensor:
    """Bool [B,T,N]: each patch hidden with its frame's own ratio, uniform on [0, mask_max]."""
    ratio = torch.rand((*frames, 1), generator=rng) * mask_max
    return torch.rand((*frames, patches), generator=rng) < ratio


def pixel_weights(frames_BTHWC: Tensor, median_BHWC: Tensor, foreground_weight: float) -> Tensor:
    """[B,T,H,W,1]: 1, plus foreground_weight where any channel is further than 0.1 from the task's median image."""
    far = ((frames_BTHWC - median_BHWC[:, None]).abs() > THRESHOLD).any(dim=-1, keepdim=True)
    return 1.0 + foreground_weight * far.to(frames_BTHWC.dtype)


def reconstruction_loss(prediction: Tensor, frames: Tensor, weight: Tensor | None, masked_BTN: Tensor | None, patch: int) -> Tensor:
    """Weighted mean squared error [scalar] over all pixels, or those of masked patches when a mask is given (0 when it hides nothing).

    The mean is over pixels, not over weights: heavier pixels add to the loss. weight None: 1 everywhere.
    """
    error = (prediction - frames).square()
    error = error if weight is None else weight * error
    if masked_BTN is None:
        return error.mean()
    per_patch = patchify(error, patch).mean(-1)  # [B,T,N]
    hidden = masked_BTN.to(error.dtype)
    return (per_patch * hidden).sum() / hidden.sum().clamp(min=1.0)


def composite(prediction: Tensor, frames: Tensor, masked_BTN: Tensor | None, patch: int) -> Tensor:
    """The frames with their masked patches painted by the prediction; the prediction itself without a mask."""
    if masked_BTN is None:
        return prediction
    hidden = masked_BTN[..., None].to(frames.dtype).expand(*masked_BTN.shape, patch * patch * 3)
    hidden = unpatchify(hidden, patch, frames.shape[2])
    return hidden * prediction + (1 - hidden) * frames


@dataclass
class TokenizerLoss:
    """(step, part) -> that part of the loss; the whole batch outside torchrun. A pure function of (seed, step) and the model's weights."""

    tokenizer: Tokenizer
    corpus: Corpus
    windows: WindowIndex
    weights: Mapping[str, float]  # task -> probability
    medians: Mapping[str, np.ndarray]  # task -> u1 [H,W,3]; only read where foreground_weight is not 0
    train: TokenizerTrain
    stream: str  # name of the random stream, so that a finetune does not repeat pretraining's batches
    seed: int
    device: torch.device = CPU
    lpips: Lpips | None = None
    frames: Frames | None = None  # None: read from the corpus

    def __call__(self, step: int, share: Part | None = None) -> StepLoss:
        share = share or part()
        ids = sample_windows(self.windows, self.weights, self.train.batch, derive(self.stream, self.seed), step)
        rows = share.rows(len(ids))
        batch = self.windows.take(ids[rows])
        read = self.corpus.frames(batch, self.windows.T) if self.frames is None else self.frames(step, share, batch)
        frames = torch.from_numpy(read).to(self.device).float() / 255.0
        all_masked = self._mask(step, len(ids))
        masked = None if all_masked is None else all_masked[rows].to(self.device)
        prediction = self.tokenizer(frames, masked, self._dropout(step, len(ids), rows))
        weight = self._weight(frames, batch)
        own = len(rows) / len(ids)  # of the batch's pixels
        if masked is None or all_masked is None or self.train.loss_on == "all":  # an unmasked step is scored on all pixels
            loss = own * reconstruction_loss(prediction, frames, weight, None, self.tokenizer.arch.patch)
        else:
            own_hidden = float(masked.sum() / all_masked.sum().clamp(min=1))
            loss = own_hidden * reconstruction_loss(prediction, frames, weight, masked, self.tokenizer.arch.patch)
        terms = {"reconstruction": loss}
        if self.lpips is not None:
            seen = slice(None, None, self.train.lpips_every)
            painted = composite(prediction, frames, masked, self.tokenizer.arch.patch)
            terms["lpips"] = own * self.lpips(painted[:, seen].flatten(0, 1), frames[:, seen].flatten(0, 1)).mean()
        plain = float((prediction.detach() - frames).square().mean())
        hidden = 0.0 if masked is None else float(masked.float().mean())
        return StepLoss(terms, window_keys(batch), {"lpips": self.train.lpips_weight}, {"mse": own * plain, "masked": own * hidden})

    def _weight(self, frames: Tensor, batch: Windows) -> Tensor | None:
        if not self.train.foreground_weight:
            return None
        median = torch.from_numpy(np.stack([self.medians[t] for t in batch.task])).to(self.device).float() / 255.0
        return pixel_weights(frames, median, self.train.foreground_weight)

    def _dropout(self, step: int, batch: int, rows: np.ndarray) -> Dropout | None:
        """Keys of the whole batch, of which a part takes its own rows."""
        if not self.train.dropout:
            return None
        keys = torch.randint(2**62, (batch,), generator=generator(f"{self.stream} dropout", self.seed, step))
        return Dropout(self.train.dropout, keys[rows].to(self.device))

    def _mask(self, step: int, batch: int) -> Tensor | None:
        if self.train.mask_max == 0 or step % self.train.mask_every:
            return None
        rng = generator(f"{self.stream} mask", self.seed, step)
        return draw_mask((batch, self.windows.T), self.tokenizer.patches, self.train.mask_max, rng)


def median_images(corpus: Corpus, index: Index) -> dict[str, np.ndarray]:
    """Each task's median image over its episodes in `index`."""
    return {t: corpus.median_image(index, t) for t in index.tasks()}
