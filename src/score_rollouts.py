"""Scores one model on the held-out sequences of every task: one row a sequence, and example clips."""

from typing import Any

import numpy as np
import torch

from veridream.data.corpus import Corpus
from veridream.data.index import load_index
from veridream.hallucination.clips import choose_clips, choose_traces, pack, trace
from veridream.hallucination.score import score_sequences
from veridream.hallucination.selection import choose_sequences
from veridream.io.progress import Progress
from veridream.io.tables import write_parquet
from veridream.params.model import Score
from veridream.provenance.stage import Job, stage
from veridream.train.checkpoints import load_world_model


def main(job: Job) -> None:
    score = Score.model_validate(job.params["score"])
    torch.set_num_threads(score.threads)
    tasks = [*job.params["seen"], *job.params["unseen"]]
    index, corpus = load_index(*job.inputs["index"]), Corpus(job.inputs["stores"])
    tokenizer, dynamics = load_world_model(job.input("tokenizer"), job.input("dynamics"), job.params.get("device", "cpu"))
    sequences = choose_sequences(index, tasks, score.sequences, score.context + score.horizon, score.seed)
    chosen = choose_clips(corpus, sequences, score.context, score.clips)
    model = job.params["model"]
    with Progress(f"score_rollouts {model}", total=len(sequences)) as progress:
        scored = score_sequences(tokenizer, dynamics, corpus, index, sequences, score, model, frozenset(chosen), progress.update)
    write_parquet(job.out["scores"], scored.columns)
    arrays: dict[str, Any] = {}
    for i, (task, k) in sorted(chosen.items()):
        arrays |= pack(f"{task}/{k}", index, sequences.take(np.array([i])), *scored.kept[i], score.context)
    if score.clips:
        for group in choose_traces(index, tasks, score.context, score.trace_steps):
            arrays |= trace(tokenizer, dynamics, corpus, index, group, score)
    with job.out["clips"].open("wb") as f:  # a file, since savez would add .npz to a name
        np.savez_compressed(f, **arrays)
    job.counts |= {"sequences": len(sequences), "tasks": len(tasks), "clips": len(chosen)}


if __name__ == "__main__":
    with stage("score_rollouts", inputs=("index", "stores", "tokenizer", "dynamics"), outputs=("scores", "clips")) as job:
        main(job)
