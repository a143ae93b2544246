"""Tolerances of the simulator judge: what the reconstruction control, true frames through tokenizer and mp4, gets wrong by itself.

Nothing here is chosen by looking at a model. A deviation counts as a violation when it is above the given quantile of what
reconstructions of the same group (task) show, and lasts; below a floor nothing is a violation.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from veridream.wmb.sim.measured import SERIES, Measured, level

SHARP = (0.5, 2.0)  # sharpness over the truth's that is never poor
PROGRESS, END = 0.1, 0.2  # least tolerances of |1 - progress| and of the end
NOWHERE, PART = 0.05, 0.25  # steps of the instruction's rubric, in shares of the true path: no tolerances, so not calibrated


@dataclass(frozen=True)
class Tolerances:
    """Of one group of scenes."""

    most: Mapping[str, float]  # of each series' level
    sharp_low: float
    sharp_high: float
    progress: float
    end: float
    still: float  # most travel of a thing that should not move
    frames: int  # a violation lasts at least so many frames; a jump is over in one

    def json(self) -> dict[str, Any]:
        return asdict(self)

    def lasting(self, name: str) -> int:
        return 1 if name == "jump" else self.frames


def calibrate(reconstructions: Sequence[Measured], floors: Mapping[str, float], quantile: float = 0.99, frames: int = 3) -> Tolerances:
    """Tolerances from measured reconstructions of one group; quantiles are the next larger observed value. Raises ValueError without any."""
    if not reconstructions:
        raise ValueError("no reconstruction to set tolerances on; export the reconstruction control")

    def high(values: Sequence[float]) -> float:
        return float(np.quantile([min(v, 1e9) for v in values], quantile, method="higher"))

    most = {}
    for name in SERIES:
        seen = [level(m.series[name], 1 if name == "jump" else frames) for m in reconstructions if name in m.series]
        if seen:
            most[name] = max(high(seen), floors[name])
    sharp = [m.sharpness for m in reconstructions]
    moving = [m for m in reconstructions if m.moves]
    resting = [m.travel for m in reconstructions if not m.moves]
    return Tolerances(
        most,
        min(SHARP[0], float(np.quantile(sharp, 1 - quantile, method="lower"))),
        max(SHARP[1], high(sharp)),
        max(PROGRESS, high([abs(1 - m.progress) for m in moving]) if moving else 0.0),
        max(END, high([m.end for m in moving]) if moving else 0.0),
        max(floors["travel"], high(resting) if resting else 0.0),
        frames,
    )


def violations(m: Measured, t: Tolerances) -> dict[str, float | None]:
    """{series: its level over the tolerance; above 1 is a violation; None where it does not apply}."""
    out: dict[str, float | None] = {}
    for name in SERIES:
        applies = name in m.series and name in t.most
        out[name] = level(m.series[name], t.lasting(name)) / t.most[name] if applies else None
    return out


def instruction_level(m: Measured, t: Tolerances) -> int:
    """0: unseen or still; 1: too little or backwards; 2: part of the way, or past it, or to another end; 3: as the truth.

    Where the truth does not move: 3 if the video does not either, else 1.
    """
    if not m.moves:
        return 3 if m.travel <= t.still else 1
    if m.seen < 0.5 or abs(m.progress) < NOWHERE:
        return 0
    if m.progress < PART:
        return 1
    return 3 if abs(1 - m.progress) <= t.progress and m.end <= t.end else 2
