"""Training of the tokenizer (paper Sec. 3, App. F): masked reconstruction, with the departures small scales need as params."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from veridream.data.corpus import Corpus
from veridream.data.index import Index
from veridream.data.windows import WindowIndex, sample_windows, window_keys
from veridream.metrics.foreground import THRESHOLD
from veridream.nn.tokenizer import Tokenizer, patchify
from veridream.params.model import TokenizerTrain
from veridream.train.engine import StepLoss
from veridream.train.parallel import part
from veridream.train.seeding import derive, generator


def draw_mask(frames: tuple[int, int], patches: int, mask_max: float, rng: torch.Generator) -> Tensor:
    """Bool [B,T,N]: each patch hidden with its frame's own ratio, uniform on [0, mask_max]."""
    ratio = torch.rand((*frames, 1), generator=rng) * mask_max
    return torch.rand((*frames, patches), generator=rng) < ratio


def pixel_weights(frames_BTHWC: Tensor, median_BHWC: Tensor, foreground_weight: float) -> Tensor:
    """[B,T,H,W,1]: 1, plus foreground_weight where any channel is further than 0.1 from the task's median image."""
    far = ((frames_BTHWC - median_BHWC[:, None]).abs() > THRESHOLD).any(dim=-1, keepdim=True)
    return 1.0 + foreground_weight * far.to(frames_BTHWC.dtype)


def reconstruction_loss(prediction: Tensor, frames: Tensor, weight: Tensor, masked_BTN: Tensor | None, patch: int) -> Tensor:
    """Weighted mean squared error [scalar] over all pixels, or those of masked patches when a mask is given (0 when it hides nothing).

    The mean is over pixels, not over weights: heavier pixels add to the loss.
    """
    error = weight * (prediction - frames).square()
    if masked_BTN is None:
        return error.mean()
    per_patch = patchify(error, patch).mean(-1)  # [B,T,N]
    hidden = masked_BTN.to(error.dtype)
    return (per_patch * hidden).sum() / hidden.sum().clamp(min=1.0)


@dataclass
class TokenizerLoss:
    """Step -> this process's part of the loss. A pure function of (seed, step) and the model's weights."""

    tokenizer: Tokenizer
    corpus: Corpus
    windows: WindowIndex
    weights: Mapping[str, float]  # task -> probability
    medians: Mapping[str, np.ndarray]  # task -> u1 [H,W,3]
    train: TokenizerTrain
    stream: str  # name of the random stream, so that a finetune does not repeat pretraining's batches
    seed: int

    def __call__(self, step: int) -> StepLoss:
        ids = sample_windows(self.windows, self.weights, self.train.batch, derive(self.stream, self.seed), step)
        rows = part().rows(len(ids))
        batch = self.windows.take(ids[rows])
        frames = torch.from_numpy(self.corpus.frames(batch, self.windows.T)).float() / 255.0
        median = torch.from_numpy(np.stack([self.medians[t] for t in batch.task])).float() / 255.0
        all_masked = self._mask(step, len(ids))
        masked = None if all_masked is None else all_masked[rows]
        prediction = self.tokenizer(frames, masked)
        weight = pixel_weights(frames, median, self.train.foreground_weight)
        own = len(rows) / len(ids)  # of the batch's pixels
        if masked is None or all_masked is None or self.train.loss_on == "all":  # an unmasked step is scored on all pixels
            loss = own * reconstruction_loss(prediction, frames, weight, None, self.tokenizer.arch.patch)
        else:
            own_hidden = float(masked.sum() / all_masked.sum().clamp(min=1))
            loss = own_hidden * reconstruction_loss(prediction, frames, weight, masked, self.tokenizer.arch.patch)
        plain = float((prediction.detach() - frames).square().mean())
        share = 0.0 if masked is None else float(masked.float().mean())
        return StepLoss({"reconstruction": loss}, window_keys(batch), metrics={"mse": own * plain, "masked": own * share})

    def _mask(self, step: int, batch: int) -> Tensor | None:
        if self.train.mask_max == 0 or step % self.train.mask_every:
            return None
        rng = generator(f"{self.stream} mask", self.seed, step)
        return draw_mask((batch, self.windows.T), self.tokenizer.patches, self.train.mask_max, rng)


def median_images(corpus: Corpus, index: Index) -> dict[str, np.ndarray]:
    """Each task's median image over its episodes in `index`."""
    return {t: corpus.median_image(index, t) for t in index.tasks()}
