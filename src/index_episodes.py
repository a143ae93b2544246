"""Makes the index of all episodes with their split, and the frame counts. Every store needs a verdict on exactly its present content."""

from veridream.data.index import build_index, check_verdicts, frame_counts, save_index, skipped_counts, write_counts
from veridream.provenance.receipts import recorded_id
from veridream.provenance.stage import stage

with stage("index_episodes", inputs=("stores", "verdicts"), outputs=("episodes", "counts")) as job:
    p, stores = job.params, job.inputs["stores"]
    check_verdicts({s: recorded_id(s)["sha256"] for s in stores}, job.inputs["verdicts"])
    split = p["split"]
    index = build_index(stores, split["salt"], split["heldout"], p["seen"], p["unseen"], split["tune"], p["episodes"])
    save_index(job.out["episodes"], index)
    gone = p.get("skipped", {})
    write_counts(job.out["counts"], frame_counts(index) + skipped_counts(gone, "corpus" if p["seen"] else "test"))
    job.counts = {"episodes": len(index), "frames": index.frames(), "tasks": len(index.tasks()), **({"skipped": len(gone)} if gone else {})}
