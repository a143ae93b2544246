"""Trains the tokenizer on the corpus's training episodes. Goes on from --work after a kill and ends in the same bytes."""

import shutil

from veridream.data.index import load_index
from veridream.params.model import Tokenizer
from veridream.provenance.stage import stage
from veridream.train.checkpoints import save_tokenizer
from veridream.train.pretrain import pretrain_tokenizer
from veridream.train.state import work_config, work_folder

with stage("train_tokenizer", inputs=("index", "stores"), outputs=("model", "metrics"), work=True) as job:
    config = Tokenizer.model_validate(job.params["tokenizer"])
    index = load_index(job.input("index"))
    tokenizer, metrics, job.counts = pretrain_tokenizer(config, job.params["size"], index, job.inputs["stores"], work_folder(job), work_config(job))
    save_tokenizer(job.out["model"], tokenizer, config.train.window, config.train.steps)
    shutil.copyfile(metrics, job.out["metrics"])
