"""What the ledger can say of a claim, and the one rule by which it says it."""

import math
import re
from typing import Literal

from pydantic import Field

from veridream.params.model import Strict
from veridream.results.intervals import Estimate

ROUNDING = 1e-9  # an interval this close to the boundary touches it
VERDICTS = ("reproduced", "opposite", "inconclusive", "not tested at this scale")
COLUMNS = ("id", "claim", "where", "definition", "unit", "source", "paper", "ours", "low", "high", "each", "n", "scale", "rule", "verdict", "note")


class Rule(Strict):
    """Decides by the whole interval and nothing else."""

    against: float = Field(description="the value at which the claim would have no content")
    side: Literal["below", "above"] = Field(description="the paper's side of it")

    def text(self) -> str:
        other = "above" if self.side == "below" else "below"
        return f"reproduced if the whole interval lies {self.side} {self.against:g}; opposite if it lies {other}; else inconclusive"


def boundary(rule_text: str) -> float | None:
    """The value a rule's text decides against; None for a claim without a rule."""
    found = re.search(r"interval lies (?:below|above) (\S+);", rule_text)
    return float(found.group(1)) if found else None


def verdict(estimate: Estimate | None, rule: Rule | None, tested: bool) -> str:
    """One of VERDICTS. The interval's ends must lie strictly on one side; a missing end is inconclusive."""
    if not tested or estimate is None or rule is None:
        return VERDICTS[3]
    if not (math.isfinite(estimate.low) and math.isfinite(estimate.high)):
        return VERDICTS[2]
    below, above = estimate.high < rule.against - ROUNDING, estimate.low > rule.against + ROUNDING
    if not (below or above):
        return VERDICTS[2]
    return VERDICTS[0] if below == (rule.side == "below") else VERDICTS[1]
