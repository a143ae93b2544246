"""Checks one episode store. Writes a verdict only when it is sound, so nothing downstream can start from a damaged one."""

from veridream.io.store_manifest import read_manifest, store_id
from veridream.io.store_validation import validate_store
from veridream.provenance.digest import content_id
from veridream.provenance.receipts import recorded_id, write_json
from veridream.provenance.stage import StageError, stage

with stage("validate_store", inputs=("store",), outputs=("verdict",)) as job:
    store = job.input("store")
    problems = validate_store(store)
    content = content_id(store)["sha256"]
    if recorded_id(store)["sha256"] != content:
        problems.append(f"{store}: its content is not what was recorded in {store}.id when it was published")
    if problems:
        remedy = f"delete {store} and {store}.id and run the workflow again; the store is then collected anew"
        raise StageError("\n  ".join([f"{store} is not sound, {len(problems)} problem{'s' * (len(problems) != 1)}:", *problems, remedy]))
    manifest = read_manifest(store)
    job.counts = {"episodes": len(manifest["episodes"]), "frames": manifest["frames"]}
    write_json(job.out["verdict"], {"store": store_id(store), "valid": True, "content": content, **job.counts})
