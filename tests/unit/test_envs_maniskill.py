"""ManiSkill: the table of tasks, and what is said where the package or a device is missing. The simulator itself: tests/contract."""

import pytest

from veridream.envs import maniskill
from veridream.envs.base import SimulatorMissing
from veridream.params.tasks import registry, task

TASKS = [t for t in registry().values() if t.domain == "maniskill"]


def test_every_task_has_a_setup_and_says_what_it_needs():
    assert {t.id for t in TASKS} == set(maniskill.SETUPS) and len(TASKS) == 37
    for t in TASKS:
        setup = maniskill.SETUPS[t.id]
        assert "vulkan" in t.needs and ("assets" in t.needs) == (setup.asset is not None), t.id
        assert t.expert is None
        dims = {maniskill.POSITION: {4}, maniskill.POSE: {7}, maniskill.JOINTS: {1, 4, 6, 8, 12}}[setup.control]
        assert t.action_dim in dims, t.id
    assert {t.id: t.partner for t in TASKS if t.unseen} == {"ms-push-banana": "ms-push-cube"}
    assert len({t.instruction for t in TASKS}) == 37


def test_a_missing_package_is_said_with_its_remedy(monkeypatch):
    monkeypatch.setattr(maniskill.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(SimulatorMissing, match=r"ms-push-cube needs mani_skill 3\.0\.1.*pip install -r requirements/maniskill\.txt"):
        maniskill.make(task("ms-push-cube"), 32, "fast")


def test_a_missing_device_is_said_with_the_drivers_package(monkeypatch):
    monkeypatch.setattr(maniskill.importlib.util, "find_spec", lambda name: object())
    monkeypatch.setattr(maniskill, "vulkan", lambda: "RuntimeError: no device")
    with pytest.raises(SimulatorMissing, match=r"no device.*mesa-vulkan-drivers"):
        maniskill.make(task("ms-cartpole-balance"), 32, "fast")


def test_unknown_tasks_and_experts_are_refused():
    with pytest.raises(ValueError, match="ms-juggle"):
        maniskill.make(task("ms-reach").model_copy(update={"id": "ms-juggle"}), 32, "fast")
    with pytest.raises(ValueError, match="ms-reach"):
        maniskill.make_expert(task("ms-reach"))
