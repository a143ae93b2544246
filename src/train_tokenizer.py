"""Trains the tokenizer on the corpus's training episodes. Goes on from --work after a kill and ends in the same bytes.

--lpips: the folder of LPIPS's weights, where it is on disk (veridream.nn.lpips).
"""

import shutil

from veridream.provenance.stage import Job, stage
from veridream.train.checkpoints import save_tokenizer
from veridream.train.pretrain import pretrain_tokenizer
from veridream.train.state import work_config, work_folder


def main(job: Job) -> None:
    trained = pretrain_tokenizer(job.params, job.inputs, work_folder(job), work_config(job))
    save_tokenizer(job.out["model"], trained.model, trained.window, trained.steps)
    shutil.copyfile(trained.metrics, job.out["metrics"])
    job.counts = trained.facts


if __name__ == "__main__":  # processes that read frames ahead import this file again
    with stage("train_tokenizer", inputs=("index", "stores", "lpips?"), outputs=("model", "metrics"), work=True) as job:
        main(job)
