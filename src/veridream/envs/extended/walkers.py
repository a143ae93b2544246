"""The suite's walker and hopper, rewarded for going backward."""

from typing import Any

import numpy as np

from veridream.envs.extended.body import Body, Reading, draw_hinges, ramp, soft, suite_model, torso_sensors


class BackwardWalker(Body):
    """State: torso height (m), forward speed (m/s), torso upright and nose up, both in [-1, 1]; then joint angles (6, rad) and velocities (9).

    The suite's reward with the speed's sign turned: standing (height and uprightness), times the share of the wanted speed.
    """

    substeps = 10
    coarsening = 2  # 5 ms
    state_dim = 19
    TOP: float  # m/s
    STAND = 1.2  # m

    def model(self) -> Any:
        return suite_model("walker.xml", torso_sensors("torso"), ground="floor")

    def place(self, model: Any, data: Any, rng: np.random.Generator) -> None:
        draw_hinges(model, data, rng, free=np.pi)

    def state(self, now: Reading) -> np.ndarray:
        head = [now["torso"][..., 2], speed(now), now["up"][..., 2], now["nose"][..., 2]]
        return np.concatenate([np.stack(head, axis=-1), now.qpos[..., 3:], now.qvel], axis=-1)

    def reward(self, now: Reading) -> np.ndarray:
        stand = (3.0 * soft(now["torso"][..., 2], self.STAND, self.STAND / 2) + (1.0 + now["up"][..., 2]) / 2.0) / 4.0
        return stand * (5.0 * ramp(-speed(now), 0.0, self.TOP) + 1.0) / 6.0

    def plan_reward(self, now: Reading) -> np.ndarray:
        """Wider slopes, so that a fallen walker sees them too."""
        stand = (3.0 * ramp(now["torso"][..., 2], 0.0, self.STAND) ** 2 + (1.0 + now["up"][..., 2]) / 2.0) / 4.0
        return stand * (5.0 * ramp(-speed(now), -0.5, self.TOP) + 2.0) / 7.0


def speed(now: Reading) -> np.ndarray:
    """Forward speed of the centre of mass, m/s."""
    return now["torso_subtreelinvel"][..., 0]


class WalkBackward(BackwardWalker):
    TOP = 1.0


class RunBackward(BackwardWalker):
    TOP = 8.0


class HopBackward(Body):
    """State: height of torso over foot (m), forward speed (m/s), torso upright and nose up, both in [-1, 1]; then joint angles (4, rad)
    and velocities (7).

    The suite's reward with the speed's sign turned: 0 unless the torso is STAND above the foot, else the share of the wanted speed.
    """

    substeps = 4
    coarsening = 2  # 10 ms
    state_dim = 15
    TOP = 2.0  # m/s
    STAND = 0.6  # m

    def model(self) -> Any:
        centres = "".join(f'<framepos name="{b}_centre" objtype="body" objname="{b}"/>' for b in ("torso", "foot"))
        return suite_model("hopper.xml", torso_sensors("torso") + centres, ground="floor")

    def place(self, model: Any, data: Any, rng: np.random.Generator) -> None:
        draw_hinges(model, data, rng, free=np.pi)

    def state(self, now: Reading) -> np.ndarray:
        head = [self._height(now), speed(now), now["up"][..., 2], now["nose"][..., 2]]
        return np.concatenate([np.stack(head, axis=-1), now.qpos[..., 3:], now.qvel], axis=-1)

    def reward(self, now: Reading) -> np.ndarray:
        height = self._height(now)
        return ((height >= self.STAND) & (height <= 2.0)) * ramp(-speed(now), 0.0, self.TOP)

    def plan_reward(self, now: Reading) -> np.ndarray:
        """Wider slopes, so that a fallen hopper sees them too."""
        stand = ramp(self._height(now), -0.5, self.STAND) ** 2 * (3.0 + now["up"][..., 2]) / 4.0
        return 0.5 * self.reward(now) + stand * (1.0 + ramp(-speed(now), -0.5, self.TOP)) / 2.0

    def _height(self, now: Reading) -> np.ndarray:
        return now["torso_centre"][..., 2] - now["foot_centre"][..., 2]
