"""A Croissant card (MLCommons, version 1.0) of a scale's data: its index table column by column, and the episode stores behind it."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from veridream.io.store_manifest import read_attrs, read_manifest
from veridream.provenance.receipts import recorded_id

CONFORMS = "http://mlcommons.org/croissant/1.0"
CONTEXT = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "citeAs": "cr:citeAs",
    "column": "cr:column",
    "conformsTo": "dct:conformsTo",
    "cr": "http://mlcommons.org/croissant/",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "dct": "http://purl.org/dc/terms/",
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "extract": "cr:extract",
    "field": "cr:field",
    "fileObject": "cr:fileObject",
    "fileProperty": "cr:fileProperty",
    "fileSet": "cr:fileSet",
    "format": "cr:format",
    "includes": "cr:includes",
    "isLiveDataset": "cr:isLiveDataset",
    "jsonPath": "cr:jsonPath",
    "key": "cr:key",
    "md5": "cr:md5",
    "parentField": "cr:parentField",
    "path": "cr:path",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "recordSet": "cr:recordSet",
    "references": "cr:references",
    "regex": "cr:regex",
    "repeated": "cr:repeated",
    "replace": "cr:replace",
    "sc": "https://schema.org/",
    "separator": "cr:separator",
    "source": "cr:source",
    "subField": "cr:subField",
    "transform": "cr:transform",
}
COLUMNS = {
    "store": "store of the episode, <role>/<task>/<behaviour>-s<seed>; it lies at data/<store>.zarr",
    "task": "MMBench2 task id",
    "domain": "simulator family",
    "role": "corpus (pretraining), targeted (collected on unseen tasks) or test (held out of unseen tasks)",
    "behaviour": "policy that acted",
    "episode": "number within its store",
    "offset": "its first row in the store",
    "length": "rows: agent steps and one",
    "split": "train, heldout, tune or spare",
    "seen": "whether the task is one of the pretraining tasks",
}


def croissant(scale: str, results: Path) -> dict[str, Any]:
    """The card, JSON-LD; paths in it are relative to `results` (results/<scale>). Raises FileNotFoundError where the index is not made yet."""
    tables = sorted((results / "index").glob("*.parquet"))
    if not tables:
        raise FileNotFoundError(f"{results}/index holds no table; run `make reproduce SCALE={scale}` first")
    stores = sorted(p for p in results.glob("data/*/*/*.zarr") if p.is_dir())
    frames = sum(read_manifest(p)["frames"] for p in stores)
    tasks = sorted({read_attrs(p).task for p in stores})
    sizes = sorted({read_attrs(p).size for p in stores})
    pixels = ", ".join(f"{s} x {s}" for s in sizes)
    text = f"{frames} frames of {len(tasks)} simulated control tasks in {len(stores)} stores, {pixels} pixels, with actions, rewards and states."
    return {
        "@context": CONTEXT,
        "@type": "sc:Dataset",
        "name": f"veridream-{scale}",
        "description": f"{text} Row t holds observation t and the action and reward that led to it. Tasks: {', '.join(tasks)}.",
        "conformsTo": CONFORMS,
        "license": "https://spdx.org/licenses/MIT",
        "version": "0.1.0",
        "keywords": ["world models", "reinforcement learning", "simulation"],
        "isLiveDataset": False,
        "creator": {"@type": "Organization", "name": "The Veridream authors"},
        "distribution": [*(_file(p, results) for p in tables), *(_store_file(p, results) for p in stores)],
        "recordSet": [_records(p, results) for p in tables],
    }


def _file(path: Path, results: Path) -> dict[str, Any]:
    name = path.relative_to(results).as_posix()
    content = recorded_id(path)
    return {
        "@type": "cr:FileObject",
        "@id": name,
        "name": name,
        "contentUrl": name,
        "contentSize": f"{content['bytes']} B",
        "encodingFormat": "application/x-parquet",
        "sha256": content["sha256"],
    }


def _store_file(path: Path, results: Path) -> dict[str, Any]:
    """A zarr store: a folder, whose sha256 is that of its receipt (over the names and sha256 of its files)."""
    name, content, attrs = path.relative_to(results).as_posix(), recorded_id(path), read_attrs(path)
    return {
        "@type": "cr:FileObject",
        "@id": name,
        "name": name,
        "description": f"{attrs.task}, {attrs.behaviour}, {read_manifest(path)['frames']} frames; instruction: {attrs.instruction}",
        "contentUrl": name,
        "contentSize": f"{content['bytes']} B",
        "encodingFormat": "application/vnd+zarr",
        "sha256": content["sha256"],
    }


def _records(path: Path, results: Path) -> dict[str, Any]:
    name = path.relative_to(results).as_posix()
    fields = [
        {
            "@type": "cr:Field",
            "@id": f"{path.stem}/{column.name}",
            "name": column.name,
            "description": COLUMNS[column.name],
            "dataType": _type(column.type),
            "source": {"fileObject": {"@id": name}, "extract": {"column": column.name}},
        }
        for column in pq.read_schema(path)
    ]
    return {"@type": "cr:RecordSet", "@id": path.stem, "name": path.stem, "description": "One row an episode.", "field": fields}


def _type(kind: pa.DataType) -> str:
    if pa.types.is_boolean(kind):
        return "sc:Boolean"
    return "sc:Integer" if pa.types.is_integer(kind) else "sc:Text"
