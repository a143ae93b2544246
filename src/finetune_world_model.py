"""Finetunes a world model: the tokenizer, then the dynamics on its new latents. --extra: collected stores that join the corpus.

Goes on from --work after a kill and ends in the same bytes. --lpips: the folder of LPIPS's weights, where it is on disk.
"""

from veridream.data.index import load_index
from veridream.provenance.stage import Job, stage
from veridream.train.checkpoints import save_dynamics, save_tokenizer
from veridream.train.finetune import Recipe, finetune
from veridream.train.state import work_config, work_folder

INPUTS = ("index", "stores", "tokenizer", "dynamics", "extra?", "lpips?")


def main(job: Job) -> None:
    recipe = Recipe.parse(job.params)
    index = load_index(job.input("index"))
    tokenizer, dynamics, work = job.input("tokenizer"), job.input("dynamics"), work_folder(job)
    stores, extra, lpips = (job.inputs[i] for i in ("stores", "extra", "lpips"))
    out = finetune(recipe, tokenizer, dynamics, index, stores, extra, work, work_config(job), lpips)
    save_tokenizer(job.out["new_tokenizer"], out.tokenizer, out.window, out.steps[0])
    save_dynamics(job.out["new_dynamics"], out.dynamics, recipe.dynamics.window, out.steps[1])
    job.out["metrics"].write_text("".join(m.read_text() for m in out.metrics))
    job.counts = out.facts


if __name__ == "__main__":  # processes that read frames ahead import this file again
    with stage("finetune_world_model", inputs=INPUTS, outputs=("new_tokenizer", "new_dynamics", "metrics"), work=True) as job:
        main(job)
