import pytest
import torch

from veridream.hallucination.predictors import flow_instability, inter_seed_variance, round_trip_residual


class Linear:
    """Dec(z) = z / 2 as pixels of a 1 x 1 frame, Enc(o) = 2 o + shift: the round trip adds `shift` unless a pixel is clamped."""

    def __init__(self, shift=0.0):
        self.shift, self.seen = shift, []

    def decode(self, z_BTLD):
        return (z_BTLD / 2).reshape(*z_BTLD.shape[:2], 1, 1, -1)

    def encode(self, frames):
        self.seen.append(frames)
        return (2 * frames + self.shift).reshape(*frames.shape[:2], 1, -1)


def test_round_trip_residual_is_the_rms_of_what_the_round_trip_changes():
    z = torch.full((2, 5, 1, 3), 0.5)
    torch.testing.assert_close(round_trip_residual(Linear(), z), torch.zeros(2, 5))
    torch.testing.assert_close(round_trip_residual(Linear(0.25), z), torch.full((2, 5), 0.25))


def test_every_frame_is_encoded_alone_and_clamped():
    tokenizer = Linear()
    z = torch.tensor([-1.0, 0.5, 3.0]).reshape(1, 1, 1, 3).repeat(2, 4, 1, 1)
    out = round_trip_residual(tokenizer, z)
    (frames,) = tokenizer.seen
    assert frames.shape[:2] == (8, 1)
    assert frames.min() == 0.0 and frames.max() == 1.0
    torch.testing.assert_close(out, torch.full((2, 4), ((1.0**2 + 0 + 1.0**2) / 3) ** 0.5))


def test_order_of_sequences_and_steps_is_kept():
    z = torch.zeros(2, 3, 1, 3)
    z[1, 2] = -1.0  # clamped to 0
    out = round_trip_residual(Linear(), z)
    assert out[1, 2] == 1.0 and out.sum() == 1.0


@pytest.mark.parametrize("deltas, mean", [([1, 2, 3, 4, 5, 6, 7], 5.5), ([1, 2, 3], 2.5), ([1, 2], 2.0), ([4], 4.0)])
def test_flow_instability_averages_the_second_half(deltas, mean):
    assert flow_instability(torch.tensor(deltas, dtype=torch.float32).expand(2, 3, -1)).tolist() == [[mean] * 3] * 2


def test_flow_instability_needs_two_substeps():
    with pytest.raises(ValueError, match="substeps"):
        flow_instability(torch.zeros(1, 1, 0))


def test_seed_variance_is_unbiased_and_averaged_over_elements():
    samples = torch.zeros(1, 1, 2, 1, 2)
    samples[0, 0, 1] = torch.tensor([1.0, 3.0])  # variances 0.5 and 4.5
    assert inter_seed_variance(samples).tolist() == [[2.5]]
    with pytest.raises(ValueError, match="seeds"):
        inter_seed_variance(samples[:, :, :1])
