"""MiniArcade's cart-poles: equations of motion, rewards, pushes, a stable feedback."""

import math
from dataclasses import replace

import numpy as np
import pytest

from helpers.arcade import made, started
from veridream.envs.miniarcade import cartpole
from veridream.envs.miniarcade.cartpole import CartScene


def energy(pose):
    _, angle, speed, spin = pose
    lever = cartpole.POLE_MASS * cartpole.HALF_LENGTH
    inertia = 4 / 3 * lever * cartpole.HALF_LENGTH
    moving = 0.5 * (cartpole.CART_MASS + cartpole.POLE_MASS) * speed**2 + lever * speed * spin * math.cos(angle) + 0.5 * inertia * spin**2
    return moving + lever * cartpole.GRAVITY * math.cos(angle)


def test_accelerations_at_rest_are_those_worked_out_by_hand():
    assert cartpole.accelerations((0.0, 0.0, 0.0, 0.0), 12.0) == pytest.approx((0.096 * 12 / 0.1008, -0.12 * 12 / 0.1008))
    # lying to the right: the pole falls like a rod whose end is held, 3 g / 4 h, and the cart feels nothing
    assert cartpole.accelerations((0.0, math.pi / 2, 0.0, 0.0), 0.0) == pytest.approx((0.0, 0.75 * cartpole.GRAVITY / cartpole.HALF_LENGTH))


def test_energy_is_kept_without_friction_and_lost_with_it(monkeypatch):
    start = (0.0, 2.0, 0.0, 0.5)
    after = cartpole.swing(start, 0.0, substeps=240)
    assert energy(after) < energy(start) - 1e-3
    monkeypatch.setattr(cartpole, "DRAG", 0.0)
    monkeypatch.setattr(cartpole, "FRICTION", 0.0)
    pose, off = start, []
    for _ in range(240):
        pose = cartpole.swing(pose, 0.0, substeps=1)
        off.append(abs(energy(pose) - energy(start)))
    assert max(off) < 0.03 * 2 * cartpole.POLE_MASS * cartpole.GRAVITY * cartpole.HALF_LENGTH


def test_momentum_is_the_motors_impulse(monkeypatch):
    monkeypatch.setattr(cartpole, "DRAG", 0.0)

    def momentum(pose):
        return (cartpole.CART_MASS + cartpole.POLE_MASS) * pose[2] + cartpole.POLE_MASS * cartpole.HALF_LENGTH * pose[3] * math.cos(pose[1])

    start = (0.0, 0.3, 0.1, -0.2)
    after = cartpole.swing(start, 3.0, substeps=24)
    assert momentum(after) - momentum(start) == pytest.approx(3.0 * 24 * cartpole.DT, rel=0.02)


def test_the_rail_ends_stop_the_cart():
    env = started("pygame-cartpole-balance", x=1.39, speed=3.0)
    env.step(np.array([1.0]))
    assert (env.scene.x, env.scene.speed) == (cartpole.RAIL, 0.0)


@pytest.mark.parametrize(
    ("x", "angle", "dense", "sparse"), [(0.0, 0.0, 1.0, 1.0), (0.0, math.pi / 2, 0.25, 0.0), (1.4, 0.0, 0.5, 0.0), (0.0, -math.pi, 0.0, 0.0)]
)
def test_cartpole_rewards(x, angle, dense, sparse):
    assert cartpole.CartPole.dense_reward(x, angle) == pytest.approx(dense)
    env = started("pygame-cartpole-balance-sparse", x=x, angle=angle, speed=0.0, spin=0.0)
    assert env.step(np.zeros(1)).reward == sparse


def test_success_is_a_pole_held_for_a_while():
    env = started("pygame-cartpole-balance", x=0.0, angle=0.0, speed=0.0, spin=0.0)
    flags = [env.step(np.zeros(1)).success for _ in range(cartpole.HOLD + 1)]
    assert flags.index(True) == cartpole.HOLD - 1
    env._scene = replace(env.scene, angle=1.0)
    assert env.step(np.zeros(1)).success and env.scene.held == 0


def test_only_tremor_is_pushed_and_how():
    for task_id in cartpole.VARIANTS:
        env = made(task_id)
        env.reset(5)
        pushes = []
        for _ in range(300):
            env.step(np.zeros(1))
            pushes.append(env.scene.push)
        pushed = np.array(pushes) != 0
        if task_id != "pygame-cartpole-tremor":
            assert not pushed.any()
            continue
        assert max(map(abs, pushes)) <= cartpole.PUSH and {math.copysign(1, p) for p in pushes if p} == {1.0, -1.0}
        edges = np.flatnonzero(np.diff(pushed.astype(int)))
        lengths = np.diff(edges)
        first = 0 if pushed[edges[0] + 1] else 1
        assert set(lengths[first::2]) == {cartpole.PUSHED}
        assert lengths[1 - first :: 2].min() >= cartpole.CALM[0] and lengths[1 - first :: 2].max() <= cartpole.CALM[1]


def test_the_balancing_feedback_is_stable():
    for held in (1, 2, 4):
        gain, pose = cartpole.balance_gain(held), (0.2, 0.15, 0.0, 0.0)
        for _ in range(60 // held * 2):
            pose = cartpole.swing(pose, -float(gain @ np.array(pose)), substeps=held * cartpole.SUBSTEPS)
        assert max(map(abs, pose)) < 0.02, held


def test_cart_scenes_are_plain_data():
    assert CartScene(0.0, 0.0, 0.0, 0.0) == replace(CartScene(1.0, 0.0, 0.0, 0.0), x=0.0)
