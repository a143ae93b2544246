"""Which tasks cannot run on this machine, and what would help. Packages are looked up by name: no simulator is imported."""

from importlib.util import find_spec

from veridream.envs import maniskill
from veridream.envs.base import SimulatorMissing
from veridream.params.tasks import Task, registry

# Importable names that a domain's tasks need. ManiSkill's needs depend on the task and are asked of its adapter.
PACKAGES: dict[str, tuple[str, ...]] = {
    "dmcontrol": ("dm_control", "mujoco"),
    "dmcontrol-ext": ("dm_control", "mujoco"),
    "metaworld": ("metaworld", "mujoco"),
    "maniskill": (),
    "mujoco": ("gymnasium", "mujoco"),
    "pygame": ("pygame",),
    "box2d": ("gymnasium", "Box2D", "pygame"),
    "robodesk": ("robodesk", "dm_control", "mujoco"),
    "ogbench": ("ogbench", "gymnasium", "mujoco"),
    "atari": ("ale_py", "PIL"),
}


def missing(task: Task) -> str | None:
    """Why a task cannot run here, with the remedy; None where it can. (That MuJoCo can draw is the doctor's own question.)"""
    lacking = [name for name in PACKAGES[task.domain] if find_spec(name) is None]
    if lacking:
        return f"task {task.id} ({task.domain}) needs {', '.join(lacking)}, not installed; pip install -r requirements/lock.txt"
    if task.domain == "maniskill":
        try:
            maniskill.require(task.id, maniskill.SETUPS[task.id])
        except SimulatorMissing as e:
            return str(e)
    return None


def absent() -> dict[str, str]:
    """{task: why} of all tasks of the registry that cannot run here."""
    return {t.id: why for t in registry().values() if (why := missing(t)) is not None}
