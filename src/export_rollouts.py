"""Exports one model's rollouts and their four controls as WorldModelBench folders."""

import numpy as np
import torch

from veridream.data.corpus import Corpus
from veridream.data.index import load_index
from veridream.io.progress import Progress
from veridream.provenance.receipts import recorded_id
from veridream.provenance.stage import Job, stage
from veridream.train.checkpoints import load_world_model
from veridream.wmb.imagine import choose_items, given_actions, imagine, noise_seed
from veridream.wmb.items import Item
from veridream.wmb.layout import export_task, finish_export


def main(job: Job) -> None:
    settings, score = job.params["wmb"], job.params["score"]
    torch.set_num_threads(settings["threads"])
    index, corpus = load_index(*job.inputs["index"]), Corpus(job.inputs["stores"])
    tokenizer, dynamics = load_world_model(job.input("tokenizer"), job.input("dynamics"))
    made_by = {name: recorded_id(job.input(name))["sha256"] for name in ("tokenizer", "dynamics")}
    context = score["context"]
    chosen = choose_items(index, corpus, job.params["seen"], settings["items"], context, settings["horizon"], settings["seed"])
    items: list[Item] = []
    with Progress(f"export_rollouts {job.params['model']}", total=len(chosen)) as progress:
        for task in sorted(set(chosen.windows.task.tolist())):
            part = chosen.take(np.flatnonzero(chosen.windows.task == task))
            frames, mask, noise = corpus.frames(part.windows, part.frames), corpus.mask(part.windows), noise_seed(settings["seed"], task)
            actions = given_actions(corpus.actions(part.windows, part.frames), context, noise)
            videos = imagine(tokenizer, dynamics, frames, actions, mask, context, score, noise)
            items += export_task(job.out["folder"], videos, index, part, actions, context, settings["fps"], settings["seed"], made_by)
            progress.update(len(part))
    finish_export(job.out["folder"], items)
    job.counts |= {"items": len(items), "videos": len(items) * len(videos)}


if __name__ == "__main__":
    with stage("export_rollouts", inputs=("index", "stores", "tokenizer", "dynamics"), outputs=("folder",)) as job:
        main(job)
