import numpy as np
import pytest

from veridream import spec
from veridream.metrics.foreground import foreground_mask, foreground_psnr
from veridream.metrics.psnr import mse, psnr, psnr_from_mse


def test_uniform_error_of_a_tenth_is_twenty_decibels():
    truth = np.full((2, 3, 4, 4, 3), 0.5)
    np.testing.assert_allclose(psnr(truth + 0.1, truth), [20.0, 20.0])


def test_identical_images_give_the_finite_cap():
    x = np.random.default_rng(0).random((3, 2, 4, 4, 3))
    assert psnr(x, x).tolist() == [spec.PSNR_CAP] * 3


def test_error_is_pooled_over_the_horizon_before_the_logarithm():
    truth = np.zeros((1, 2, 4, 4, 3))
    pred = truth.copy()
    pred[:, 1] = 0.2  # frame errors 0 and 0.04: pooled 0.02
    np.testing.assert_allclose(psnr(pred, truth), [10 * np.log10(1 / 0.02)])
    np.testing.assert_allclose(psnr(pred, truth, keep=2), [[spec.PSNR_CAP, 10 * np.log10(1 / 0.04)]])
    np.testing.assert_allclose(mse(pred, truth), [0.02])


@pytest.mark.parametrize(
    "bad, words",
    [
        (np.zeros((1, 2), dtype=np.uint8), "divide uint8 frames by 255"),
        (np.full((1, 2), 1.01), "clamp decoded frames"),
        (np.full((1, 2), -0.01), "clamp decoded frames"),
        (np.array([[0.0, np.nan]]), "NaN"),
    ],
)
def test_the_border_refuses_what_is_no_unit_image(bad, words):
    with pytest.raises(ValueError, match=words):
        psnr(bad, np.zeros((1, 2)))
    with pytest.raises(ValueError, match=words):
        psnr(np.zeros((1, 2)), bad)


def test_shapes_must_agree():
    with pytest.raises(ValueError, match="shapes differ"):
        mse(np.zeros((1, 2)), np.zeros((2, 2)))


def test_nan_error_stays_nan_and_negative_is_refused():
    assert np.isnan(psnr_from_mse(np.array([np.nan]))).all()
    with pytest.raises(ValueError, match="negative"):
        psnr_from_mse(np.array([-1.0]))


def test_foreground_is_what_differs_from_the_median_image_by_more_than_a_tenth():
    median = np.full((2, 2, 3), 0.5)
    frames = np.full((1, 1, 2, 2, 3), 0.5)
    frames[0, 0, 0, 0, 1] = 0.65  # one channel suffices
    frames[0, 0, 1, 1] = 0.55  # too near
    assert foreground_mask(frames, median).tolist() == [[[[True, False], [False, False]]]]


def test_foreground_psnr_counts_foreground_pixels_only():
    median = np.zeros((2, 2, 3))
    truth = np.zeros((2, 3, 2, 2, 3))
    truth[0, :, 0, 0] = 0.8  # one moving pixel in sequence 0; none in sequence 1
    pred = truth.copy()
    pred[0, :, 0, 0] = 0.7
    pred[0, :, 1, 1] = 0.9  # background error, ignored
    out = foreground_psnr(pred, truth, median)
    np.testing.assert_allclose(out[0], 20.0)
    assert np.isnan(out[1])
