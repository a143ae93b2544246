"""What a training step learns from follows from (seed, step): a replicate's other seed draws other batches, the same seed the same ones."""

import pytest

from helpers.networks import make_dynamics
from helpers.two_processes import TASKS, Data, T, windows
from veridream.params.model import DynamicsTrain, TokenizerTrain
from veridream.train.dynamics import DynamicsLoss
from veridream.train.tokenizer import TokenizerLoss

WEIGHTS = dict.fromkeys(TASKS, 0.5)


class Read(Exception):
    """Ends a step where its batch is read; holds the windows' starts."""


class Spy(Data):
    def windows(self, windows, t):
        raise Read(windows.start.tolist())

    frames = windows


def dynamics_batch(seed: int, step: int) -> list[int]:
    train = DynamicsTrain(batch=9, window=T)
    return batch(DynamicsLoss(make_dynamics(), Spy(), Spy(), windows(), WEIGHTS, train, 2, "test", seed), step)  # type: ignore[arg-type]


def tokenizer_batch(seed: int, step: int) -> list[int]:
    train = TokenizerTrain(batch=9, window=T)
    return batch(TokenizerLoss(None, Spy(), windows(), WEIGHTS, {}, train, "test", seed), step)  # type: ignore[arg-type]


def batch(loss, step: int) -> list[int]:
    with pytest.raises(Read) as read:
        loss(step)
    return read.value.args[0]


@pytest.mark.parametrize("drawn", [dynamics_batch, tokenizer_batch])
def test_batches_are_drawn_by_seed_and_step(drawn):
    assert len(drawn(0, 0)) == 9 and drawn(0, 0) == drawn(0, 0)
    assert drawn(0, 0) != drawn(1, 0), "the seed does not reach the batches"
    assert drawn(0, 0) != drawn(0, 1), "the step does not reach the batches"
