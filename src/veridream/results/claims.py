"""The claims ledger: params/claims.yaml, strictly validated, each claim measured on a run and judged by one rule written beforehand."""

import inspect
from pathlib import Path
from typing import Any, Literal

import numpy as np
from pydantic import Field, TypeAdapter, ValidationError, model_validator

from veridream import spec
from veridream.params.model import Strict
from veridream.params.yaml_text import parse_yaml
from veridream.results.evidence import MEASURES, Evidence, NotAvailable
from veridream.results.intervals import Estimate
from veridream.results.markdown import number
from veridream.results.verdicts import VERDICTS, Rule, verdict


class Call(Strict):
    """A measure of veridream.results.evidence and its arguments."""

    name: str
    args: dict[str, Any] = Field(default={})

    @model_validator(mode="after")
    def _exists(self) -> "Call":
        if self.name not in MEASURES:
            raise ValueError(f"there is no measure {self.name!r}; known: {', '.join(MEASURES)}")
        try:
            inspect.signature(MEASURES[self.name]).bind(None, **self.args)
        except TypeError as e:
            raise ValueError(f"statistic {self.name}: {e}") from None
        return self


class Claim(Strict):
    id: str = Field(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$")
    text: str = Field(min_length=10)
    where: str = Field(min_length=3, description="section, figure or table of the paper")
    definition: str = Field(min_length=10, description="what is computed, over what")
    unit: str = Field(min_length=1)
    source: Literal["P", "N", "N2", "C", "I", "O"]
    paper: float | None = None
    statistic: Call | None = None
    rule: Rule | None = None
    scales: list[str] = Field(default=["laptop", "workstation", "paper"], description="scales at which a verdict means something")
    absent: str = Field(default="", description="why the effect is likely missing, if it is")
    untested: str = Field(default="", description="why no scale here tests it")

    @model_validator(mode="after")
    def _consistent(self) -> "Claim":
        if (self.statistic is None) != (self.rule is None):
            raise ValueError("statistic and rule go together")
        if self.statistic is None and not self.untested:
            raise ValueError("a claim without statistic needs `untested`, the reason")
        if self.statistic is not None and not self.absent:
            raise ValueError("a tested claim needs `absent`, why the effect is likely missing if it is")
        if self.rule and self.paper is not None and (self.paper < self.rule.against) != (self.rule.side == "below"):
            raise ValueError(f"the paper's value {self.paper:g} is not {self.rule.side} {self.rule.against:g}, as the rule says")
        return self


def load_claims(path: Path) -> list[Claim]:
    """The ledger's entries. Raises ValueError that names the file, the entry and the key; an entry without definition or unit is refused."""
    rows = parse_yaml(path.read_text())
    try:
        claims = TypeAdapter(list[Claim]).validate_python(rows)
    except ValidationError as e:
        lines = []
        for err in e.errors():
            at = err["loc"][0] if err["loc"] else None
            name = rows[at].get("id", f"entry {at}") if isinstance(at, int) and isinstance(rows[at], dict) else "file"
            key = ".".join(str(k) for k in err["loc"][1:])
            lines.append(f"{path}: claim {name}: {key + ': ' if key else ''}{err['msg'].removeprefix('Value error, ')}")
        raise ValueError("\n".join(lines)) from None
    ids = [c.id for c in claims]
    twice = sorted({i for i in ids if ids.count(i) > 1})
    if twice:
        raise ValueError(f"{path}: claim {', '.join(twice)} stands twice")
    return claims


def _measured(call: Call, evidence: Evidence) -> tuple[Estimate, str]:
    """The estimate, and the value of each base model where there are several.

    A claim on the base model alone is measured on its replicates too: the value is their mean, the interval covers the intervals of all, so that
    a verdict needs every training seed and permutation of counts to agree. Raises NotAvailable when one of them has no value.
    """
    of, args = MEASURES[call.name], call.args
    if args.get("model") != spec.BASE or {"reference", "models"} & set(args):
        return of(evidence, **args), ""
    all_ = [of(evidence, **args | {"model": m}) for m in evidence.base_models() or [spec.BASE]]
    value, low, high = (float(f([getattr(e, x) for e in all_])) for f, x in ((np.mean, "value"), (np.min, "low"), (np.max, "high")))
    return Estimate(value, low, high, all_[0].n), "; ".join(number(e.value) for e in all_) if len(all_) > 1 else ""


def judge(claim: Claim, evidence: Evidence, scale: str) -> dict[str, Any]:
    """The ledger row of a claim (COLUMNS). Numbers are None where nothing was measured."""
    estimate, each, note = None, "", claim.untested
    if claim.statistic is not None:
        try:
            estimate, each = _measured(claim.statistic, evidence)
        except NotAvailable as e:
            note = str(e)
    tested = scale in claim.scales
    decision = verdict(estimate, claim.rule, tested)
    if estimate is not None and not tested:
        note = f"scale {scale} only proves that the pipeline runs; no verdict is drawn from it"
    elif decision in VERDICTS[1:3]:
        note = claim.absent
    numbers = {"ours": estimate.value, "low": estimate.low, "high": estimate.high, "n": estimate.n} if estimate else dict.fromkeys(("ours", "low", "high", "n"))
    row = {
        "id": claim.id,
        "claim": claim.text,
        "where": claim.where,
        "definition": claim.definition,
        "unit": claim.unit,
        "source": claim.source,
        "paper": claim.paper,
    }
    return {**row, **numbers, "each": each, "scale": scale, "rule": claim.rule.text() if claim.rule else "", "verdict": decision, "note": note}
