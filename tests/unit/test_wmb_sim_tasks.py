"""The simulator judge on real tasks of four domains: truth, a stand-in for a tokenizer, still pictures, and other actions in the simulator itself."""

from functools import cache

import numpy as np
import pytest
from scipy import ndimage

from veridream.envs.registry import make
from veridream.io.video import enlarge, write_mp4
from veridream.params.tasks import task as task_of
from veridream.wmb.answers import JudgeError
from veridream.wmb.items import Item
from veridream.wmb.judges.sim import SimJudge, calibrated, judge_frames
from veridream.wmb.parse import strict
from veridream.wmb.questions import INSTRUCTION, MOST, QUESTIONS
from veridream.wmb.sim.probe import fit_probe
from veridream.wmb.sim.task_scene import TaskScene, fit_task
from veridream.wmb.sim.tolerances import calibrate

TASKS = ("pygame-point-maze-var1", "lunarlander-hover", "atari-pong", "mujoco-reacher")
SIZE, START, FRAMES, TEST, POOL = 32, 4, 13, 5, 10


def play(env, seed, actions):
    """(frames, states) of an episode under these actions, as far as it goes."""
    env.reset(seed)
    frames, states = [env.render()], [env.state()]
    for a in actions:
        step = env.step(a)
        frames.append(env.render())
        states.append(env.state())
        if step.is_last:
            break
    return np.stack(frames), np.stack(states)


def smooth_actions(rng, dims):
    """Held for four steps, so that things get somewhere."""
    return rng.uniform(-1, 1, (6, dims)).repeat(4, axis=0).astype(np.float32)


@cache
def world(task):
    """(scenes, their tolerances, videos of other actions from the same starts)."""
    env = make(task, SIZE, frame_skip=2)
    dims, rng = task_of(task).action_dim, np.random.default_rng(3)
    try:
        train = [play(env, 100 + i, smooth_actions(rng, dims)) for i in range(24)]
        given = [smooth_actions(rng, dims) for _ in range(POOL + 1)]
        test, other = [], []
        for i in range(POOL):
            swapped = np.concatenate([given[i][:START], given[i + 1][START:]])
            a, b = play(env, 500 + i, given[i])[0], play(env, 500 + i, swapped)[0]
            if min(len(a), len(b)) >= START + FRAMES:
                test.append(a[START : START + FRAMES])
                other.append(b[START : START + FRAMES])
    finally:
        env.close()
    moving = np.argsort([-((a[1:].astype(float) - a[0]) ** 2).mean() for a in test])[:TEST]  # as items are chosen
    test, other = [test[i] for i in moving], [other[i] for i in moving]
    frames, states = (np.concatenate([x[k] for x in train]) for k in (0, 1))
    episode = np.repeat(np.arange(len(train)), [len(f) for f, _ in train])
    model = fit_task(task, np.median(frames, axis=0).astype(np.uint8), frames, states, episode)
    scenes = [TaskScene(model, f) for f in test]
    return scenes, calibrate([s.measure(reconstructed(s.frames)) for s in scenes], TaskScene.floors), other


def reconstructed(frames):
    """What a good tokenizer leaves: slightly soft, slightly wrong."""
    soft = ndimage.gaussian_filter(frames.astype(np.float32), (0, 0.35, 0.35, 0))
    return np.clip(np.rint(soft + np.random.default_rng(frames.sum() % 2**32).normal(0, 1.5, frames.shape)), 0, 255).astype(np.uint8)


def mean_scores(task, videos):
    scenes, tolerances, _ = world(task)
    values = []
    for s, v in zip(scenes, videos, strict=True):
        answers = judge_frames(s, tolerances, v, QUESTIONS)
        values.append([MOST[q] if a.raw is None else strict(q, a.raw) for q, a in answers.items()])
    return dict(zip(QUESTIONS, np.mean(values, axis=0), strict=True))


@pytest.mark.parametrize("task", TASKS)
def test_truth_and_reconstruction_are_near_ten_and_stills_below_six(task):
    scenes, _, _ = world(task)
    assert len(scenes) >= 3
    assert sum(mean_scores(task, [s.frames for s in scenes]).values()) >= 9.9
    assert sum(mean_scores(task, [reconstructed(s.frames) for s in scenes]).values()) >= 9.9
    assert sum(mean_scores(task, [s.frames[:1].repeat(FRAMES, axis=0) for s in scenes]).values()) <= 6


@pytest.mark.parametrize("task", TASKS)
def test_other_actions_follow_the_instruction_less(task):
    scenes, _, other = world(task)
    assert mean_scores(task, other)[INSTRUCTION] < mean_scores(task, [s.frames for s in scenes])[INSTRUCTION] == 3


@pytest.mark.parametrize("task", TASKS)
def test_the_path_is_that_of_the_state_or_where_none_is_decoded_of_what_moves(task):
    scene = world(task)[0][0]
    probe = scene.model.probe
    assert scene.model.by_state == (task != "lunarlander-hover"), "a few random flights over random ground"
    assert (np.array(probe.r2) > 0.5).all() and (probe.low_S < probe.high_S).all() and len(probe.dims) == len(probe.r2)
    assert ("penetration" in scene.measure(scene.frames).series) == scene.model.by_state


