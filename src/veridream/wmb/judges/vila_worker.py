"""The benchmark's judge as a process of its own: run by a python that has VILA, it imports nothing of this project.

    python vila_worker.py --weights DIR [--mode sampled|greedy]

JSON lines. Written first: {"ready": true, "facts": {...}} or {"ready": false, "error": text} (then it exits with 3). Read on stdin:
{"id", "video", "prompt", "seed"}; answered by {"id", "raw"} or {"id", "error"}. Everything that VILA prints goes to stderr.
"""

import argparse
import hashlib
import importlib
import json
import os
import subprocess
import sys
from pathlib import Path


def sha256(path):
    """Of a file, read in pieces."""
    h = hashlib.sha256()
    with open(path, "rb") as f:
        for block in iter(lambda: f.read(1 << 22), b""):
            h.update(block)
    return h.hexdigest()


def load_judge(weights):
    """(llava, model). Packages of the same name without `load` are other projects, and are refused."""
    try:
        llava = importlib.import_module("llava")
    except ImportError as e:
        raise RuntimeError(f"this python has no llava package ({e}); install VILA there, and its requirements") from None
    if not hasattr(llava, "load") or not hasattr(llava, "Video"):
        where = getattr(llava, "__file__", None)
        raise RuntimeError(f"the llava package at {where} is not VILA: it has no load; uninstall it (pip's llava and llava-torch are others) and install VILA")
    return llava, llava.load(str(weights))


def decode_once():
    """Lets VILA decode a clip once for its eight questions. False where this VILA has no such function; then it decodes each time."""
    try:
        media = importlib.import_module("llava.utils.media")
        load = media._load_video
    except (ImportError, AttributeError):
        return False
    held: dict = {}

    def cached(path, *args, **kwargs):
        key = (str(path), repr(args), repr(sorted(kwargs.items())))
        if key not in held:
            held.clear()
            held[key] = load(path, *args, **kwargs)
        return list(held[key])

    setattr(media, "_load_video", cached)  # noqa: B010  it is no module that a type checker knows
    return True


def facts_of(llava, model, weights, mode):
    """What decides the answers: frames, generation config, hashes of the weights, VILA's commit."""
    config, generation = getattr(model, "config", None), getattr(model, "generation_config", None)
    folder = Path(llava.__file__).resolve().parent
    try:
        done = subprocess.run(["git", "-C", str(folder), "rev-parse", "HEAD"], capture_output=True, text=True)
        commit = done.stdout.strip() if done.returncode == 0 else None
    except OSError:
        commit = None
    files = sorted(p for p in Path(weights).rglob("*") if p.is_file() and p.suffix in (".safetensors", ".bin", ".json"))
    return {
        "num_video_frames": getattr(config, "num_video_frames", None),
        "fps": getattr(config, "fps", None),
        "generation": None if generation is None else generation.to_dict(),
        "mode": mode,
        "weights": {p.relative_to(weights).as_posix(): sha256(p) for p in files},
        "vila_commit": commit,
        "vila_version": getattr(llava, "__version__", None),
        "worker": sha256(__file__),
    }


def set_seed(seed):
    """Of torch, on every device."""
    torch = importlib.import_module("torch")
    torch.manual_seed(seed)
    if torch.cuda.is_available():
        torch.cuda.manual_seed_all(seed)


def greedy_config(model):
    """A copy of the model's generation config that does not sample."""
    import copy

    config = copy.deepcopy(model.generation_config)
    config.do_sample = False
    return config


def serve(llava, model, mode, out):
    """Answers one request a line until stdin ends."""
    more = {"generation_config": greedy_config(model)} if mode == "greedy" else {}
    for line in sys.stdin:
        request = json.loads(line)
        try:
            set_seed(int(request["seed"]))
            reply = {"id": request["id"], "raw": str(model.generate_content([llava.Video(request["video"]), request["prompt"]], **more))}
        except Exception as e:  # noqa: BLE001  whatever VILA raises goes to the parent, which stops the run
            reply = {"id": request["id"], "error": f"{type(e).__name__}: {e}"}
        print(json.dumps(reply), file=out, flush=True)


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--weights", type=Path, required=True)
    ap.add_argument("--mode", choices=("sampled", "greedy"), default="sampled")
    a = ap.parse_args()
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what VILA prints must not stand between answers
    sys.stdout = sys.stderr
    try:
        if not a.weights.is_dir():
            raise RuntimeError(f"{a.weights} is no folder; give the folder of the judge's weights")
        once = decode_once()
        llava, model = load_judge(a.weights)
        facts = dict(facts_of(llava, model, a.weights, a.mode), decode_once=once)
    except Exception as e:  # noqa: BLE001  said to the parent, which says it to the user
        print(json.dumps({"ready": False, "error": str(e)}), file=out, flush=True)
        sys.exit(3)
    print(json.dumps({"ready": True, "facts": facts}), file=out, flush=True)
    serve(llava, model, a.mode, out)


if __name__ == "__main__":
    main()
