"""The WorldModelBench leaderboard for people and programs: rows of veridream.wmb.leaderboard as markdown, CSV and JSON."""

import json
import math
from collections.abc import Sequence
from typing import Any

from veridream.results.markdown import markdown_table, number, with_interval
from veridream.wmb.questions import QUESTIONS
from veridream.wmb.reference import published, reference_rows

Row = dict[str, Any]
Shown = tuple[list[str], list[list[str]]]

NOTES = {
    "wmb": "WorldModelBench, its own conditions. Totals 0-10: instruction 0-3, five laws of physics and two of common sense 0-1 each. "
    "Answers are read strictly; what the published script would make of the same answers stands beside it.",
    "wmb-sim": "Our action-conditioned rollouts on WorldModelBench's eight questions and scale, answered from the simulator and not by a vision-language "
    "model: not comparable with published scores. Simulator: the true frames; reconstruction: the tokenizer alone; frozen: the first frame "
    "held; permuted actions: the model under another sequence's actions. Tolerances are set on the reconstruction, the best that a model with this "
    "tokenizer can do; items on which they hide the difference between truth and stillness count for nobody (coverage), by a rule that was added "
    "after a frozen picture had scored 6.27; under it no frozen picture can pass 6, so read the total over every item beside it.",
}


def shown(rows: Sequence[Row]) -> Shown:
    """Heads and cells of the leaderboard."""
    simulated = rows[0]["protocol"] == "wmb-sim"  # whose judge leaves out items that it cannot decide
    totals = {"total": "total"} | ({"every": "total, every item"} if simulated else {}) | {"official": "total as the script reads"}
    repeated = any(r["repeats"] > 1 for r in rows)
    head = ["entry", "rank", "protocol", "judge", "n", "coverage", "applies", "unparsed", *totals.values(), "script minus strict"]
    head += [*(["sd over repeats"] if repeated else []), *QUESTIONS]
    body = []
    for r in rows:
        judge = f"{r['judge']}\n{r['judge_version']}"
        facts = [r["title"], _rank(r), r["protocol"], judge, str(int(r["n"]))]
        shares = [_share(r["coverage"]), _share(r["applies"]), _share(r["unparsed"])]
        body.append(
            [
                *facts,
                *shares,
                *(_ci(r, name) for name in totals),
                _ci(r, "difference", signed=True),
                *([number(r["repeat_sd"])] if repeated else []),
                *(_ci(r, q) for q in QUESTIONS),
            ]
        )
    return head, body


def _rank(row: Row) -> str:
    """A mean over the videos that happen to exist has no place."""
    if not row["comparable"]:
        return f"none\n{int(row['missing'])} missing videos left out"
    return "" if row["rank"] is None else str(int(row["rank"]))


def _ci(row: Row, name: str, signed: bool = False) -> str:
    return with_interval(row[name], row[f"{name}_low"], row[f"{name}_high"], signed)


def _share(x: float | None) -> str:
    return "–" if x is None or math.isnan(x) else f"{100 * x:.0f} %"


def shown_domains(rows: Sequence[Row]) -> Shown:
    """Heads and cells of the totals by domain and subdomain; no score where too few items stand."""
    head = ["entry", "domain", "subdomain", "n", "total"]
    return head, [[r["title"], r["domain"], r["subdomain"] or "all", str(int(r["n"])), _ci(r, "total")] for r in rows]


def shown_reference() -> Shown:
    """The published leaderboard. Two decimals, as published; no intervals were."""
    rows = reference_rows()
    return ["entry", "judge", "total", *QUESTIONS], [[r["title"], r["judge"], *(f"{r[k]:.2f}" for k in ("total", *QUESTIONS))] for r in rows]


def shown_quoted() -> Shown:
    """What the paper says and nobody outside can check."""
    return ["said", "value", "unit", "why it is not checked"], [list(map(str, r.values())) for r in published("quoted")]


def markdown(rows: Sequence[Row], domains: Sequence[Row], compared: Row) -> str:
    """The whole leaderboard page as markdown."""
    protocol = rows[0]["protocol"]
    parts = [f"### Leaderboard, protocol {protocol}", NOTES[protocol], markdown_table(*shown(rows)).rstrip()]
    parts += ["### By domain", markdown_table(*shown_domains(domains)).rstrip()]
    if len(rows) > 1:
        parts += ["### Win rates", "Share of items on which the entry of the row scores above that of the column, ties half.", _wins(compared)]
        parts += ["Elo (Bradley-Terry): " + (", ".join(f"{k} {v:.0f}" for k, v in compared["elo"].items()) if compared["elo"] else compared["no_elo"])]
    if protocol == "wmb":
        parts += ["### Published, for reference: other judges, not ranked with the above", markdown_table(*shown_reference()).rstrip()]
        parts += ["### Said, not checked here", markdown_table(*shown_quoted()).rstrip()]
    return "\n\n".join(parts) + "\n"


def _wins(compared: Row) -> str:
    ends = (compared[k] for k in ("win_rates", "win_rates_low", "win_rates_high"))
    body = [[name, *map(with_interval, *lines)] for name, *lines in zip(compared["entries"], *ends, strict=True)]
    return markdown_table(["", *compared["entries"]], body).rstrip()


def json_text(rows: Sequence[Row], domains: Sequence[Row], compared: Row, facts: Row) -> str:
    """Everything, NaN as null. facts: what else is known of the run (hashes, judge, policy)."""
    whole: Row = {**facts, "rows": list(rows), "domains": list(domains), "comparison": compared}
    if rows[0]["protocol"] == "wmb":
        whole |= {"reference": reference_rows(), "quoted": published("quoted")}
    return json.dumps(_plain(whole), indent=1, sort_keys=True, allow_nan=False) + "\n"


def _plain(x: Any) -> Any:
    if isinstance(x, dict):
        return {str(k): _plain(v) for k, v in x.items()}
    if isinstance(x, (list, tuple)):
        return [_plain(v) for v in x]
    return None if isinstance(x, float) and not math.isfinite(x) else x
