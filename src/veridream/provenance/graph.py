"""The graph of jobs that the receipts draw: who read what whom made."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

Receipts = Mapping[str, Mapping[str, Any]]
Parents = Mapping[str, set[str]]


def parents(receipts: Receipts) -> dict[str, set[str]]:
    """{receipt: receipts of the jobs that made its inputs}."""
    maker = {artefact: key for key, r in receipts.items() for artefact in r["outputs"]}
    return {key: {maker[i] for i in r["inputs"] if i in maker} for key, r in receipts.items()}


def ordered(jobs: Iterable[str], above: Parents) -> list[str]:
    """Parents first. Raises ValueError on a cycle, which the receipts of one workflow cannot have."""
    out: dict[str, None] = {}
    waiting = sorted(jobs)
    while waiting:
        ready = [j for j in waiting if all(p in out for p in above[j])]
        if not ready:
            raise ValueError(f"receipts name each other as inputs: {', '.join(waiting)}")
        out.update(dict.fromkeys(ready))
        waiting = [j for j in waiting if j not in out]
    return list(out)


def ancestors(above: Parents) -> dict[str, set[str]]:
    """{job: every job upstream of it}."""
    out: dict[str, set[str]] = {}
    for job in ordered(above, above):
        out[job] = set().union(*({p} | out[p] for p in above[job]))
    return out


def rounds(above: Parents, counts: Callable[[str, str], bool]) -> dict[str, int]:
    """For each job, the most ancestors `counts` accepts on one path to it: 0 for the first round."""
    upstream = ancestors(above)
    out: dict[str, int] = {}
    for job in ordered(above, above):
        out[job] = max((out[a] + 1 for a in upstream[job] if counts(a, job)), default=0)
    return out


def first_to_remake(outputs: Iterable[str], receipts: Receipts) -> list[str]:
    """Of these outputs (artefacts, ids, receipts), those whose job stands below none of the others' jobs.

    Outputs that no known job makes are left for later; empty when there is no other.
    """
    maker = {artefact: key for key, r in receipts.items() for artefact in r["outputs"]} | {key: key for key in receipts}
    job = {o: maker[plain] for o in outputs if (plain := o.removesuffix(".id")) in maker}
    jobs, upstream = set(job.values()), ancestors(parents(receipts))
    return sorted(o for o, j in job.items() if not jobs & upstream[j])
