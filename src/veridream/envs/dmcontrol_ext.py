"""DeepMind Control, extended: new tasks on bodies of the suite and on bodies of our own (veridream.envs.extended), simulated by MuJoCo directly.

One control step is `substeps` physics steps with one action. Positions, velocities and sensors are up to date after it.
"""

import copy
import importlib.metadata
from typing import Any

import numpy as np

from veridream.envs.base import Determinism, Quality, RawStep
from veridream.envs.extended import cheetah, giraffe, jumper, reacher_three, spinner, swings, walkers
from veridream.envs.extended.body import Body, Reading
from veridream.envs.mujoco_planner import Planned
from veridream.envs.mujoco_render import Camera, FrameRenderer
from veridream.params.tasks import Task

BODIES: dict[str, type[Body]] = {
    "cheetah-jump": cheetah.Jump,
    "cheetah-run-back": cheetah.RunBack,
    "cheetah-run-backward": cheetah.RunBackward,
    "cheetah-run-front": cheetah.RunFront,
    "cup-spin": swings.CupSpin,
    "giraffe-run": giraffe.GiraffeRun,
    "hopper-hop-backward": walkers.HopBackward,
    "jumper-jump": jumper.JumperJump,
    "pendulum-spin": swings.PendulumSpin,
    "reacher-three-easy": reacher_three.Easy,
    "reacher-three-hard": reacher_three.Hard,
    "spinner-jump": spinner.Jump,
    "spinner-spin": spinner.Spin,
    "spinner-spin-backward": spinner.SpinBackward,
    "walker-run-backward": walkers.RunBackward,
    "walker-walk-backward": walkers.WalkBackward,
}
CAMERAS = {
    "cheetah-side": Camera(lookat=(0.0, 0.0, 0.65), distance=2.5, azimuth=90.0, elevation=-6.0, follow="torso"),
    "cheetah-high": Camera(lookat=(0.0, 0.0, 0.75), distance=2.8, azimuth=90.0, elevation=-6.0, follow="torso"),
    "cup-near": Camera(lookat=(0.0, 0.0, 0.5), distance=1.15, azimuth=90.0, elevation=0.0),
    "giraffe-side": Camera(lookat=(0.1, 0.0, 1.2), distance=3.3, azimuth=90.0, elevation=-5.0, follow="trunk"),
    "hopper-side": Camera(lookat=(0.0, 0.0, 0.65), distance=2.1, azimuth=90.0, elevation=-6.0, follow="torso"),
    "jumper-side": Camera(lookat=(0.0, 0.0, 0.72), distance=2.3, azimuth=90.0, elevation=-6.0, follow="trunk"),
    "pendulum-near": Camera(lookat=(0.0, 0.0, 0.6), distance=1.5, azimuth=90.0, elevation=-8.0),
    "reacher-top": Camera(lookat=(0.0, 0.0, 0.0), distance=0.75, azimuth=90.0, elevation=-90.0),
    "spinner-side": Camera(lookat=(0.0, 0.0, 0.42), distance=1.4, azimuth=90.0, elevation=-6.0, follow="hub"),
    "walker-side": Camera(lookat=(0.0, 0.0, 0.75), distance=2.4, azimuth=90.0, elevation=-6.0, follow="torso"),
}
SOLVED = 0.9  # a control step's reward from which on the task counts as solved


def make(task: Task, size: int, quality: Quality) -> "Extended":
    """The adapter of a task of this domain."""
    if task.id not in BODIES:
        raise ValueError(f"no adapter for extended dm_control task {task.id}")
    return Extended(task, BODIES[task.id](), size, quality)


class Extended(Planned):
    """One body and its task. Reward of a control step is in [0, 1]; the state is the body's."""

    determinism: Determinism = "bitwise"

    def __init__(self, task: Task, body: Body, size: int, quality: Quality) -> None:
        import mujoco

        self._mujoco, self._id, self.body = mujoco, task.id, body
        self.substeps, self.coarsening = body.substeps, body.coarsening
        self.model = body.model()
        self.data = mujoco.MjData(self.model)
        self.state_dim, self.action_dim = body.state_dim, int(self.model.nu)
        self._sensors = {
            self.model.sensor(i).name: slice(int(self.model.sensor_adr[i]), int(self.model.sensor_adr[i] + self.model.sensor_dim[i]))
            for i in range(self.model.nsensor)
        }
        drawn, note = self._drawn(size)
        self._frames = FrameRenderer(drawn, self.data, CAMERAS[task.camera], size, quality)
        self.versions = {k: importlib.metadata.version(k) for k in ("dm_control", "mujoco")}
        self.renderer = f"{self._frames.description}; camera {task.camera}{note}"
        self._bits = mujoco.mjtState.mjSTATE_INTEGRATION

    def _drawn(self, size: int) -> tuple[Any, str]:
        """The model that is drawn, and a note for the store where it differs from the one that is simulated."""
        factor = float(np.clip(64 / size, 1.0, 1.8))
        if factor == 1.0 or not self.body.thick:
            return self.model, ""
        drawn = copy.deepcopy(self.model)
        for name in self.body.thick:
            drawn.geom(name).size[0] *= factor
        drawn.tendon_width[:] *= factor
        return drawn, f"; {', '.join(self.body.thick)} drawn {factor:g} times as thick"

    def reading(self, qpos: np.ndarray, qvel: np.ndarray, sensor: np.ndarray) -> Reading:
        """Positions [..., nq], velocities [..., nv] and sensor values by name."""
        return Reading(qpos, qvel, {name: sensor[..., where] for name, where in self._sensors.items()})

    def _now(self) -> Reading:
        return self.reading(self.data.qpos, self.data.qvel, self.data.sensordata)

    def reset(self, seed: int) -> None:
        self._mujoco.mj_resetData(self.model, self.data)
        self.body.place(self.model, self.data, np.random.default_rng(seed))
        if self.body.settle:
            self._mujoco.mj_step(self.model, self.data, nstep=self.body.settle)
            self.data.time = 0.0
        self._mujoco.mj_step1(self.model, self.data)

    def step(self, action: np.ndarray) -> RawStep:
        before = self.data.time
        self.data.ctrl[:] = action
        self._mujoco.mj_step(self.model, self.data, nstep=self.body.substeps)
        self._mujoco.mj_step1(self.model, self.data)
        if self.data.time <= before:  # MuJoCo starts anew when a state is not finite or absurdly large
            raise RuntimeError(f"{self._id}: the simulation diverged")
        reward = float(self.body.reward(self._now()))
        return RawStep(reward, False, reward > SOLVED)

    def render(self) -> np.ndarray:
        return self._frames.render()

    def state(self) -> np.ndarray:
        return self.body.state(self._now()).astype(np.float32)

    def snapshot(self) -> Any:
        state = np.empty(self._mujoco.mj_stateSize(self.model, self._bits))
        self._mujoco.mj_getState(self.model, self.data, state, self._bits)
        return state

    def restore(self, snap: Any) -> None:
        self._mujoco.mj_setState(self.model, self.data, snap, self._bits)
        self._mujoco.mj_step1(self.model, self.data)

    def close(self) -> None:
        self._frames.close()

    def plan_rewards(self, qpos_NTQ: np.ndarray, qvel_NTQ: np.ndarray, sensor_NTS: np.ndarray) -> np.ndarray:
        return self.body.plan_reward(self.reading(qpos_NTQ, qvel_NTQ, sensor_NTS))
