import numpy as np
import pytest

from veridream import spec
from veridream.metrics.motion import decoded_motion_ratio, latent_motion, latent_motion_steps, normalised


def test_latent_motion_of_a_ramp_is_its_slope():
    z = np.arange(5.0)[None, :, None, None] * 0.25 * np.ones((2, 1, 3, 4))
    np.testing.assert_allclose(latent_motion_steps(z), np.full((2, 4), 0.25))
    np.testing.assert_allclose(latent_motion(z), [0.25, 0.25])


def test_latent_motion_is_rms_within_a_step_and_mean_over_steps():
    z = np.zeros((1, 3, 1, 2))
    z[0, 1] = [3.0, 4.0]  # rms sqrt(12.5), forth and back
    z[0, 2] = [3.0, 4.0]  # then still
    np.testing.assert_allclose(latent_motion(z), [np.sqrt(12.5) / 2])


def test_one_frame_has_no_motion():
    with pytest.raises(ValueError, match="two frames"):
        latent_motion(np.zeros((1, 1, 2, 2)))


def test_normalisation_is_clamped_where_nothing_moves():
    np.testing.assert_allclose(normalised(np.array([1.0, 1.0]), np.array([0.5, 0.0])), [2.0, 1.0 / spec.MOTION_FLOOR])


def test_decoded_motion_ratio_of_perfect_dead_and_half_contrast_decoders():
    truth = np.zeros((1, 4, 2, 2, 3))
    truth[:, 1::2] = 0.8
    still = np.full_like(truth, 0.4)
    np.testing.assert_allclose(decoded_motion_ratio(truth, truth), [1.0])
    np.testing.assert_allclose(decoded_motion_ratio(still, truth), [0.0])
    np.testing.assert_allclose(decoded_motion_ratio(truth / 2, truth), [0.5])
    assert np.isnan(decoded_motion_ratio(truth, still)).all()  # the truth does not move: undefined
