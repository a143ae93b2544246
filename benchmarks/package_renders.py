"""Each package's own way to a picture of a task, as its documentation shows it: what benchmarks/simulators.py compares with."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Package:
    """An environment of the package: `draw` is its render call, `move` one step by random actions, `ready` what makes its drawing context the
    current one, where the package leaves that to whoever has several."""

    draw: Callable[[], Any]
    move: Callable[[], Any]
    ready: Callable[[], Any] = lambda: None


Start = Callable[[int | None], Package]  # pixels a side; None: the package's own default


def suite(domain: str, name: str, camera: int = 0) -> Start:
    """DeepMind Control Suite: physics.render, by default 320 x 240."""

    def start(size: int | None) -> Package:
        from dm_control import suite

        env, rng = suite.load(domain, name, task_kwargs={"random": 0}), np.random.default_rng(0)
        env.reset()
        spec, sized = env.action_spec(), {} if size is None else {"height": size, "width": size}
        return Package(lambda: env.physics.render(camera_id=camera, **sized), lambda: env.step(rng.uniform(spec.minimum, spec.maximum)))

    return start


def metaworld(name: str) -> Start:
    """Meta-World: env.render() under render_mode rgb_array, by default 480 x 480."""

    def start(size: int | None) -> Package:
        import metaworld

        bench = metaworld.MT1(name, seed=0)
        sized = {} if size is None else {"width": size, "height": size}
        env = bench.train_classes[name](render_mode="rgb_array", **sized)
        env.set_task(bench.train_tasks[0])
        env.reset()
        return Package(env.render, _mover(env), _current(env))

    return start


def gym(name: str, package: str = "gymnasium", sizable: bool = True, **options: Any) -> Start:
    """A registered gymnasium environment: env.render() under render_mode rgb_array (MuJoCo: 480 x 480; OGBench: 200 x 200 by default)."""

    def start(size: int | None) -> Package:
        from importlib import import_module

        import gymnasium

        import_module(package)  # registers its environments
        sized = {} if size is None or not sizable else {"width": size, "height": size}
        env = gymnasium.make(name, render_mode="rgb_array", **sized, **options)
        env.reset(seed=0)
        return Package(env.render, _mover(env), _current(env))

    return start


def robodesk(task: str) -> Start:
    """RoboDesk: env.render(), which draws 120 x 120 and scales a part of it to `image_size`, by default 64.

    Its step draws too, so that drawing is switched off here while it moves; and it asks Pillow for a filter that is now called LANCZOS.
    """

    def start(size: int | None) -> Package:
        from PIL import Image

        from veridream.envs.robodesk import _package

        if not hasattr(Image, "ANTIALIAS"):
            Image.ANTIALIAS = Image.LANCZOS  # type: ignore[attr-defined]
        env = _package()(task=task, **({} if size is None else {"image_size": size}))
        env._get_obs = dict
        env.reset()
        rng = np.random.default_rng(0)
        return Package(env.render, lambda: env.step(rng.uniform(-1, 1, env.action_dim)))

    return start


def _current(env: Any) -> Callable[[], None]:
    """gymnasium's MuJoCo renderer draws into whichever context is current."""
    env.render()  # makes it
    viewer = getattr(getattr(env.unwrapped, "mujoco_renderer", None), "viewer", None)
    return viewer.make_context_current if viewer is not None else lambda: None


def _mover(env: Any) -> Callable[[], None]:
    env.action_space.seed(0)

    def move() -> None:
        _, _, terminated, truncated, _ = env.step(env.action_space.sample())
        if terminated or truncated:
            env.reset()

    return move


@dataclass(frozen=True)
class Row:
    """A task of ours and the nearest thing that its package draws. sizable: whether the package can be asked for another size."""

    domain: str
    task: str
    start: Start | None = None
    shipped: str = ""
    sizable: bool = True


ROWS = (
    Row("DMControl", "walker-walk", suite("walker", "walk"), "320x240"),
    Row("DMControl Extended", "walker-run-backward", suite("walker", "run"), "320x240"),
    Row("Meta-World", "mw-push", metaworld("push-v3"), "480x480"),
    Row("MuJoCo", "mujoco-halfcheetah", gym("HalfCheetah-v5"), "480x480"),
    Row("OGBench, point", "og-point-maze", gym("pointmaze-medium-v0", "ogbench"), "200x200"),
    Row("OGBench, ant", "og-ant-maze", gym("antmaze-medium-v0", "ogbench"), "200x200"),
    Row("RoboDesk", "rd-push-red", robodesk("push_red"), "64x64"),
    Row("Box2D, lander", "lunarlander-hover", gym("LunarLander-v3", sizable=False, continuous=True), "600x400", sizable=False),
    Row("Box2D, biped", "bipedal-walker-flat", gym("BipedalWalker-v3", sizable=False), "600x400", sizable=False),
    Row("Atari", "atari-pong", gym("ALE/Pong-v5", "ale_py", sizable=False, continuous=True), "160x210", sizable=False),
    Row("MiniArcade", "pygame-pong"),
)
