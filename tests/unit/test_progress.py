import io

import pytest

from veridream.io.progress import Progress, duration


class Clock:
    now = 100.0

    def __call__(self):
        return self.now


def run(total, seconds_each, start=0, **values):
    out, clock = io.StringIO(), Clock()
    with Progress("train_tokenizer", total=total, start=start, stream=out, clock=clock) as p:
        for _ in range(total - start):
            clock.now += seconds_each
            p.update(**values)
    return out.getvalue().splitlines()


def test_a_line_at_most_every_five_seconds():
    lines = run(12, 1.0, loss=0.0123456)
    assert lines == [
        "train_tokenizer 5/12 (41%) 1.0/s ETA 7s loss=0.01235",
        "train_tokenizer 10/12 (83%) 1.0/s ETA 2s loss=0.01235",
        "train_tokenizer 12/12 (100%) 1.0/s took 12s loss=0.01235",
    ]


def test_a_resumed_run_counts_only_its_own_speed():
    assert run(110, 1.0, start=100)[0] == "train_tokenizer 105/110 (95%) 1.0/s ETA 5s"


def test_the_last_line_is_not_said_twice():
    assert run(1, 5.0) == ["train_tokenizer 1/1 (100%) 0.2/s took 5s"]


def test_an_interrupted_loop_says_how_far_it_came():
    out = io.StringIO()
    with pytest.raises(KeyboardInterrupt), Progress("x", total=4, stream=out, clock=Clock()) as p:
        p.update(2, frames=7)
        raise KeyboardInterrupt
    assert out.getvalue().startswith("x 2/4 (50%)") and "frames=7" in out.getvalue()


def test_a_terminal_gets_a_bar():
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    out = Terminal()
    with Progress("draw", total=2, stream=out) as p:
        p.update(loss=0.5)
        p.update(loss=0.25)
    assert "draw" in out.getvalue() and "loss=0.25" in out.getvalue()


def test_durations():
    assert [duration(s) for s in (0, 41.4, 341, 3600, 7500)] == ["0s", "41s", "5m41s", "1h00m", "2h05m"]


def test_a_start_beyond_the_end():
    with pytest.raises(ValueError, match=r"start 5 is not within 0\.\.4"):
        Progress("x", total=4, start=5)
