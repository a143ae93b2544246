"""Between the simulator's thread and the page's requests: a frame out, a key state in, in lock-step.

A view has a number, its tick. The simulator waits until the page has answered the view of this tick with its keys; the page's next view is
what those keys led to. So an episode depends on the keys alone, not on the clock, and a page that is closed pauses it.
"""

import io
import threading
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

HEED = 0.2  # seconds after which a waiting simulator looks for signals: the system may have handed Ctrl-C to another thread, which wakes nobody
PATIENCE = 5.0  # seconds a request waits for the next view before it gets the present one again


@dataclass(frozen=True)
class View:
    tick: int
    png: bytes
    facts: dict[str, Any]  # JSON-ready, for the page


def encode(frame: np.ndarray) -> bytes:
    """PNG of a frame uint8 [H,W,3]."""
    from PIL import Image

    out = io.BytesIO()
    Image.fromarray(frame).save(out, "png", compress_level=1)
    return out.getvalue()


class Exchange:
    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._view = View(0, b"", {})
        self._keys: frozenset[str] | None = frozenset()  # the answer to the present view; None: not yet given
        self._closed = self._interrupted = False

    def show(self, frame: np.ndarray, facts: Mapping[str, Any]) -> None:
        """The last view, which needs no answer."""
        self._publish(frame, facts, frozenset())

    def ask(self, frame: np.ndarray, facts: Mapping[str, Any]) -> frozenset[str]:
        """Shows a frame and waits for the keys held when the page saw it. Raises KeyboardInterrupt after `interrupt`."""
        self._publish(frame, facts, None)
        with self._changed:
            while not self._changed.wait_for(lambda: self._keys is not None or self._interrupted, HEED):
                continue
            if self._interrupted or self._keys is None:
                raise KeyboardInterrupt
            return self._keys

    def interrupt(self, *_: object) -> None:
        """A signal handler: ends the present or next `ask`. (An exception from the signal itself could strike between taking the lock and using it,
        and leave it taken for ever.)"""
        with self._changed:  # re-entrant: the handler runs in the thread that asks, wherever that is
            self._interrupted = True
            self._changed.notify_all()

    def _publish(self, frame: np.ndarray, facts: Mapping[str, Any], keys: frozenset[str] | None) -> None:
        png = encode(frame)
        with self._changed:
            self._view, self._keys = View(self._view.tick + 1, png, dict(facts)), keys
            self._changed.notify_all()

    def answer(self, tick: int, keys: Collection[str]) -> View:
        """The page's side: its keys for the view of that tick, for the view after it. Only the first answer counts; one to another tick does nothing."""
        with self._changed:
            if tick == self._view.tick and self._keys is None:
                self._keys = frozenset(keys)
                self._changed.notify_all()
            self._changed.wait_for(lambda: self._closed or self._view.tick not in (0, tick), PATIENCE)
            return self._view

    def close(self) -> None:
        """No view comes any more: whoever waits for one gets the present one."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
