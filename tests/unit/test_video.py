import numpy as np
import pytest

from veridream.io.video import enlarge, read_mp4, shrink, write_mp4


@pytest.fixture
def frames():
    """Nine frames of 32 x 32: a bright thing of 4 pixels crosses a coloured ground."""
    out = np.zeros((9, 32, 32, 3), np.uint8) + np.array([40, 60, 90], np.uint8)
    for t in range(9):
        out[t, 14:16, 2 * t : 2 * t + 2] = (250, 80, 30)
    return out


def psnr(a, b):
    return 10 * np.log10(255**2 / ((a.astype(float) - b.astype(float)) ** 2).mean())


def test_an_enlarged_video_comes_back_near_enough(tmp_path, frames):
    write_mp4(tmp_path / "a.mp4", enlarge(frames, 224), 15, 12)
    big, small = read_mp4(tmp_path / "a.mp4"), read_mp4(tmp_path / "a.mp4", 32)
    assert big.shape == (9, 224, 224, 3) and small.shape == frames.shape and small.dtype == np.uint8
    assert psnr(small, frames) >= 35


def test_the_same_frames_give_the_same_bytes(tmp_path, frames):
    for name in "ab":
        write_mp4(tmp_path / f"{name}.mp4", frames, 15)
    assert (tmp_path / "a.mp4").read_bytes() == (tmp_path / "b.mp4").read_bytes()


def test_frame_rate_size_and_count_are_as_asked(tmp_path, frames):
    import imageio_ffmpeg

    write_mp4(tmp_path / "a.mp4", enlarge(frames, 224), 15)
    count, seconds = imageio_ffmpeg.count_frames_and_secs(str(tmp_path / "a.mp4"))
    meta = next(imageio_ffmpeg.read_frames(str(tmp_path / "a.mp4")))
    assert (count, meta["fps"], meta["size"], meta["pix_fmt"].split("(")[0]) == (9, 15.0, (224, 224), "yuv420p")
    assert seconds == pytest.approx(0.6, abs=0.01)


def test_enlarge_and_shrink_are_inverse(frames):
    assert np.array_equal(shrink(enlarge(frames, 224), 32), frames)
    assert enlarge(frames, 20).shape == frames.shape and enlarge(frames, 70).shape[1] == 64


def test_what_cannot_be_is_refused(tmp_path, frames):
    with pytest.raises(ValueError, match="even sides"):
        write_mp4(tmp_path / "a.mp4", frames[:, :31], 15)
    with pytest.raises(FileNotFoundError):
        read_mp4(tmp_path / "none.mp4")
    (tmp_path / "bad.mp4").write_bytes(b"no video")
    with pytest.raises(ValueError, match="cannot decode"):
        read_mp4(tmp_path / "bad.mp4")
    write_mp4(tmp_path / "a.mp4", frames, 15)
    with pytest.raises(ValueError, match="enlarged by a whole factor"):
        read_mp4(tmp_path / "a.mp4", 24)
