"""Dropout that is a function of (row's key, place): its share and mean, independence of rows and places, nothing in evaluation."""

import pytest
import torch

from helpers.networks import make_tokenizer
from veridream.nn.dropout import Dropout, drop

KEYS = torch.randint(2**62, (4,), generator=torch.Generator().manual_seed(0))
FRAMES = torch.rand(4, 3, 8, 8, 3, generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize("p", [0.05, 0.5])
def test_share_and_mean_in_closed_form(p):
    x = torch.ones(4, 50, 100)
    out = drop(x, Dropout(p, KEYS))
    n = x.numel()
    assert set(out.unique().tolist()) == {0.0, float(torch.tensor(1.0) / (1 - p))}
    assert abs(float((out == 0).sum()) / n - p) < 4 * (p * (1 - p) / n) ** 0.5
    assert abs(float(out.mean()) - 1) < 4 * (p / (1 - p) / n) ** 0.5
    assert drop(x, None) is x and torch.equal(drop(x, Dropout(0.0, KEYS)), x)


def test_masks_of_rows_places_and_neighbours_are_independent():
    def dropped(d):
        return drop(torch.ones(4, 20_000), d) == 0

    a = dropped(Dropout(0.5, KEYS))
    others = [a.roll(1, dims=0), a.roll(1, dims=1), *(dropped(Dropout(0.5, KEYS).at(i)) for i in range(3))]
    for b in [*others, dropped(Dropout(0.5, KEYS).at(0).at(1))]:
        assert abs(float((a & b).float().mean()) - 0.25) < 4 * (0.25 * 0.75 / a.numel()) ** 0.5
    assert torch.equal(a, dropped(Dropout(0.5, KEYS)))


def test_a_tokenizers_row_drops_the_same_in_any_part_of_a_batch_and_when_computed_again():
    t = make_tokenizer()
    whole = t(FRAMES, dropout=Dropout(0.3, KEYS))
    torch.testing.assert_close(t(FRAMES[1::2], dropout=Dropout(0.3, KEYS[1::2])), whole[1::2], atol=1e-6, rtol=1e-5)
    assert not torch.allclose(whole, t(FRAMES), atol=1e-3)
    gradients = []
    for t.recompute in (False, True):
        t.zero_grad()
        t(FRAMES, dropout=Dropout(0.3, KEYS)).square().sum().backward()
        gradients.append([p.grad for p in t.parameters()])
    assert all((x is None and y is None) or torch.equal(x, y) for x, y in zip(*gradients, strict=True))


def test_every_block_of_encoder_and_decoder_drops(monkeypatch):
    """Three places in each block, two in the decoder's last, which has no time attention; no two with one mask."""
    keys = []
    monkeypatch.setattr("veridream.nn.blocks.drop", lambda x, d: keys.append(tuple(d.key_B.tolist())) or x)
    make_tokenizer()(FRAMES, dropout=Dropout(0.3, KEYS))
    assert len(keys) == len(set(keys)) == 3 + 3 + 3 + 2
