"""The suite's cheetah with other things to do: run backward, run on one pair of feet, jump."""

from typing import Any

import numpy as np

from veridream.envs.extended.body import Body, Reading, draw_hinges, height_of, ramp, suite_model, torso_sensors


class Cheetah(Body):
    """State: torso height (m), forward speed (m/s), heights of the front and the back foot (m), torso upright and nose up, both in
    [-1, 1]; then joint angles (6, rad) and velocities (9)."""

    substeps = 1
    state_dim = 21
    settle = 200  # 2 s, as in the suite

    def model(self) -> Any:
        return suite_model("cheetah.xml", torso_sensors("torso") + height_of("front_foot", "ffoot") + height_of("back_foot", "bfoot"), ground="ground")

    def place(self, model: Any, data: Any, rng: np.random.Generator) -> None:
        draw_hinges(model, data, rng, free=0.0)

    def state(self, now: Reading) -> np.ndarray:
        head = [now["torso"][..., 2], speed(now), now["front_foot"][..., 2], now["back_foot"][..., 2], now["up"][..., 2], now["nose"][..., 2]]
        return np.concatenate([np.stack(head, axis=-1), now.qpos[..., 3:], now.qvel], axis=-1)


def speed(now: Reading) -> np.ndarray:
    """Forward speed of the centre of mass, m/s."""
    return now["torso_subtreelinvel"][..., 0]


class RunBackward(Cheetah):
    """Speed backward, full at TOP (m/s)."""

    TOP = 8.0

    def reward(self, now: Reading) -> np.ndarray:
        return ramp(-speed(now), 0.0, self.TOP)

    def plan_reward(self, now: Reading) -> np.ndarray:
        return ramp(-speed(now), -2.0, self.TOP)


class OneSided(Cheetah):
    """Runs forward on one pair of feet: that foot near the ground, the other one raised; a fifth of the reward is for the pose alone."""

    TOP = 4.0  # m/s
    standing: str
    raised: str

    def reward(self, now: Reading) -> np.ndarray:
        return self._pose(now, 0.15) * (1.0 + 4.0 * ramp(speed(now), 0.0, self.TOP)) / 5.0

    def plan_reward(self, now: Reading) -> np.ndarray:
        return self._pose(now, 0.0) * (1.0 + 2.0 * ramp(speed(now), -1.0, self.TOP)) / 3.0

    def _pose(self, now: Reading, floor: float) -> np.ndarray:
        return ramp(now[self.raised][..., 2], floor, 0.45) * ramp(now[self.standing][..., 2], 0.6, 0.3)


class RunBack(OneSided):
    """On the back feet, the front ones raised."""

    standing, raised = "back_foot", "front_foot"


class RunFront(OneSided):
    """On the front feet, the back ones raised."""

    standing, raised = "front_foot", "back_foot"


class Jump(Cheetah):
    """Both feet off the ground: the height of the lower one, full at 0.6 m, while the back is up."""

    def reward(self, now: Reading) -> np.ndarray:
        return self._clearance(now, 0.15) * ramp(now["up"][..., 2], 0.0, 0.7)

    def plan_reward(self, now: Reading) -> np.ndarray:
        rise = ramp(now["torso"][..., 2], 0.3, 1.2)
        return (self._clearance(now, 0.0) + 0.3 * rise) * ramp(now["up"][..., 2], -1.0, 0.7)

    def _clearance(self, now: Reading, floor: float) -> np.ndarray:
        return ramp(np.minimum(now["front_foot"][..., 2], now["back_foot"][..., 2]), floor, 0.6)
