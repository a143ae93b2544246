"""Finetunes a world model: the tokenizer, then the dynamics on its new latents. --extra: collected stores that join the corpus.

Goes on from --work after a kill and ends in the same bytes.
"""

from veridream.data.index import load_index
from veridream.provenance.stage import stage
from veridream.train.checkpoints import save_dynamics, save_tokenizer
from veridream.train.finetune import Recipe, finetune
from veridream.train.state import work_config, work_folder

INPUTS = ("index", "stores", "tokenizer", "dynamics", "extra?")
with stage("finetune_world_model", inputs=INPUTS, outputs=("new_tokenizer", "new_dynamics", "metrics"), work=True) as job:
    recipe = Recipe.parse(job.params)
    index = load_index(job.input("index"))
    pair = (job.input("tokenizer"), job.input("dynamics"))
    out = finetune(recipe, *pair, index, job.inputs["stores"], job.inputs["extra"], work_folder(job), work_config(job))
    save_tokenizer(job.out["new_tokenizer"], out.tokenizer, out.window, out.steps[0])
    save_dynamics(job.out["new_dynamics"], out.dynamics, recipe.dynamics.window, out.steps[1])
    job.out["metrics"].write_text("".join(m.read_text() for m in out.metrics))
    job.counts = out.facts
