"""Which keys move which action dimension: a pair of keys each, the arrows first, then the left hand's, then the rest.

Keys are named as in the browser's KeyboardEvent.code, by their place on the keyboard, so WASD is under the same fingers on every layout.
"""

from collections.abc import Collection

import numpy as np

PAIRS = (  # (minus, plus) of dimension 0, 1, ...
    ("ArrowLeft", "ArrowRight"),
    ("ArrowDown", "ArrowUp"),
    ("KeyA", "KeyD"),
    ("KeyS", "KeyW"),
    ("KeyQ", "KeyE"),
    ("KeyF", "KeyH"),
    ("KeyG", "KeyT"),
    ("KeyJ", "KeyL"),
    ("KeyK", "KeyI"),
    ("KeyU", "KeyO"),
    ("KeyZ", "KeyX"),
    ("KeyC", "KeyV"),
    ("KeyB", "KeyN"),
    ("Digit1", "Digit2"),
    ("Digit3", "Digit4"),
    ("Digit5", "Digit6"),
)
BEGIN = "Enter"
FINE = ("ShiftLeft", "ShiftRight")
FINE_SCALE = 0.3
NAMES = {"ArrowLeft": "←", "ArrowRight": "→", "ArrowDown": "↓", "ArrowUp": "↑"}


def key_name(code: str) -> str:
    """What stands on the key (of a US keyboard)."""
    return NAMES.get(code, code.removeprefix("Key").removeprefix("Digit"))


def action(held: Collection[str], action_dim: int) -> np.ndarray:
    """float32 [action_dim]: -1, 0 or 1 a dimension (opposite keys cancel), times FINE_SCALE while Shift is held. Other keys do nothing."""
    scale = FINE_SCALE if any(k in held for k in FINE) else 1.0
    return np.array([scale * ((plus in held) - (minus in held)) for minus, plus in PAIRS[:action_dim]], dtype=np.float32)


def legend(action_dim: int) -> list[tuple[str, str]]:
    """(keys, what they do), a row a dimension, then the rows that every task has."""
    rows = [(f"{key_name(minus)} {key_name(plus)}", f"action {i}: −1, +1") for i, (minus, plus) in enumerate(PAIRS[:action_dim])]
    return [*rows, ("Shift", f"with them: {FINE_SCALE} of it"), (BEGIN, "begin the next episode")]
