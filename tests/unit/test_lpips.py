"""LPIPS with made-up weights in the files' own format, against the formula written out; what it does without them."""

import pytest
import torch
import torch.nn.functional as F

from veridream.nn.lpips import FILES, LAYERS, SCALE, SHIFT, Lpips
from veridream.params.model import TokenizerTrain
from veridream.train.pretrain import lpips_of
from veridream.train.tokenizer import composite


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Random AlexNet filters and channel weights."""
    g, out = torch.Generator().manual_seed(0), tmp_path_factory.mktemp("lpips")
    features, linear = {}, {}
    for i, (index, (channels, inputs, kernel)) in enumerate(LAYERS.items()):
        features[f"features.{index}.weight"] = torch.randn(channels, inputs, kernel, kernel, generator=g) / (inputs * kernel**2) ** 0.5
        features[f"features.{index}.bias"] = torch.randn(channels, generator=g) * 0.1
        linear[f"lin{i}.model.1.weight"] = torch.rand(1, channels, 1, 1, generator=g)
    features["classifier.1.weight"] = torch.zeros(2)
    torch.save(features, out / FILES[0])
    torch.save(linear, out / FILES[1])
    return out


def _images(seed, size=64):
    return torch.rand(2, size, size, 3, generator=torch.Generator().manual_seed(seed))


def test_against_the_formula(folder):
    net, (a, b) = Lpips(folder), (_images(0), _images(1))
    alexnet, linear = (torch.load(folder / f, weights_only=True) for f in FILES)

    def features(x):
        x, out = (x.permute(0, 3, 1, 2) * 2 - 1 - torch.tensor(SHIFT)[:, None, None]) / torch.tensor(SCALE)[:, None, None], []
        for index, stride, padding, pool in ((0, 4, 2, False), (3, 1, 2, True), (6, 1, 1, True), (8, 1, 1, False), (10, 1, 1, False)):
            x = F.max_pool2d(x, 3, 2) if pool else x
            x = F.relu(F.conv2d(x, alexnet[f"features.{index}.weight"], alexnet[f"features.{index}.bias"], stride, padding))
            out.append(F.normalize(x, dim=1))
        return out

    by_hand = sum(
        F.conv2d((f - g).square(), linear[f"lin{i}.model.1.weight"]).mean((1, 2, 3)) for i, (f, g) in enumerate(zip(features(a), features(b), strict=True))
    )
    assert torch.allclose(net(a, b), by_hand, rtol=1e-4)
    assert not net(a, a).any() and (net(a, b) > 0).all() and torch.allclose(net(a, b), net(b, a))


def test_gradient_reaches_the_images_alone_and_is_finite_where_nothing_fires(folder):
    net, x = Lpips(folder), torch.zeros(1, 64, 64, 3, requires_grad=True)
    net(x, torch.full((1, 64, 64, 3), 0.5)).sum().backward()
    assert x.grad.isfinite().all() and x.grad.any() and not list(net.parameters())


def test_files_that_are_missing_or_do_not_fit_are_named(folder, tmp_path):
    with pytest.raises(ValueError, match=r"alexnet.pth is missing"):
        Lpips(tmp_path)
    torch.save({}, tmp_path / FILES[0])
    torch.save({}, tmp_path / FILES[1])
    with pytest.raises(ValueError, match=r"alexnet.pth: features.0.weight is missing, expected \(64, 3, 11, 11\)"):
        Lpips(tmp_path)


def test_it_is_on_where_its_weights_are_and_the_receipt_says_when_not(folder):
    cpu = torch.device("cpu")
    assert lpips_of(TokenizerTrain(), {"lpips": [folder]}, cpu) == (None, {})
    wanted = TokenizerTrain(lpips_weight=0.2)
    assert lpips_of(wanted, {"lpips": []}, cpu) == (None, {"lpips": "off: no weights in models/lpips"})
    net, said = lpips_of(wanted, {"lpips": [folder]}, cpu)
    assert isinstance(net, Lpips) and said == {"lpips": "on"}


def test_the_composite_paints_masked_patches_alone():
    frames, made = torch.zeros(1, 1, 8, 8, 3), torch.ones(1, 1, 8, 8, 3)
    painted = composite(made, frames, torch.tensor([[[False, True, False, False]]]), 4)
    assert painted[0, 0, :4, 4:].min() == 1 and painted.sum() == 4 * 4 * 3
    assert torch.equal(composite(made, frames, None, 4), made)
