"""Encodes every frame of the given stores once, so that the dynamics trains on cached latents."""

from veridream.data.corpus import Corpus
from veridream.data.index import load_index
from veridream.data.latents import encode_stores
from veridream.provenance.stage import StageError, stage
from veridream.train.checkpoints import load_tokenizer
from veridream.train.seeding import prepare_device

with stage("encode_latents", inputs=("index", "stores", "tokenizer"), outputs=("latents",)) as job:
    device = prepare_device(job.params.get("device", "cpu"), 1)
    index = load_index(job.input("index"))
    corpus = Corpus(job.inputs["stores"])
    unknown = sorted(set(corpus.stores) - set(index.store.tolist()))
    if unknown:
        raise StageError(f"store {unknown[0]} is not in {job.input('index')}; make the index again")
    tokenizer, meta = load_tokenizer(job.input("tokenizer"), device)
    latents = encode_stores(tokenizer, corpus, meta["window"])
    latents.save(job.out["latents"])
    job.counts = {"stores": len(corpus.stores), "frames": sum(s.frames for s in corpus.stores.values()), "shape": list(latents.shape)}
