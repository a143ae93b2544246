"""The exchange between the simulator's thread and the page's requests."""

import os
import signal
import threading

import numpy as np
import pytest

from veridream.play.exchange import Exchange

FRAME = np.zeros((4, 4, 3), np.uint8)


def test_keys_answer_the_view_they_were_held_at():
    exchange, got = Exchange(), []
    asking = threading.Thread(target=lambda: got.append(exchange.ask(FRAME, {"step": 1})))
    asking.start()
    view = exchange.answer(-1, [])  # a page that has seen nothing yet
    exchange.answer(view.tick - 1, ["KeyA"])
    exchange.close()
    exchange.answer(view.tick, ["KeyB"])
    asking.join(10)
    assert view.facts == {"step": 1} and got == [frozenset({"KeyB"})]


def test_an_interrupt_that_the_system_hands_to_another_thread_ends_the_ask_and_every_later_one():
    exchange, over = Exchange(), threading.Event()
    other = threading.Thread(target=over.wait)  # takes the signal: this thread blocks it
    other.start()
    late = threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGINT))
    rescued = []
    rescue = threading.Timer(10, lambda: (rescued.append(True), exchange.answer(exchange._view.tick, [])))  # else the test would hang, not fail
    late.start()
    rescue.start()
    before = signal.signal(signal.SIGINT, exchange.interrupt)
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        for _ in range(2):
            with pytest.raises(KeyboardInterrupt):
                exchange.ask(FRAME, {})
        assert not rescued, "nothing woke the thread that asks"
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        signal.signal(signal.SIGINT, before)
        rescue.cancel()
        over.set()
        for t in (late, rescue, other):
            t.join()


def test_an_interrupt_while_the_lock_is_held_leaves_it_free():
    exchange = Exchange()
    with exchange._changed:
        exchange.interrupt(signal.SIGINT, None)
    closing = threading.Thread(target=exchange.close, daemon=True)
    closing.start()
    closing.join(10)
    assert not closing.is_alive()
