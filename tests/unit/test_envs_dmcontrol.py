"""The control suite's tasks: the table, the closed forms the planner maximises, targets in snapshots, variants, action ranges."""

import numpy as np
import pytest

from veridream.envs import dmcontrol
from veridream.envs.dmcontrol_adapter import DmControl
from veridream.envs.dmcontrol_bodies import bump
from veridream.params.tasks import registry, task


@pytest.fixture(scope="module")
def opened():
    """Raw adapters of tasks, each made once; a test begins with a reset."""
    made: dict[str, DmControl] = {}

    def make(task_id: str) -> DmControl:
        if task_id not in made:
            made[task_id] = dmcontrol.make(task(task_id), 16, "fast")
        return made[task_id]

    yield make
    for raw in made.values():
        raw.close()


def moved(raw: DmControl, seed: int, steps: int = 3) -> DmControl:
    """The adapter some random steps into an episode."""
    rng = np.random.default_rng(seed)
    raw.reset(seed)
    for _ in range(steps):
        raw.step(rng.uniform(-1, 1, raw.action_dim).astype(np.float32))
    return raw


def now(raw: DmControl) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The present as the planner sees it: positions, velocities, sensors, each [1, 1, n]."""
    return raw.data.qpos[None, None], raw.data.qvel[None, None], raw.data.sensordata[None, None]


def test_the_table_and_the_registry_name_the_same_tasks():
    assert set(dmcontrol.TASKS) == {t.id for t in registry().values() if t.domain == "dmcontrol"}
    assert len(dmcontrol.TASKS) == 23


def test_instructions_differ_but_for_the_variants():
    rows = [t for t in registry().values() if t.domain == "dmcontrol"]
    for t in rows:
        same = [o.id for o in rows if o.instruction == t.instruction and o.id != t.id]
        assert same == ([t.partner] if t.unseen else [o.id for o in rows if o.partner == t.id])


def test_an_unknown_task_is_named():
    with pytest.raises(ValueError, match="humanoid-walk"):
        dmcontrol.make(task("cup-catch").model_copy(update={"id": "humanoid-walk"}), 16, "fast")


def test_bump_is_the_suites_tolerance():
    from dm_control.utils.rewards import tolerance

    distance = np.linspace(0.0, 3.0, 31)
    np.testing.assert_allclose(bump(distance, 0.2, 1.0), tolerance(distance, bounds=(0.0, 0.2), margin=1.0), atol=1e-12)


def test_closed_forms_of_places_agree_with_the_simulator(opened):
    hopper, finger = opened("hopper-hop"), opened("finger-turn-hard")
    for seed in range(2):
        moved(hopper, seed)
        assert hopper.height(hopper.data.qpos) == pytest.approx(hopper.head()[0], abs=1e-9)
        qpos = moved(finger, seed).data.qpos
        spinner = (-finger.ARM * np.sin(qpos[2]), finger.ARM * np.cos(qpos[2]))
        np.testing.assert_allclose(spinner, finger.head()[2:4], atol=1e-9)


@pytest.mark.parametrize("task_id", ["acrobot-swingup", "fish-swim", "quadruped-walk", "reacher-easy"])
def test_planning_rewards_hold_the_tasks_own(opened, task_id):
    """Where the planner's reward is the task's plus a slope, the difference is the slope."""
    raw = moved(opened(task_id), 4, steps=8)
    planned, own = float(raw.plan_rewards(*now(raw))[0, 0]), float(raw._env.task.get_reward(raw._env.physics))
    if task_id == "acrobot-swingup":
        kinetic_and_potential = raw.data.energy.sum() - 9.81 * 2.0 * raw.SHOULDER_Z  # both arms hang from the shoulder
        slope = 0.05 * (raw.head()[1] - raw.SHOULDER_Z) - 0.01 * abs(kinetic_and_potential - raw.TOP_ENERGY)
        assert planned == pytest.approx(own + slope, abs=2e-2)  # the arms' masses are not exactly thin rods
    elif task_id == "fish-swim":
        assert planned == pytest.approx(own - np.linalg.norm(raw._env.physics.mouth_to_target()), abs=1e-2)
    elif task_id == "quadruped-walk":
        assert planned == pytest.approx(own, abs=1e-6)
    else:
        assert planned == pytest.approx(own - 3.0 * raw._env.physics.finger_to_target_dist(), abs=1e-6)


def test_a_snapshot_holds_the_target(opened):
    for task_id, last in (("reacher-easy", 4), ("finger-turn-hard", 6), ("fish-swim", 5)):
        raw = moved(opened(task_id), 1)
        before, snap = raw.state()[:last], raw.snapshot()
        raw.reset(2)
        assert np.abs(raw.state()[:last] - before).max() > 1e-3
        raw.restore(snap)
        np.testing.assert_array_equal(raw.state()[:last], before)


@pytest.mark.parametrize("variant", ["cup-catch-var1", "finger-turn-easy-var1"])
def test_a_variant_looks_different_and_moves_the_same(opened, variant):
    own, other = opened(registry()[variant].partner), opened(variant)
    for raw in (own, other):
        moved(raw, 7)
    np.testing.assert_array_equal(own.state(), other.state())
    assert np.abs(own.render().astype(int) - other.render()).mean() > 20


def test_actions_span_the_actuators_range(opened):
    raw = opened("quadruped-walk")
    raw.reset(0)
    low, high = raw.model.actuator_ctrlrange.T
    for sign, end in ((-1.0, low), (1.0, high)):
        raw.step(np.full(12, sign, np.float32))
        np.testing.assert_allclose(raw.data.ctrl, end)
