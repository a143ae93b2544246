import pytest

from veridream.data.sampling import task_weights

COUNTS = {"a": 1, "b": 4, "c": 16, "d": 4}


@pytest.mark.parametrize(
    "kind, expected",
    [
        ("frames", {"a": 0.04, "b": 0.16, "c": 0.64, "d": 0.16}),
        ("sqrt", {"a": 1 / 9, "b": 2 / 9, "c": 4 / 9, "d": 2 / 9}),
        ("uniform", {"a": 0.25, "b": 0.25, "c": 0.25, "d": 0.25}),
    ],
)
def test_closed_forms(kind, expected):
    assert task_weights(kind, COUNTS) == pytest.approx(expected)


def test_targeted_mass_is_shared_evenly_on_both_sides():
    assert task_weights("targeted", COUNTS, {"c"}, 0.5) == pytest.approx({"a": 1 / 6, "b": 1 / 6, "c": 0.5, "d": 1 / 6})
    assert task_weights("targeted", COUNTS, {"c", "a"}, 0.8) == pytest.approx({"a": 0.4, "b": 0.1, "c": 0.4, "d": 0.1})
    assert task_weights("targeted", COUNTS, set(COUNTS), 0.5) == pytest.approx(dict.fromkeys(COUNTS, 0.25))


@pytest.mark.parametrize(
    "args, message",
    [
        (("frame", COUNTS), "unknown sampling 'frame'; known: frames, sqrt"),
        (("frames", {}), "no windows"),
        (("sqrt", {"a": 1, "b": 0}), "no windows to sample from: b"),
        (("targeted", COUNTS, {"a"}), "target_mass is None"),
        (("targeted", COUNTS, {"a"}, 1.5), "target_mass is 1.5"),
        (("targeted", COUNTS, {"z"}, 0.5), "targeted tasks without windows: z"),
        (("targeted", COUNTS, set(), 0.5), "none were named"),
    ],
)
def test_refusals(args, message):
    with pytest.raises(ValueError, match=message):
        task_weights(*args)
