"""Which OpenGL backend MuJoCo can render with on this machine. Each is tried in a child process, since a broken driver kills the process.

MuJoCo reads MUJOCO_GL when it is first imported, so it is set before Python starts: by the workflow's profile, never in here.
"""

import os
import subprocess
import sys
from collections.abc import Callable, Sequence

from veridream.envs.base import SimulatorMissing

BACKENDS = ("egl", "osmesa")
REMEDY = "apt-get install -y libosmesa6"
TRY = """
import mujoco
model = mujoco.MjModel.from_xml_string('<mujoco><worldbody><light pos="0 0 3"/><geom size=".3"/></worldbody></mujoco>')
data = mujoco.MjData(model)
mujoco.mj_forward(model, data)
renderer = mujoco.Renderer(model, 32, 32)
renderer.update_scene(data)
assert renderer.render().std() > 1
renderer.close()
"""


def try_backend(name: str, program: str = TRY, timeout: float = 120.0) -> str | None:
    """Renders one frame in a child process. Returns None if that works, else why not, in one line."""
    try:
        r = subprocess.run([sys.executable, "-c", program], env={**os.environ, "MUJOCO_GL": name}, capture_output=True, text=True, timeout=timeout)
    except subprocess.TimeoutExpired:
        return f"no frame within {timeout:g} s"
    if r.returncode < 0:
        return f"killed by signal {-r.returncode}"
    if r.returncode > 0:
        lines = r.stderr.strip().splitlines()
        return next((x for x in reversed(lines) if "Error" in x), lines[-1] if lines else f"exit code {r.returncode}")
    return None


def probe_backends(backends: Sequence[str] = BACKENDS, attempt: Callable[[str], str | None] = try_backend) -> str:
    """The first backend that renders.

    Raises:
        SimulatorMissing: none does; says why for each, and what to install.
    """
    reasons = {}
    for name in backends:
        reason = attempt(name)
        if reason is None:
            return name
        reasons[name] = reason
    tried = "; ".join(f"{k}: {v}" for k, v in reasons.items())
    raise SimulatorMissing(f"MuJoCo cannot render on this machine ({tried}). On Debian, as root: {REMEDY}")


def require() -> str:
    """The backend of this process, from MUJOCO_GL. Raises SimulatorMissing if it is not set to a known one."""
    name = os.environ.get("MUJOCO_GL", "").lower()
    if name not in BACKENDS:
        was = f"MUJOCO_GL is {name!r}" if name else "MUJOCO_GL is not set"
        raise SimulatorMissing(f"{was}; set it to {' or '.join(BACKENDS)} before Python starts (make doctor says which one works here)")
    return name
