"""Keeps the receipts' chain whole where the launcher saved work, and finds what nobody vouches for.

When a job is remade and its bytes come out as they were, the jobs below it do not run again; their receipts still name its old receipt.
`mend` writes the new one into them, but only on evidence: the run file of the remade job must name the old receipt among those it replaced,
and every input read must be what is published now. Without evidence (a receipt was rewritten by hand) the receipts in question are removed,
so that their jobs run again: what cannot be proven is made anew, never believed.

The same happens to receipts that are out of date and that Snakemake, which compares times and what it remembers, still takes as good: an input
changed while the clock was set back, or .snakemake is gone and with it the params that each job ran with.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from veridream.provenance.digest import ROOT
from veridream.provenance.graph import ordered
from veridream.provenance.jobs import NoSuchJob
from veridream.provenance.receipts import run_facts, run_path, seal, succession, write_json
from veridream.provenance.records import Receipt, Records


@dataclass
class Mended:
    relinked: list[str] = field(default_factory=list)  # receipts that now name the newer receipt of an input's maker
    removed: dict[str, str] = field(default_factory=dict)  # receipt -> why it is gone; its job runs again


def remember(path: Path, receipt: Receipt, *older: str) -> None:
    """Notes in the run file that this receipt stands there, after the older seals; makes the run file where none was left."""
    seals = list(dict.fromkeys([receipt["seal"], *older, *succession(path)]))
    known = {"inputs": sorted(receipt["inputs"]), "outputs": sorted(receipt["outputs"]), **run_facts(path)}
    write_json(run_path(path), {**known, "seal": seals[0], "succeeds": seals[1:]})


def mend(scale: str, root: Path = ROOT, now: Callable[[str], dict[str, Any]] | None = None) -> Mended:
    """Relinks or removes what does not fit together (see the module). Call it with the scale's lock held, when nothing is left to make."""
    records = Records(scale, root, now)
    out = Mended(removed=dict(records.damaged))
    above = {key: {records.makers[p][0] for p in r["inputs"] if p in records.makers} for key, r in records.receipts.items()}
    for key in ordered(records.receipts, above):
        _mend_one(key, above[key], records, out)
    for key in out.removed:
        (root / key).unlink()
    return out


def _mend_one(key: str, makers: set[str], records: Records, out: Mended) -> None:
    receipt, root = records.receipts[key], records.root
    try:
        records.now(key)
    except NoSuchJob:
        return  # left over from other params: no run would make it again
    if records.vouched(key) is False:
        out.removed[key] = "no run of its job left this receipt here, nor is it the recorded one"
        return
    if overlooked := overlooked_problems(key, records):
        out.removed[key] = f"Snakemake does not see it: {'; '.join(overlooked)}"
        return
    chain, wanted = receipt["chain"], {m: records.receipts[m]["seal"] for m in sorted(makers)}
    stale = sorted(m for m in {*wanted, *chain} if m in records.receipts and chain.get(m) != wanted.get(m) and m not in out.removed)
    if not stale:
        return
    unknown = [m for m in stale if m not in wanted or chain.get(m) not in succession(root / m)]
    if unknown:
        out.removed[key] = f"nothing shows that the receipt of {unknown[0]} succeeds the one that this job read"
        for m in (m for m in unknown if m in wanted and records.vouched(m) is None):
            out.removed[m] = f"nothing says whether it or {key} is right"
        return
    whole = {**receipt, "chain": wanted}
    records.receipts[key] = {**whole, "seal": seal(whole)}
    remember(root / key, records.receipts[key], receipt["seal"])  # before the receipt: killed in between, the next mend repeats it
    write_json(root / key, records.receipts[key])
    out.relinked.append(key)


def overlooked_problems(key: str, records: Records) -> list[str]:
    """Why a job must run again, its history and its outputs' bytes left aside: nothing, where Snakemake plans nothing and sees all that changed."""
    receipt = records.receipts[key]
    return [*records.params_problems(key), *records.code_problems(receipt), *records.environment_problems(receipt), *records.input_problems(receipt)]