@pytest.mark.parametrize("task", TASKS)
def test_corruptions_are_seen_in_real_pictures_and_stronger_ones_more(task):
    scenes, _, _ = world(task)
    flags = []
    for strength in (0, 20, 60):
        sign = np.where(np.arange(FRAMES) % 2, strength, -strength)[:, None, None, None]
        flicker = [np.clip(s.frames.astype(int) + sign, 0, 255).astype(np.uint8) for s in scenes]
        flags.append(mean_scores(task, flicker)["temporal"])
    assert flags[0] == 1 and flags == sorted(flags, reverse=True) and flags[-1] == 0
    blurred = [ndimage.gaussian_filter(s.frames.astype(np.float32), (0, 3, 3, 0)).astype(np.uint8) for s in scenes]
    assert mean_scores(task, blurred)["frame"] == 0


def test_what_rests_and_changes_for_good_is_newtons_and_what_moves_and_grows_is_mass():
    scenes, _, _ = world("pygame-point-maze-var1")
    changed, grown = [], []
    for s in scenes:
        frames = s.frames.astype(int)
        y, x = np.argwhere(ndimage.minimum_filter(s.still_HW.astype(int), 7, mode="constant"))[0]
        frames[5:, y - 3 : y + 3, x - 3 : x + 3] += np.where(frames[5:, y - 3 : y + 3, x - 3 : x + 3] > 128, -70, 70)
        changed.append(frames.astype(np.uint8))
        frames = s.frames.copy()
        for f, moving in zip(frames, s.true_moving, strict=True):
            f[ndimage.binary_dilation(moving, iterations=2)] = f[moving].mean(axis=0)
        grown.append(frames)
    assert mean_scores("pygame-point-maze-var1", changed)["newton"] == 0 and mean_scores("pygame-point-maze-var1", changed)["mass"] < 1
    assert mean_scores("pygame-point-maze-var1", grown)["mass"] == 0


def test_the_judge_reads_videos_and_passes_over_what_it_cannot_decide(tmp_path):
    scenes, _, _ = world("pygame-point-maze-var1")
    items = [Item("video games", "pygame", "a", "b", f"images/{k}.jpg") for k in range(len(scenes))]
    by_stem = {i.stem: s for i, s in zip(items, scenes, strict=True)}
    paths = {}
    for i, s in zip(items, scenes, strict=True):
        for name, frames in (("recon", reconstructed(s.frames)), ("dead", s.frames[:1].repeat(FRAMES, axis=0))):
            paths[name, i.stem] = tmp_path / f"{name}{i.stem}.mp4"
            write_mp4(paths[name, i.stem], enlarge(frames, 224), 15, 12)
    judges = {}
    for name in ("recon", "dead"):
        tolerances = calibrated(by_stem, {stem: p for (n, stem), p in paths.items() if n == name}, SIZE, 0.99, 3)
        judges[name] = SimJudge(by_stem, tolerances, SIZE)
    sharp, dead = judges["recon"], judges["dead"]
    assert sharp.undecidable == set() and dead.undecidable == set(by_stem) and sharp.version != dead.version
    given = {q: sharp.answer(items[0], paths["recon", "0"], q, 0).raw for q in QUESTIONS}
    assert given[INSTRUCTION] == "Score: 3" and given["fluid"] is None and {given[q] for q in ("newton", "mass", "gravity", "frame", "temporal")} == {"No"}
    still = {q: sharp.answer(items[0], paths["dead", "0"], q, 0).raw for q in QUESTIONS}
    assert still[INSTRUCTION] == "Score: 0" and still["gravity"] == "Yes"
    held = dead.answer(items[0], paths["dead", "0"], INSTRUCTION, 0)
    assert held.status == "undecidable" and held.raw is not None, "what it would say is kept"
    assert sharp.prompt(items[0], "mass") != sharp.prompt(items[1], "mass")
    with pytest.raises(JudgeError, match="no reconstruction of 1"):
        calibrated(by_stem, {"0": paths["recon", "0"]}, SIZE, 0.99, 3)


def test_a_probe_finds_what_is_there_and_says_what_is_not():
    rng = np.random.default_rng(0)
    x = rng.uniform(4, 28, 400)
    frames = np.zeros((400, 32, 32, 3), np.uint8)
    columns = np.abs(np.arange(32)[None] - x[:, None]) < 3
    frames[:, 10:16][columns[:, None].repeat(6, axis=1)] = 250
    states = np.stack([x, rng.normal(size=400), np.ones(400)], axis=1)
    probe = fit_probe(frames, states, np.repeat(np.arange(20), 20))
    assert probe.dims == (0,) and probe.r2[0] > 0.95
    got = probe(frames)[:, 0]
    assert np.corrcoef(got, x)[0, 1] > 0.98 and got.std() == pytest.approx(1.0, abs=0.05)
    with pytest.raises(ValueError, match="at least two episodes"):
        fit_probe(frames, states, np.zeros(400))
