"""What the doctor says of tasks that cannot run here."""

import pytest

from veridream.envs import availability, maniskill
from veridream.envs.base import SimulatorMissing
from veridream.params.tasks import registry, task
from veridream.spec import DOMAIN_MODULES


def test_every_domain_says_what_it_needs():
    assert set(availability.PACKAGES) == set(DOMAIN_MODULES)


def test_a_domain_without_its_packages_is_absent_with_the_remedy(monkeypatch):
    monkeypatch.setattr(availability, "find_spec", lambda name: None if name == "robodesk" else object())
    monkeypatch.setattr(maniskill, "require", lambda task_id, setup: None)
    gone = availability.absent()
    assert set(gone) == {t.id for t in registry().values() if t.domain == "robodesk"}
    assert gone["rd-push-red"] == "task rd-push-red (robodesk) needs robodesk, not installed; pip install -r requirements/lock.txt"


def test_maniskill_is_asked_task_by_task(monkeypatch):
    def require(task_id, setup):
        if setup.asset:
            raise SimulatorMissing(f"{task_id}: download {setup.asset[1]}")

    monkeypatch.setattr(maniskill, "require", require)
    assert availability.missing(task("ms-reach")) is None
    assert availability.missing(task("ms-pick-apple")) == "ms-pick-apple: download ycb"


@pytest.mark.parametrize("domain", [d for d in DOMAIN_MODULES if d != "maniskill"])
def test_the_pinned_environment_lacks_none_of_the_others(domain):
    one = next(t for t in registry().values() if t.domain == domain)
    assert availability.missing(one) is None
