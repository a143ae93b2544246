import numpy as np
import pytest

from veridream import spec
from veridream.params.tasks import registry
from veridream.play.keys import BEGIN, FINE, PAIRS, action, legend


@pytest.mark.parametrize(
    "held, expected",
    [
        ([], [0, 0, 0]),
        (["ArrowRight"], [1, 0, 0]),
        (["ArrowLeft", "ArrowUp"], [-1, 1, 0]),
        (["ArrowLeft", "ArrowRight", "KeyD"], [0, 0, 1]),
        (["KeyA", "ShiftLeft"], [0, 0, np.float32(-0.3)]),
        (["KeyW", "Digit9", "nonsense", BEGIN], [0, 0, 0]),  # of a dimension that the task lacks, or of none
    ],
)
def test_keys_become_an_action(held, expected):
    a = action(held, 3)
    assert a.dtype == np.float32
    np.testing.assert_array_equal(a, np.array(expected, np.float32))


def test_every_task_has_keys_and_no_key_has_two_meanings():
    keys = [*[k for pair in PAIRS for k in pair], *FINE, BEGIN]
    assert len(keys) == len(set(keys)) and len(PAIRS) == spec.ACTION_DIM
    for dim in {t.action_dim for t in registry().values()}:
        assert len(legend(dim)) == dim + 2
        for i, (minus, plus) in enumerate(PAIRS[:dim]):
            assert action([plus], dim)[i] == 1 and action([minus], dim)[i] == -1


def test_the_legend_names_the_keys():
    assert legend(3) == [("← →", "action 0: −1, +1"), ("↓ ↑", "action 1: −1, +1"), ("A D", "action 2: −1, +1"), *legend(0)]
    assert legend(0) == [("Shift", "with them: 0.3 of it"), ("Enter", "begin the next episode")]
