"""The simulator judge on a scene known to the pixel: eleven corruptions, each raising exactly its own flags, and monotone in its strength."""

import numpy as np
import pytest
from scipy import ndimage

from helpers.wmb import COLOURS, ENTITIES, FLOOR, LENGTH, agent_path, ball_path, draw, paths, true_scene
from veridream.io.video import read_mp4, write_mp4
from veridream.wmb.judges.sim import judge_frames
from veridream.wmb.parse import strict
from veridream.wmb.questions import INSTRUCTION, MOST, QUESTIONS
from veridream.wmb.sim.entities import EntityScene
from veridream.wmb.sim.tolerances import calibrate


def noisy(frames, sd=2.0, seed=0):
    return np.clip(np.rint(frames + np.random.default_rng(seed).normal(0, sd, frames.shape)), 0, 255).astype(np.uint8)


@pytest.fixture(scope="module")
def scene():
    return true_scene()


@pytest.fixture(scope="module")
def coded(scene, tmp_path_factory):
    path = tmp_path_factory.mktemp("video") / "truth.mp4"
    write_mp4(path, scene.frames, 15)
    return read_mp4(path)


@pytest.fixture(scope="module")
def tolerances(scene, coded):
    """Set on the reconstruction control, here mp4 and noise in place of a tokenizer."""
    return calibrate([scene.measure(x) for x in (coded, noisy(coded, seed=1), noisy(coded, seed=2))], scene.floors)


def scored(scene, tolerances, frames):
    """(total, instruction, the questions that found something)."""
    got = judge_frames(scene, tolerances, frames, QUESTIONS)
    values = {q: MOST[q] if a.raw is None else strict(q, a.raw) for q, a in got.items()}
    assert got["fluid"].status == "not_applicable"
    return sum(values.values()), values[INSTRUCTION], {q for q in QUESTIONS[1:] if values[q] == 0}


def grown(by):
    return draw(paths(), radius={"block": [12 * (1 + by * t / (LENGTH - 1)) for t in range(LENGTH)]})


def drifted(by):
    return draw(paths(block=[(110 + by * t / (LENGTH - 1), 110.0) for t in range(LENGTH)]))


def blurred(sigma):
    return ndimage.gaussian_filter(draw(paths()).astype(np.float32), (0, sigma, sigma, 0)).astype(np.uint8)


def flickering(by):
    sign = np.where(np.arange(LENGTH) % 2, by, -by)[:, None, None, None]
    return np.clip(draw(paths()).astype(int) + sign, 0, 255).astype(np.uint8)


CORRUPTIONS = {  # name: (frames, instruction, flags)
    "frozen": (lambda: draw(paths())[:1].repeat(LENGTH, axis=0), 0, {"gravity"}),
    "wrong direction": (lambda: draw(paths(agent=agent_path(-0.2))), 1, set()),
    "half way": (lambda: draw(paths(agent=agent_path(0.5))), 2, set()),
    "a thing at rest drifts": (lambda: drifted(20), 3, {"newton"}),
    "grows": (lambda: grown(0.5), 3, {"mass"}),
    "floats": (lambda: draw(paths(ball=ball_path(stop=90))), 3, {"gravity"}),
    "sinks into the floor": (lambda: draw(paths(ball=ball_path(surface=FLOOR + 20))), 3, {"penetration", "gravity"}),
    "vanishes": (lambda: draw(paths(), hidden={"ball": range(20, LENGTH)}), 3, {"temporal"}),
    "a second one": (lambda: draw(paths(), twin="ball"), 3, {"mass", "gravity", "temporal"}),
    "blur": (lambda: blurred(5), 3, {"frame", "mass"}),
    "flicker": (lambda: flickering(10), 3, {"temporal"}),
}


@pytest.mark.parametrize("name", CORRUPTIONS)
def test_each_corruption_raises_exactly_its_flags(scene, tolerances, name):
    frames, instruction, flags = CORRUPTIONS[name]
    total, level, found = scored(scene, tolerances, frames())
    assert (level, found) == (instruction, flags)
    assert total == instruction + 7 - len(flags)


def test_truth_noise_and_reconstruction_score_ten_and_frozen_six(scene, tolerances, coded):
    for frames in (scene.frames, coded, noisy(scene.frames, seed=7), noisy(coded, seed=8)):
        assert scored(scene, tolerances, frames)[0] == 10
    assert scored(scene, tolerances, CORRUPTIONS["frozen"][0]())[0] == 6


def test_without_calibration_the_same_noise_would_fail(scene):
    bare = calibrate([scene.measure(scene.frames)], scene.floors)
    assert "temporal" in scored(scene, bare, noisy(scene.frames, seed=7))[2]


@pytest.mark.parametrize(
    ("make", "strengths"), [(grown, (0, 0.05, 0.2, 0.5, 0.9)), (drifted, (0, 1, 5, 20, 40)), (blurred, (0, 1, 3, 5)), (flickering, (0, 1, 5, 10, 20))]
)
def test_scores_fall_with_the_strength_of_a_corruption(scene, tolerances, make, strengths):
    totals = [scored(scene, tolerances, make(s))[0] for s in strengths]
    assert totals == sorted(totals, reverse=True) and totals[0] == 10 and totals[-1] < 10


def test_progress_falls_with_the_distance_from_the_true_path(scene, tolerances):
    shares = (1.0, 0.95, 0.6, 0.2, 0.0, -0.2)
    progress = [scene.measure(draw(paths(agent=agent_path(s)))).progress for s in shares]
    assert progress == pytest.approx(shares, abs=0.02)
    assert [scored(scene, tolerances, draw(paths(agent=agent_path(s))))[1] for s in (*shares, 1.5)] == [3, 3, 2, 1, 0, 1, 2]


def test_where_nothing_should_happen_only_stillness_follows(scene):
    still = EntityScene(scene.frames[:1].repeat(LENGTH, axis=0), _masks(scene)[:1].repeat(LENGTH, axis=0), ENTITIES)
    t = calibrate([still.measure(still.frames)], still.floors)
    assert scored(still, t, still.frames)[:2] == (10, 3)
    moving = draw(paths(ball=[(185.0, 40.0)] * LENGTH))
    assert scored(still, t, moving)[1] == 1


def _masks(scene):
    return np.stack([np.stack([(f == COLOURS[e.name]).all(axis=-1) for e in ENTITIES]) for f in scene.frames])


def test_an_agent_that_is_hardly_seen_followed_nothing(scene, tolerances):
    assert scored(scene, tolerances, draw(paths(), hidden={"agent": range(5, LENGTH)}))[1] == 0


def test_measuring_twice_gives_the_same_bits(scene):
    frames = CORRUPTIONS["a second one"][0]()
    a, b = scene.measure(frames), true_scene().measure(frames)
    assert (a.progress, a.end, a.sharpness) == (b.progress, b.end, b.sharpness)
    assert all(np.array_equal(a.series[k], b.series[k]) for k in a.series) and scene.sha == true_scene().sha


def test_what_cannot_be_judged_is_refused(scene):
    with pytest.raises(ValueError, match="export both again"):
        scene.measure(scene.frames[:-1])
    with pytest.raises(ValueError, match="one controlled thing"):
        EntityScene(scene.frames, _masks(scene), (*ENTITIES[1:], ENTITIES[1]))
    with pytest.raises(ValueError, match="cannot be told apart"):
        EntityScene(np.full_like(scene.frames, 9), _masks(scene), ENTITIES)
    with pytest.raises(ValueError, match="no reconstruction"):
        calibrate([], scene.floors)
