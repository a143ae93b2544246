"""The tokenizer: a masked autoencoder with a tanh bottleneck of a few latent tokens a frame.

Source: paper Sec. 3 and App. F. Encoder: latents see everything, patches see patches. Decoder: patch queries see queries and latents,
latents see latents. Masked patches are replaced by a learned token after the patch projection, each frame with its own ratio (the
paper's way), so every step has one shape. Pixels leave through a linear head: values may pass [0,1] a little.
"""

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor, nn

from veridream.nn.attention import Layout
from veridream.nn.blocks import Block, RMSNorm, run_block
from veridream.nn.dropout import Dropout
from veridream.params.model import TokenizerArch

MEAN_PIXEL = 0.35  # initial bias of the pixel head, about the mean of rendered frames


def patchify(frames_BTHWC: Tensor, patch: int) -> Tensor:
    """[B,T,H,W,C] -> [B,T,N,patch*patch*C], patches in reading order."""
    b, t, h, w, c = frames_BTHWC.shape
    x = frames_BTHWC.reshape(b, t, h // patch, patch, w // patch, patch, c)
    return x.permute(0, 1, 2, 4, 3, 5, 6).reshape(b, t, (h // patch) * (w // patch), patch * patch * c)


def unpatchify(patches_BTNP: Tensor, patch: int, size: int) -> Tensor:
    """Inverse of patchify for square frames of side `size`."""
    b, t, _, _ = patches_BTNP.shape
    side = size // patch
    x = patches_BTNP.reshape(b, t, side, side, patch, patch, 3)
    return x.permute(0, 1, 2, 4, 3, 5, 6).reshape(b, t, size, size, 3)


class Tokenizer(nn.Module):
    """Frames [0,1] to latents [-1,1] and back. `arch` is tokenizer.arch of the params (a mapping or the model), `size` the frame's side."""

    def __init__(self, arch: TokenizerArch | Mapping[str, Any], size: int):
        super().__init__()
        a = arch if isinstance(arch, TokenizerArch) else TokenizerArch.model_validate(dict(arch))
        if size % a.patch:
            raise ValueError(f"tokenizer.arch.patch ({a.patch}) does not divide the frame size ({size})")
        self.arch, self.size = a, size
        self.recompute = False  # of activations in the backward pass
        self.window = 0  # frames of a training sequence, once known; 0: any
        self.patches = (size // a.patch) ** 2
        pixels = a.patch * a.patch * 3
        self.layout = Layout(latent=a.latents, patch=self.patches)
        self.patch_in = nn.Linear(pixels, a.width)
        self.patch_position = self._learned(self.patches)
        self.mask_token = self._learned(1)
        self.latent_query = self._learned(a.latents)
        self.encoder = nn.ModuleList(Block(a.width, a.heads, self._has_time(i)) for i in range(a.encoder_depth))
        self.norm_latent = RMSNorm(a.width) if a.norm_before_tanh else nn.Identity()
        self.latent_out = nn.Linear(a.width, a.latent_dim)
        self.latent_in = nn.Linear(a.latent_dim, a.width)
        self.latent_position = self._learned(a.latents)
        self.patch_query = self._learned(self.patches)
        # nothing reads the latents after the last decoder block's space attention, so it has no time attention
        self.decoder = nn.ModuleList(Block(a.width, a.heads, self._has_time(i) and i < a.decoder_depth - 1) for i in range(a.decoder_depth))
        self.norm_pixel = RMSNorm(a.width) if a.norm_before_tanh else nn.Identity()
        self.pixel_out = nn.Linear(a.width, pixels)
        nn.init.constant_(self.pixel_out.bias, MEAN_PIXEL)
        self.encoder_mask: Tensor
        self.decoder_mask: Tensor
        self.register_buffer("encoder_mask", self.layout.mask({"latent": ("latent", "patch"), "patch": ("patch",)}), persistent=False)
        self.register_buffer("decoder_mask", self.layout.mask({"latent": ("latent",), "patch": ("latent", "patch")}), persistent=False)

    def _learned(self, n: int) -> nn.Parameter:
        return nn.Parameter(torch.randn(n, self.arch.width) * self.arch.init_std)

    def _has_time(self, block: int) -> bool:
        return self.arch.time_every > 0 and (block + 1) % self.arch.time_every == 0

    def encode(self, frames_BTHWC: Tensor, masked_BTN: Tensor | None = None, dropout: Dropout | None = None) -> Tensor:
        """frames_BTHWC float [0,1] -> z_BTLD in [-1,1]. Training only: masked_BTN bool, patches hidden from the encoder, and dropout in its blocks.

        With time_every = 0 a frame's latents depend on that frame alone; otherwise on it and the frames before it.
        """
        if frames_BTHWC.shape[2:] != (self.size, self.size, 3):
            raise ValueError(f"frames are {tuple(frames_BTHWC.shape)}, this tokenizer wants [B,T,{self.size},{self.size},3]")
        patch = self.patch_in(patchify(frames_BTHWC, self.arch.patch) * 2 - 1)
        if masked_BTN is not None:
            patch = torch.where(masked_BTN[..., None], self.mask_token, patch)
        b, t = patch.shape[:2]
        latent = self.latent_query.expand(b, t, -1, -1)
        x = torch.cat([latent, patch + self.patch_position], dim=2)
        places = [None if dropout is None else dropout.at(i) for i in range(len(self.encoder))]
        for block, place in zip(self.encoder[:-1], places[:-1], strict=True):
            x = run_block(block, x, self.encoder_mask, self.recompute, self.layout["latent"], dropout=place)
        x = run_block(self.encoder[-1], x, self.encoder_mask, self.recompute, keep=self.layout["latent"], dropout=places[-1])
        return torch.tanh(self.latent_out(self.norm_latent(x)))

    def decode(self, z_BTLD: Tensor, dropout: Dropout | None = None) -> Tensor:
        """z_BTLD -> frames_BTHWC float, not clamped to [0,1]."""
        b, t = z_BTLD.shape[:2]
        latent = self.latent_in(z_BTLD) + self.latent_position
        x = torch.cat([latent, self.patch_query.expand(b, t, -1, -1)], dim=2)
        places = [None if dropout is None else dropout.at(len(self.encoder) + i) for i in range(len(self.decoder))]
        for block, place in zip(self.decoder[:-1], places[:-1], strict=True):
            x = run_block(block, x, self.decoder_mask, self.recompute, self.layout["latent"], dropout=place)
        x = run_block(self.decoder[-1], x, self.decoder_mask, self.recompute, keep=self.layout["patch"], dropout=places[-1])
        return unpatchify(self.pixel_out(self.norm_pixel(x)), self.arch.patch, self.size)

    def encode_long(self, frames_BTHWC: Tensor) -> Tensor:
        """encode() of any number of frames: a temporal tokenizer takes them in stretches of its training length, each from its own start."""
        return self._in_stretches(self.encode, frames_BTHWC)

    def decode_long(self, z_BTLD: Tensor) -> Tensor:
        """decode() of any number of frames, as encode_long."""
        return self._in_stretches(self.decode, z_BTLD)

    def _in_stretches(self, run: Callable[[Tensor], Tensor], x_BT: Tensor) -> Tensor:
        if not self.arch.time_every or not self.window or x_BT.shape[1] <= self.window:
            return run(x_BT)
        return torch.cat([run(x) for x in x_BT.split(self.window, dim=1)], dim=1)

    def forward(self, frames_BTHWC: Tensor, masked_BTN: Tensor | None = None, dropout: Dropout | None = None) -> Tensor:
        """Reconstruction of the whole frames from the visible patches."""
        return self.decode(self.encode(frames_BTHWC, masked_BTN, dropout), dropout)
