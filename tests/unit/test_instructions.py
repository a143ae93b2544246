"""Hashed instructions: fixed numbers, near for shared words, defined for every task of the registry."""

import numpy as np
import pytest

from veridream.data.instructions import instruction_features, task_features
from veridream.params.tasks import registry


def _cosine(a, b):
    x, y = instruction_features(a, 512), instruction_features(b, 512)
    return float(x @ y / np.linalg.norm(x) / np.linalg.norm(y))


def test_words_and_pairs_are_counted_with_signs_at_fixed_places():
    x = instruction_features("Push the RED block!", 64)
    assert x.dtype == np.float32 and np.sqrt((x**2).mean()) == pytest.approx(1.0)
    assert (x == instruction_features("push the red   block", 64)).all()
    assert instruction_features("red", 8).tolist() == pytest.approx([0, 8**0.5, 0, 0, 0, 0, 0, 0])  # by sha256, the same everywhere
    assert not instruction_features("", 8).any()


def test_near_for_shared_words_far_otherwise_and_order_matters():
    assert _cosine("push the cube", "push the banana") > 0.4 > abs(_cosine("push the cube", "walk forward fast"))
    assert _cosine("push the cube", "cube the push") < 0.99


def test_every_task_has_features_and_a_missing_one_is_named():
    instructions = {t.id: t.instruction for t in registry().values()}
    x = task_features(list(instructions), instructions, 512)
    assert x.shape == (len(instructions), 512) and (np.abs(x).sum(1) > 0).all()
    same = {text for text in instructions.values() if list(instructions.values()).count(text) > 1}
    assert len(np.unique(x, axis=0)) >= len(instructions) - sum(list(instructions.values()).count(t) - 1 for t in same)
    with pytest.raises(ValueError, match="task cup-catch has no instruction"):
        task_features(["cup-catch"], {}, 8)
