"""A stand-in for VILA: packages llava and torch that answer by seed and log what they decode. VILA itself is not here."""

STUB = """
import os, sys, time
from pathlib import Path
print("loading, and talking on stdout")
class Video:
    def __init__(self, path): self.path = path
class Config:
    num_video_frames, fps = 8, 0.0
class Generation:
    do_sample = True
    def to_dict(self): return {"do_sample": self.do_sample, "temperature": 0.7}
class Model:
    config, generation_config = Config(), Generation()
    def generate_content(self, parts, generation_config=None):
        import llava.utils.media as media, torch
        video, prompt = parts
        frames = media._load_video(video.path, num_frames=8, fps=0.0)
        once = Path(os.environ["STUB_LOG"]).with_suffix(".once")
        if "crash" in video.path and not once.exists():
            once.touch(); sys.stderr.write("about to die\\n"); sys.stderr.flush(); os._exit(7)
        if "dead" in video.path: sys.stderr.write("cannot live\\n"); sys.stderr.flush(); os._exit(9)
        if "hang" in video.path: time.sleep(60)
        if "memory" in video.path: raise RuntimeError("CUDA out of memory. Tried to allocate 2.00 GiB")
        print("chatter between answers")
        greedy = generation_config is not None and not generation_config.do_sample
        return f"No seed={torch.seed_} frames={len(frames)} greedy={greedy}"
def load(path): return Model()
"""
MEDIA = """
import os
def _load_video(path, *, num_frames, fps):
    with open(os.environ["STUB_LOG"], "a") as f: f.write(path + "\\n")
    return [0] * num_frames
"""
TORCH = "seed_ = None\ndef manual_seed(s):\n    global seed_\n    seed_ = s\nclass cuda:\n    @staticmethod\n    def is_available(): return False\n"


def vila_world(tmp_path, monkeypatch):
    """A folder of stand-in packages on the child's path, weights, and a log of decoded clips."""
    (tmp_path / "site/llava/utils").mkdir(parents=True)
    (tmp_path / "site/llava/__init__.py").write_text(STUB)
    (tmp_path / "site/llava/utils/__init__.py").write_text("")
    (tmp_path / "site/llava/utils/media.py").write_text(MEDIA)
    (tmp_path / "site/torch.py").write_text(TORCH)
    (tmp_path / "weights").mkdir()
    (tmp_path / "weights/config.json").write_text("{}")
    (tmp_path / "weights/model.safetensors").write_bytes(b"weights")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "site"))
    monkeypatch.setenv("STUB_LOG", str(tmp_path / "decoded"))
    return tmp_path
