"""Builds ManiSkill environments, and the rules of the tasks that the package does not have: reach, push an object, a pole upright or not.

Imports the package: only for veridream.envs.maniskill, after it has checked that the package is there.
"""

from typing import Any

import numpy as np
import torch
from mani_skill.utils import sapien_utils
from mani_skill.utils.registration import REGISTERED_ENVS
from mani_skill.utils.structs.pose import Pose

REACHED = 0.025  # m, of the hand to the goal
PUSH = 0.2  # m from the object to its goal, away from the robot
PUSHED = 0.06  # m
_kept: list[Any] = []  # the first scene of the process: with the last one closed, the next would compile all shaders again (40 s on a CPU)
UPRIGHT, CENTRED = 0.995, 0.25  # cosine of the pole's angle; m of the cart from the middle


def build(setup: Any, size: int, shadows: bool) -> Any:
    """The environment of a `veridream.envs.maniskill.Setup`.

    Args:
        size: side of its frames, pixels.
        shadows: whether the lights cast them.
    """
    import mani_skill.envs  # noqa: F401  registers the tasks

    camera: dict[str, Any] = {"width": size, "height": size}
    if setup.eye is not None:
        camera["pose"] = sapien_utils.look_at(setup.eye, setup.target)
    if setup.fov is not None:
        camera["fov"] = setup.fov
    options: dict[str, Any] = {"robot_uids": setup.robot} if setup.robot is not None else {}
    if setup.model is not None:
        options["reconfiguration_freq"] = 0
    env = with_rule(REGISTERED_ENVS[setup.env].cls, setup.rule, setup.model)(
        obs_mode="none",
        reward_mode="normalized_dense",
        control_mode=setup.control,
        render_mode="rgb_array",
        enable_shadow=shadows,
        human_render_camera_configs=camera,
        sim_backend="cpu",
        **options,
    )
    if not _kept:
        _kept.extend(env.scene.sub_scenes)
    return env


def with_rule(base: Any, rule: str, model: str | None) -> Any:
    """A class of the package's with another rule of reward and success.

    Args:
        rule: package (unchanged), upright, reach or push.
        model: the one YCB object to use; None for tasks without.
    """
    if model is not None:
        base = _one_object(base, model)
    match rule:
        case "package":
            return base
        case "upright":
            return _upright(base)
        case "reach":
            return _reach(base)
        case "push":
            return _push(base)
    raise ValueError(f"unknown ManiSkill rule {rule!r}")


def _one_object(base: Any, model: str) -> Any:
    class OneObject(base):
        def _load_scene(self, options: dict) -> None:
            self.all_model_ids = np.array([model])
            super()._load_scene(options)

    return OneObject


def _upright(base: Any) -> Any:
    class Upright(base):
        """Reward 1 while the pole is upright and the cart near the middle, else 0."""

        def compute_normalized_dense_reward(self, obs: Any, action: Any, info: dict) -> torch.Tensor:
            cart = self.agent.robot.links_map["cart"].pose.p[:, 0]
            return ((self.pole_angle_cosine > UPRIGHT) & (cart.abs() < CENTRED)).float()

    return Upright


def _reach(base: Any) -> Any:
    class Reach(base):
        """The hand to the goal; the cube lies by."""

        def evaluate(self) -> dict:
            away = torch.linalg.norm(self.goal_site.pose.p - self.agent.tcp.pose.p, axis=1)
            return {**super().evaluate(), "away": away, "success": away < REACHED}

        def compute_normalized_dense_reward(self, obs: Any, action: Any, info: dict) -> torch.Tensor:
            return 1.0 - torch.tanh(5.0 * info["away"])

    return Reach


def _push(base: Any) -> Any:
    class Push(base):
        """The object along the table to a goal `PUSH` beyond it."""

        def _initialize_episode(self, env_idx: torch.Tensor, options: dict) -> None:
            super()._initialize_episode(env_idx, options)
            goal = self.obj.pose.p.clone()
            goal[:, 0] += PUSH
            self.goal_site.set_pose(Pose.create_from_pq(goal))

        def evaluate(self) -> dict:
            away = torch.linalg.norm((self.goal_site.pose.p - self.obj.pose.p)[:, :2], axis=1)
            hand = torch.linalg.norm(self.obj.pose.p - self.agent.tcp.pose.p, axis=1)
            return {**super().evaluate(), "away": away, "hand": hand, "success": away < PUSHED}

        def compute_normalized_dense_reward(self, obs: Any, action: Any, info: dict) -> torch.Tensor:
            return 0.7 * (1.0 - torch.tanh(5.0 * info["away"])) + 0.3 * (1.0 - torch.tanh(5.0 * info["hand"]))

    return Push
