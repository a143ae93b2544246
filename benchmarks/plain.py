"""The networks as one would write them in PyTorch without thinking of speed twice: the same shapes, nn.RMSNorm, fused attention, AdamW.

They stand for "plain, well-written PyTorch" in benchmarks/world_model.py. No cache, no short-sequence path, no tokens left unfinished.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from veridream.params.model import DynamicsArch, TokenizerArch
from veridream.spec import ACTION_DIM


def tables(n: int, dim: int) -> tuple[Tensor, Tensor]:
    angle = torch.arange(n)[:, None] * 10_000.0 ** (-torch.arange(0, dim, 2) / dim)
    return angle.cos(), angle.sin()


def turned(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    even, odd = x[..., ::2], x[..., 1::2]
    return torch.stack([even * cos - odd * sin, even * sin + odd * cos], dim=-1).flatten(-2)


class Attention(nn.Module):
    def __init__(self, width: int, heads: int, longest: int):
        super().__init__()
        self.heads = heads
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.temperature = nn.Parameter(torch.full((heads, 1, 1), (width // heads) ** 0.5))
        cos, sin = tables(longest, width // heads)
        self.register_buffer("cos", cos)
        self.register_buffer("sin", sin)

    def forward(self, x: Tensor, mask: Tensor | None = None, causal: bool = False) -> Tensor:
        """x [B,N,width]."""
        b, n, w = x.shape
        q, k, v = self.qkv(x).view(b, n, 3, self.heads, w // self.heads).permute(2, 0, 3, 1, 4)
        q, k = turned(F.normalize(q, dim=-1), self.cos[:n], self.sin[:n]), turned(F.normalize(k, dim=-1), self.cos[:n], self.sin[:n])
        y = F.scaled_dot_product_attention(q * self.temperature, k, v, attn_mask=mask, is_causal=causal, scale=1.0)
        return self.out(y.transpose(1, 2).reshape(b, n, w))


class Block(nn.Module):
    def __init__(self, width: int, heads: int, time: bool, longest: int):
        super().__init__()
        hidden = int(width * 8 / 3)
        self.norms = nn.ModuleList(nn.RMSNorm(width) for _ in range(3))
        self.space = Attention(width, heads, longest)
        self.time = Attention(width, heads, longest) if time else None
        self.up, self.gate, self.down = nn.Linear(width, hidden), nn.Linear(width, hidden), nn.Linear(hidden, width)

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        """x [B,T,N,width]."""
        b, t, n, w = x.shape
        x = x + self.space(self.norms[0](x).reshape(b * t, n, w), mask).view(b, t, n, w)
        if self.time is not None:
            y = self.norms[1](x).transpose(1, 2).reshape(b * n, t, w)
            x = x + self.time(y, causal=True).view(b, n, t, w).transpose(1, 2)
        y = self.norms[2](x)
        return x + self.down(F.silu(self.gate(y)) * self.up(y))


class Dynamics(nn.Module):
    def __init__(self, a: DynamicsArch, latents: int, latent_dim: int, longest: int = 64):
        super().__init__()
        self.a, self.spatial = a, latents // a.pack
        packed = a.pack * latent_dim
        self.action = nn.Sequential(nn.Linear(ACTION_DIM, 2 * a.width), nn.SiLU(), nn.Linear(2 * a.width, a.width))
        self.signal, self.step = nn.Embedding(a.k_max, a.width // 2), nn.Embedding(a.k_max, a.width // 2)
        self.spatial_in, self.position = nn.Linear(packed, a.width), nn.Parameter(torch.zeros(self.spatial, a.width))
        self.register = nn.Parameter(torch.randn(a.registers, a.width))
        self.blocks = nn.ModuleList(Block(a.width, a.heads, (i + 1) % a.time_every == 0, longest) for i in range(a.depth))
        self.out, self.reward = nn.Linear(a.width, packed), nn.Sequential(nn.RMSNorm(a.width), nn.Linear(a.width, a.width), nn.SiLU())
        self.reward_out = nn.Linear(a.width, a.reward_bins)

    def forward(self, z: Tensor, signal: Tensor, step: Tensor, action: Tensor) -> tuple[Tensor, Tensor]:
        """(clean latents, reward logits) of z [B,T,L,D]."""
        b, t, latents, d = z.shape
        short = torch.cat([self.signal(signal), self.step(step)], dim=-1)
        spatial = self.spatial_in(z.reshape(b, t, self.spatial, -1)) + self.position
        x = torch.cat([self.action(action)[:, :, None], short[:, :, None], spatial, self.register.expand(b, t, -1, -1)], dim=2)
        for block in self.blocks:
            x = block(x)
        return self.out(x[:, :, 2 : 2 + self.spatial]).view(b, t, latents, d), self.reward_out(self.reward(x[:, :, 2 + self.spatial]))


class Tokenizer(nn.Module):
    def __init__(self, a: TokenizerArch, size: int):
        super().__init__()
        self.a, self.side = a, size // a.patch
        n, pixels = self.side**2, 3 * a.patch**2
        self.patch_in, self.position = nn.Linear(pixels, a.width), nn.Parameter(torch.randn(n, a.width))
        self.hidden, self.latent = nn.Parameter(torch.randn(a.width)), nn.Parameter(torch.randn(a.latents, a.width))
        time = [a.time_every > 0 and (i + 1) % a.time_every == 0 for i in range(max(a.encoder_depth, a.decoder_depth))]
        longest = max(64, n + a.latents)
        self.encoder = nn.ModuleList(Block(a.width, a.heads, time[i], longest) for i in range(a.encoder_depth))
        self.decoder = nn.ModuleList(Block(a.width, a.heads, time[i], longest) for i in range(a.decoder_depth))
        self.down, self.up = nn.Linear(a.width, a.latent_dim), nn.Linear(a.latent_dim, a.width)
        self.query, self.pixel_out = nn.Parameter(torch.randn(n, a.width)), nn.Linear(a.width, pixels)
        whole = torch.ones(n + a.latents, n + a.latents, dtype=torch.bool)
        encoder, decoder = whole.clone(), whole.clone()
        encoder[a.latents :, : a.latents] = False
        decoder[: a.latents, a.latents :] = False
        self.register_buffer("encoder_mask", encoder)
        self.register_buffer("decoder_mask", decoder)

    def forward(self, frames: Tensor, masked: Tensor | None) -> Tensor:
        """frames [B,T,H,W,3] -> the same."""
        b, t, h, w, c = frames.shape
        p, n = self.a.patch, self.a.latents
        x = frames.view(b, t, self.side, p, self.side, p, c).transpose(3, 4).reshape(b, t, self.side**2, p * p * c)
        x = self.patch_in(x)
        x = x if masked is None else torch.where(masked[..., None], self.hidden, x)
        x = torch.cat([self.latent.expand(b, t, -1, -1), x + self.position], dim=2)
        for block in self.encoder:
            x = block(x, self.encoder_mask)
        x = torch.cat([self.up(torch.tanh(self.down(x[:, :, :n]))), self.query.expand(b, t, -1, -1)], dim=2)
        for block in self.decoder:
            x = block(x, self.decoder_mask)
        x = self.pixel_out(x[:, :, n:]).view(b, t, self.side, self.side, p, p, c)
        return x.transpose(3, 4).reshape(b, t, h, w, c)
