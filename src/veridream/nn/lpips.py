"""LPIPS, the perceptual distance of the tokenizer's loss (paper App. F): AlexNet features, normalised over channels, compared by learned weights.

Source: Zhang et al., "The Unreasonable Effectiveness of Deep Features as a Perceptual Metric" (2018), version 0.1. The weights are no part of
this project; two files, as their authors publish them, are read from one folder:
    alexnet.pth    torchvision's ImageNet weights (alexnet-owt-7be5be79.pth)
    linear.pth     the learned channel weights (lpips/weights/v0.1/alex.pth)
"""

from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor, nn

FILES = ("alexnet.pth", "linear.pth")
LAYERS = {0: (64, 3, 11), 3: (192, 64, 5), 6: (384, 192, 3), 8: (256, 384, 3), 10: (256, 256, 3)}  # index in AlexNet -> out, in, kernel
SHIFT, SCALE = (-0.030, -0.088, -0.188), (0.458, 0.448, 0.450)
EPS = 1e-10
SMALLEST = 31  # pixels a side that AlexNet's strides leave something of


class Lpips(nn.Module):
    """Distance of image pairs. No parameter of it trains."""

    def __init__(self, folder: str | Path):
        """Raises ValueError that names a file which is missing or does not fit."""
        super().__init__()
        alexnet, linear = (_read(Path(folder) / name) for name in FILES)
        for i, (index, shape) in enumerate(LAYERS.items()):
            channels, _, kernel = shape
            self._take(f"weight_{i}", alexnet, f"features.{index}.weight", (*shape, kernel), Path(folder) / FILES[0])
            self._take(f"bias_{i}", alexnet, f"features.{index}.bias", (channels,), Path(folder) / FILES[0])
            self._take(f"linear_{i}", linear, f"lin{i}.model.1.weight", (1, channels, 1, 1), Path(folder) / FILES[1])
        self.shift: Tensor
        self.scale: Tensor
        self.register_buffer("shift", torch.tensor(SHIFT).reshape(1, 3, 1, 1))
        self.register_buffer("scale", torch.tensor(SCALE).reshape(1, 3, 1, 1))

    def _take(self, name: str, tensors: dict[str, Tensor], key: str, shape: tuple[int, ...], path: Path) -> None:
        found = tensors.get(key)
        if found is None or tuple(found.shape) != shape:
            raise ValueError(f"{path}: {key} is {'missing' if found is None else tuple(found.shape)}, expected {shape}; see veridream.nn.lpips for its source")
        self.register_buffer(name, found.detach().float())

    def _features(self, images: Tensor) -> list[Tensor]:
        out, x = [], (images - self.shift) / self.scale
        for i in range(len(LAYERS)):
            if i in (1, 2):
                x = F.max_pool2d(x, 3, stride=2)
            stride, padding = (4, 2) if i == 0 else (1, 2 if i == 1 else 1)
            x = F.conv2d(x, getattr(self, f"weight_{i}"), getattr(self, f"bias_{i}"), stride, padding).relu()
            out.append(x)
        return out

    def forward(self, a_NHWC: Tensor, b_NHWC: Tensor) -> Tensor:
        """[N] distances of images in [0, 1], in float32 whatever the autocast. Values beyond the range are clamped."""
        with torch.autocast(a_NHWC.device.type, enabled=False):
            pair = [self._features(x.float().clamp(0, 1).movedim(-1, 1) * 2 - 1) for x in (a_NHWC, b_NHWC)]
            total = a_NHWC.new_zeros(len(a_NHWC), dtype=torch.float32)
            for i, (f, g) in enumerate(zip(*pair, strict=True)):
                f, g = (x * torch.rsqrt(x.square().sum(1, keepdim=True) + EPS) for x in (f, g))
                total = total + ((f - g).square() * getattr(self, f"linear_{i}")).sum(1).mean((1, 2))
        return total


def _read(path: Path) -> dict[str, Tensor]:
    try:
        out: dict[str, Tensor] = torch.load(path, map_location="cpu", weights_only=True)
    except FileNotFoundError:
        raise ValueError(f"{path} is missing; see veridream.nn.lpips for its source") from None
    return out
