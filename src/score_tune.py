"""Prints what a scale's base models reach on the tune side of the split (split.tune), on which nothing is reported: choose between settings by it.

    python src/score_tune.py --scale laptop

Reads a run's index, stores and models; no stage, no receipt. One row a model and task, and one over all: decoded motion (median), foreground
PSNR (dB, mean), rollout dPSNR (dB, median), action-shuffle ratio, training frames.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from veridream import spec
from veridream.data.corpus import Corpus
from veridream.data.index import load_index
from veridream.hallucination.score import score_sequences
from veridream.hallucination.selection import choose_sequences
from veridream.params.load import ParamsError, load_params
from veridream.params.machine import present
from veridream.params.model import Params
from veridream.params.slices import base_models, stores
from veridream.results import statistics as st
from veridream.results.columns import Columns, as_columns, take
from veridream.results.markdown import markdown_table, number
from veridream.train.checkpoints import load_world_model

METRICS = ("decoded_motion:median", "recon_psnr_fg", "dpsnr:median", "asr", "frames_train")


def main(argv: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scale", required=True)
    parser.add_argument("--sequences", type=int, help="sequences a task (default: score.sequences)")
    args = parser.parse_args(argv)
    try:
        params = load_params(args.scale)
        if not params.split.tune:
            raise ValueError(f"scale {args.scale} has no tune side; give split.tune a share, then run `make reproduce SCALE={args.scale}`")
        rows = [row for model in base_models(params) for row in model_rows(params, Path("results") / args.scale, model, args.sequences)]
    except (ParamsError, ValueError, OSError) as e:
        print(f"score_tune: {e}", file=sys.stderr)
        return 1
    print(markdown_table(["model", "task", *METRICS], rows), end="")
    return 0


def model_rows(params: Params, results: Path, model: str, sequences: int | None) -> list[list[str]]:
    """The rows of one base model of the run in this folder."""
    tasks, score = present(params)["seen"], params.score
    torch.set_num_threads(score.threads)
    index = load_index(results / "index" / f"{'corpus' if model == spec.BASE else model}.parquet")
    corpus = Corpus([results / "data" / s["role"] / s["task"] / f"{s['behaviour']}-s{s['seed']}.zarr" for s in stores(params) if s["role"] == "corpus"])
    tokenizer, dynamics = load_world_model(results / "tokenizer" / model, results / "dynamics" / model, "cpu")
    chosen = choose_sequences(index, tasks, sequences or score.sequences, score.context + score.horizon, score.seed, split="tune")
    columns = score_sequences(tokenizer, dynamics, corpus, index, chosen, score, model).columns
    table = as_columns(columns, spec.SCORE_COLUMNS, "tune")
    each = [(t, take(table, table["task"] == t)) for t in tasks]
    return [[model, name, *cells(part)] for name, part in [*each, ("all", table)]]


def cells(table: Columns) -> list[Any]:
    return [number(st.metric(m)(table)) for m in METRICS]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
