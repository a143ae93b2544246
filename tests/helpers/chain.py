"""A finished project in miniature, made of receipts alone: every stage's script is a line, every artefact a few bytes."""

import json
from pathlib import Path
from typing import Any

from veridream.provenance.digest import code_modules, combined_digest, content_id, environment_digest, job_domains, tree_id
from veridream.provenance.jobs import split_receipt
from veridream.provenance.receipts import id_path, read_id, read_receipt, run_facts, run_path, seal, succession, write_id, write_json

STORES = ("corpus/cup-catch/expert-s0", "corpus/atari-pong/noise-s0", "targeted/cup-catch-var1/random-s1")
CURIOUS = "targeted/cup-catch-var1/curiosity-s1"


class Chain:
    """Builds results/<scale>/ job by job; `params` maps a receipt to what the rules pass now."""

    def __init__(self, root: Path, scale: str = "smoke"):
        self.root, self.scale, self.params = root, scale, {}
        self.r = f"results/{scale}"
        for name, text in {
            "requirements/lock.txt": "numpy==1\n",
            "params/claims.yaml": "claims: []\n",
            "src/veridream/__init__.py": "",
            "src/veridream/maths.py": "PI = 3\n",
        }.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text)

    def receipt(self, stage: str, name: str) -> str:
        return f"{self.r}/receipts/{stage}/{name}.json"

    def now(self, receipt: str) -> dict[str, Any]:
        return self.params[receipt]

    def make(self, stage: str, name: str, outputs: list[str], inputs: list[str] | None = None, params: dict[str, Any] | None = None) -> str:
        script = self.root / "src" / f"{stage}.py"
        if not script.exists():
            script.write_text(f"from veridream.maths import PI\n\nSTAGE = {stage!r}\n")
        for o in outputs:
            path = self.root / self.r / o
            path.parent.mkdir(parents=True, exist_ok=True)
            if path.suffix in (".zarr", ""):
                (path / "c").mkdir(parents=True)
                (path / "c" / "0").write_bytes(f"{o} bytes".encode())
                (path / "zarr.json").write_text("{}")
            else:
                path.write_text(f"{o} text\n")
        self.write(stage, name, outputs, inputs or [], params or {})
        return self.receipt(stage, name)

    def write(self, stage: str, name: str, outputs: list[str], inputs: list[str], params: dict[str, Any]) -> None:
        """The receipt of what stands on disk now."""
        key = self.receipt(stage, name)
        self.params[key] = params
        modules, environment = code_modules(f"src/{stage}.py", self.root, job_domains(params)), environment_digest(self.root / "requirements/lock.txt")
        full = [i if i.startswith("params/") else f"{self.r}/{i}" for i in inputs]
        made = {f"{self.r}/{o}": tree_id(self.root / self.r / o) for o in outputs}
        makers = sorted({read_id(self.root / i)["receipt"] for i in full if id_path(self.root / i).is_file()})
        whole = {
            "stage": stage,
            "params": params,
            "code": combined_digest(modules, environment),
            "modules": modules,
            "environment": environment,
            "inputs": {i: content_id(self.root / i) for i in full},
            "outputs": {o: content for o, (content, _) in made.items()},
            "trees": {o: tree for o, (_, tree) in made.items() if (self.root / o).is_dir()},
            "chain": {m: read_receipt(self.root / m)["seal"] for m in makers},
            "counts": {"rows": len(full), "loss": 0.5},
        }
        whole["seal"] = seal(whole)
        for o, content in whole["outputs"].items():
            write_id(self.root / o, content, key)
        before = [s for s in succession(self.root / key) if s != whole["seal"]]
        write_json(self.root / key, whole)
        paths = {"inputs": full, "outputs": sorted(whole["outputs"])}
        write_json(run_path(self.root / key), {**paths, "commit": "c0ffee" * 6, "dirty": True, "started": "now", "seal": whole["seal"], "succeeds": before})

    def edit_receipt(self, receipt: str, change: Any) -> None:
        """Applies change(receipt) and seals it again: a receipt that lies well. Its run file is forged to fit."""
        path = self.root / receipt
        whole = json.loads(path.read_text())
        change(whole)
        write_json(path, {**whole, "seal": seal(whole)})
        write_json(run_path(path), {**run_facts(path), "seal": seal(whole)})

    def forget_runs(self) -> None:
        """As after a restore elsewhere: no run file came along."""
        for path in (self.root / self.r / "receipts").rglob("*.run.json"):
            path.unlink()


def whole_paper(root: Path, scale: str = "smoke") -> Chain:
    """The shape of the real DAG, its detour included: an arm is finetuned, curiosity collects with it, a targeted model is finetuned on that."""
    c = Chain(root, scale)
    for s in STORES:
        c.make("collect_episodes", s, [f"data/{s}.zarr"], params={"role": s.split("/")[0], "max_steps": 16})
        c.make("validate_store", s, [f"validation/{s}.json"], [f"data/{s}.zarr"])
    stores = [f"data/{s}.zarr" for s in STORES[:2]]
    c.make("index_episodes", "corpus", ["index/corpus.parquet", "index/corpus.counts.csv"], stores + [f"validation/{s}.json" for s in STORES[:2]])
    seen = ["index/corpus.parquet", *stores]
    c.make("train_tokenizer", "base", ["tokenizer/base", "tokenizer/base.metrics.jsonl"], seen, {"size": 32, "train": {"lr": 0.1, "steps": 9}})
    c.make("finetune_world_model", "uniform_both", ["tokenizer/uniform_both", "dynamics/uniform_both"], [*seen, "tokenizer/base"])
    c.make("collect_curiosity", "cup-catch-var1-s1", [f"data/{CURIOUS}.zarr"], ["tokenizer/uniform_both", "dynamics/uniform_both"])
    c.make("validate_store", CURIOUS, [f"validation/{CURIOUS}.json"], [f"data/{CURIOUS}.zarr"])
    extra = [*seen, "tokenizer/uniform_both", "dynamics/uniform_both", f"data/{CURIOUS}.zarr"]
    c.make("finetune_world_model", "targeted_curiosity", ["tokenizer/targeted_curiosity", "dynamics/targeted_curiosity"], extra)
    for m in ("uniform_both", "targeted_curiosity"):
        c.make("score_rollouts", m, [f"scores/{m}.parquet"], [*seen, f"tokenizer/{m}", f"dynamics/{m}"], {"model": m})
    scores = [f"scores/{m}.parquet" for m in ("uniform_both", "targeted_curiosity")]
    c.make("plot_figure", "density", ["figures/density.svg"], scores[:1], {"figure": "density"})
    c.make("compare_to_paper", "claims", ["claims/claims.csv"], ["params/claims.yaml", *scores])
    return c


def stages(receipts: dict[str, Any]) -> set[str]:
    return {split_receipt(r)[1] for r in receipts}
