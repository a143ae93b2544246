"""The shortcut objective against closed forms."""

from types import SimpleNamespace

import pytest
import torch

from veridream.nn.flow import corrupt, draw_indices, self_consistency_target, shortcut_loss, weight


def _z(seed=0, shape=(4, 3, 2, 2), dtype=torch.float64):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=dtype)


def linear(gain):
    """x1hat = gain * z_noisy, whatever level and step."""
    return lambda z, signal, step, rows: SimpleNamespace(x1_BTLD=gain * z)


def test_corruption_and_weight():
    z, noise = _z(0), _z(1)
    signal = torch.tensor([0, 2, 7]).expand(4, 3)
    z_s = corrupt(z, noise, signal, 8)
    assert torch.equal(z_s[:, 0], noise[:, 0])
    assert torch.allclose(z_s[:, 1], 0.75 * noise[:, 1] + 0.25 * z[:, 1])
    assert torch.allclose(weight(signal, 8, torch.float64)[0], torch.tensor([0.1, 0.325, 0.8875], dtype=torch.float64))


def test_a_perfect_prediction_has_no_loss():
    """The flow towards one point is straight: predicting that point is right at every step size."""
    z = torch.full((4, 3, 2, 2), 0.4, dtype=torch.float64)
    perfect = lambda x, signal, step, rows: SimpleNamespace(x1_BTLD=torch.full_like(x, 0.4))  # noqa: E731
    signal, step = draw_indices(4, 3, 2, 8, torch.Generator().manual_seed(0))
    loss = shortcut_loss(perfect, z, _z(1), signal, step, 2, 8)
    assert float(loss.empirical) == 0.0
    assert float(loss.self_consistency) < 1e-28


def test_self_consistency_target_on_a_linear_model():
    """x1hat = g z: b' = (g-1) z / (1-s), z' = z + b' d/2, b'' = (g-1) z' / (1-s-d/2), v their mean."""
    g, z = 0.6, _z()
    signal = torch.tensor([0, 4, 2]).expand(4, 3)  # of k_max = 8
    step = torch.tensor([1, 1, 2]).expand(4, 3)  # d = 1/2, 1/2, 1/4
    v = self_consistency_target(linear(g), z, signal, step, 8, slice(0, 4))
    for t, (s, d) in enumerate([(0.0, 0.5), (0.5, 0.5), (0.25, 0.25)]):
        first = (g - 1) / (1 - s)
        second = (g - 1) * (1 + first * d / 2) / (1 - s - d / 2)
        assert torch.allclose(v[:, t], 0.5 * (first + second) * z[:, t])


def test_half_steps_ask_for_the_next_finer_step_at_the_right_levels():
    seen = []

    def spy(z, signal, step, rows):
        seen.append((signal.clone(), step.clone()))
        return SimpleNamespace(x1_BTLD=z)

    signal, step = torch.tensor([[0, 4, 6]]), torch.tensor([[0, 1, 2]])
    self_consistency_target(spy, _z(shape=(1, 3, 2, 2)), signal, step, 8, slice(0, 1))
    assert seen[0][0].tolist() == [[0, 4, 6]] and seen[0][1].tolist() == [[1, 2, 3]]
    assert seen[1][0].tolist() == [[4, 6, 7]] and seen[1][1].tolist() == [[1, 2, 3]]


def test_losses_on_a_linear_model_in_closed_form():
    z, noise, g = _z(0), _z(1), 0.6
    signal = torch.tensor([[1, 5, 7]] * 3 + [[0, 4, 6]])
    step = torch.tensor([[3, 3, 3]] * 3 + [[0, 1, 2]])
    loss = shortcut_loss(linear(g), z, noise, signal, step, 1, 8)
    z_s = corrupt(z, noise, signal, 8)
    w = weight(signal, 8, torch.float64)[..., None, None]
    empirical = (w * (g * z_s - z).square())[:3].mean()
    s = (signal[3:] / 8)[..., None, None]
    v = self_consistency_target(linear(g), z_s[3:], signal[3:], step[3:], 8, slice(3, 4))
    consistent = (w[3:] * (1 - s) ** 2 * ((g * z_s[3:] - z_s[3:]) / (1 - s) - v).square()).mean()
    assert torch.allclose(loss.empirical, empirical) and torch.allclose(loss.self_consistency, consistent)
    assert torch.allclose(loss.total, (3 * empirical + consistent) / 4)


def test_no_gradient_flows_through_the_target_and_rows_are_named():
    gain = torch.tensor(0.5, dtype=torch.float64, requires_grad=True)
    rows_seen = []

    def predict(z, signal, step, rows):
        rows_seen.append((rows.start, rows.stop, torch.is_grad_enabled()))
        return SimpleNamespace(x1_BTLD=gain * z)

    signal, step = draw_indices(4, 3, 1, 8, torch.Generator().manual_seed(0))
    loss = shortcut_loss(predict, _z(0), _z(1), signal, step, 1, 8)
    loss.total.backward()
    assert rows_seen == [(3, 4, False), (3, 4, False), (0, 4, True)]
    assert gain.grad is not None


def test_gradient_of_the_whole_loss_is_right():
    z, noise = _z(0, (2, 2, 1, 2)), _z(1, (2, 2, 1, 2))
    signal, step = torch.tensor([[1, 5], [0, 4]]), torch.tensor([[3, 3], [0, 1]])

    def empirical_of(gain):
        return shortcut_loss(lambda x, s, e, rows: SimpleNamespace(x1_BTLD=torch.tanh(gain * x)), z, noise, signal, step, 1, 8).empirical

    assert torch.autograd.gradcheck(empirical_of, torch.tensor([0.3, -0.7], dtype=torch.float64, requires_grad=True))


def test_indices_lie_on_their_grids_uniformly():
    signal, step = draw_indices(400, 6, 200, 8, torch.Generator().manual_seed(0))
    assert step[:200].unique().tolist() == [3] and signal[:200].unique().tolist() == list(range(8))
    assert step[200:].unique().tolist() == [0, 1, 2]
    own_signal, own_step = signal[200:], step[200:]
    assert ((own_signal % (8 >> own_step)) == 0).all() and (own_signal <= 8 - (8 >> own_step)).all()
    assert torch.bincount(own_signal[own_step == 2]).tolist()[::2] == pytest.approx([100] * 4, rel=0.35)
    assert torch.bincount(own_step.flatten()).tolist() == pytest.approx([400] * 3, rel=0.15)


def test_at_least_one_empirical_row():
    with pytest.raises(ValueError, match="leave at least one"):
        shortcut_loss(linear(1.0), _z(), _z(1), torch.zeros(4, 3, dtype=torch.int64), torch.zeros(4, 3, dtype=torch.int64), 4, 8)
