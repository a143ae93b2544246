"""Nothing stays behind on the CPU when a network is moved: its passes run on the meta device, and every operation's tensors must stand there.

What a GPU computes is not seen here; that it is asked to compute with tensors of its own is.
"""

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from helpers.networks import AGENTS, make_batch, make_dynamics, make_task, make_tokenizer
from veridream.nn.attention import rotate
from veridream.nn.device import device_of, normal
from veridream.nn.flow import shortcut_loss
from veridream.nn.heads import ahead, imitation_loss
from veridream.nn.muon import build_optimisers
from veridream.nn.reward import expected_reward, reward_loss
from veridream.nn.sampler import predict_next, rollout
from veridream.params.model import Optimiser
from veridream.provenance.stage import StageError
from veridream.train.seeding import prepare_device


class OneDevice(TorchDispatchMode):
    """Refuses operations on tensors of several devices. Scalars may stand anywhere, and a copy may cross."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        tensors = [x for x in tree_leaves((args, kwargs or {})) if isinstance(x, torch.Tensor) and x.ndim]
        devices = {x.device.type for x in tensors}
        assert len(devices) < 2 or "copy" in str(func), f"{func} mixes {sorted(devices)}"
        return func(*args, **(kwargs or {}))


@pytest.fixture
def gpu(monkeypatch):
    monkeypatch.setattr(torch, "equal", lambda a, b: a.shape == b.shape)  # the meta device holds no values to compare
    with OneDevice():
        yield torch.device("meta")


def _batch(device):
    return tuple(x.to(device) for x in make_batch(2, 6)), make_task().to(device)


def test_a_mixture_of_devices_is_noticed(gpu):
    with pytest.raises((AssertionError, RuntimeError), match=r"mixes|device"):
        make_dynamics().to(gpu)(*make_batch())


@pytest.mark.parametrize("agents", [False, True])
def test_training_passes_of_the_dynamics(gpu, agents):
    d, ((z, signal, step, action, mask), task) = make_dynamics(**(AGENTS if agents else {})).to(gpu), _batch(gpu)
    given = task if agents else None
    predict = lambda x, s, e, r: d(x, s, e, action[r], mask[r], None if given is None else given[r])  # noqa: E731
    flow = shortcut_loss(predict, z, torch.randn_like(z), signal, step.clamp(max=2), 1, 8)
    reward = torch.zeros(2, 6, device=gpu)
    loss = flow.total + reward_loss(flow.out.reward_logits_BTR, reward, torch.ones_like(reward) > 0)
    if agents:
        rewards, inside = ahead(reward, 3)
        loss = loss + reward_loss(flow.out.heads.reward_logits_BTKR, rewards, inside.expand(2, 6, 3))
        loss = loss + imitation_loss(flow.out.heads.action_BTLA, action, mask)
    loss.backward()
    for optimiser in build_optimisers(d, Optimiser(kind="muon")):
        optimiser.step()
    assert all(p.is_meta and p.grad.is_meta for p in d.parameters() if p.grad is not None) and loss.is_meta


def test_training_passes_of_the_tokenizer(gpu):
    t = make_tokenizer().to(gpu)
    t(torch.rand(2, 3, 8, 8, 3, device=gpu), torch.rand(2, 3, 4, device=gpu) < 0.5).square().mean().backward()
    for optimiser in build_optimisers(t, Optimiser(kind="muon")):
        optimiser.step()


@pytest.mark.parametrize("agents", [False, True])
def test_sampling(gpu, agents):
    d, ((z, _, _, action, mask), task) = make_dynamics(**(AGENTS if agents else {})).to(gpu), _batch(gpu)
    out = rollout(d, z[:, :3], action, mask, 3, 2, 0.1, 2, "mean", torch.Generator().manual_seed(0), task if agents else None)
    assert out.z_BHLD.is_meta and out.reward_BH.is_meta
    assert predict_next(d, z, action, mask, 1, 0.1, torch.Generator().manual_seed(0)).is_meta
    assert expected_reward(torch.zeros(2, 11, device=gpu)).is_meta


def test_the_written_out_turn_is_the_complex_one(monkeypatch):
    x = torch.randn(2, 3, 9, 8, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    plain = rotate(x, 5)
    monkeypatch.setattr(torch.compiler, "is_compiling", lambda: True)
    assert torch.allclose(rotate(x, 5), plain, atol=1e-12)


def test_noise_is_the_generators_whatever_the_device_of_the_data():
    a, b = (normal((2, 3), torch.Generator().manual_seed(1), torch.zeros(1, dtype=d)) for d in (torch.float32, torch.float32))
    assert torch.equal(a, b) and torch.equal(a, torch.randn(2, 3, generator=torch.Generator().manual_seed(1)))
    assert normal((4,), torch.Generator(), torch.zeros(1, dtype=torch.float64)).dtype == torch.float64
    assert device_of(make_dynamics()).type == "cpu"


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_a_gpu_that_is_not_there_is_an_error_that_says_what_to_do():
    with pytest.raises(StageError, match=r"compute.device is cuda.*set compute.device to cpu"):
        prepare_device("cuda", 1)
