"""Trains the dynamics on cached latents of the corpus's training episodes. Goes on from --work after a kill and ends in the same bytes.

--tokenizer: needed where the params ask for looks at held-out rollouts (dynamics.train.watch.every).
"""

import shutil

from veridream.provenance.stage import stage
from veridream.train.checkpoints import save_dynamics
from veridream.train.pretrain import pretrain_dynamics
from veridream.train.state import work_config, work_folder

with stage("train_dynamics", inputs=("index", "stores", "latents", "tokenizer?"), outputs=("model", "metrics"), work=True) as job:
    trained = pretrain_dynamics(job.params, job.inputs, work_folder(job), work_config(job))
    save_dynamics(job.out["model"], trained.model, trained.window, trained.steps)
    shutil.copyfile(trained.metrics, job.out["metrics"])
    job.counts = trained.facts
