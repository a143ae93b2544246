"""Trains the dynamics on cached latents of the corpus's training episodes. Goes on from --work after a kill and ends in the same bytes."""

import shutil

from veridream.data.index import load_index
from veridream.params.model import Dynamics
from veridream.provenance.stage import stage
from veridream.train.checkpoints import save_dynamics
from veridream.train.pretrain import pretrain_dynamics
from veridream.train.state import work_config, work_folder

with stage("train_dynamics", inputs=("index", "stores", "latents"), outputs=("model", "metrics"), work=True) as job:
    config = Dynamics.model_validate(job.params["dynamics"])
    index = load_index(job.input("index"))
    dynamics, metrics, job.counts = pretrain_dynamics(config, index, job.inputs["stores"], job.input("latents"), work_folder(job), work_config(job))
    save_dynamics(job.out["model"], dynamics, config.train.window, config.train.steps)
    shutil.copyfile(metrics, job.out["metrics"])
