"""Prints a run's claims and where its report lies: python src/print_claims.py results/<scale>. Reads only; no stage, no receipt."""

import sys
from collections import Counter
from pathlib import Path

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from veridream.results.markdown import number, read_csv, with_interval
from veridream.results.verdicts import VERDICTS

STYLES = dict(zip(VERDICTS, ("green", "red", "yellow", "dim"), strict=True))


def show(folder: Path, console: Console) -> None:
    """The claims table, the counts, and the report's path. Raises FileNotFoundError when the run has no claims yet."""
    path = folder / "claims" / "claims.csv"
    if not path.is_file():
        raise FileNotFoundError(f"{path} is missing; run `make reproduce` first")
    rows = read_csv(path)
    wide = console.width >= 110
    table = Table(box=box.SIMPLE_HEAD, expand=False, pad_edge=False)
    table.add_column("claim", ratio=1, min_width=20)
    if wide:
        table.add_column("where", max_width=14)
    for name in ("paper", "here [interval]"):
        table.add_column(name, justify="right", no_wrap=wide)
    table.add_column("verdict", max_width=13 if wide else 12)
    for r in rows:
        cells = [Text(r["claim"])] + ([Text(r["where"].split(",")[0], style="dim")] if wide else [])
        cells += [Text(number(r["paper"])), Text(with_interval(r["ours"], r["low"], r["high"])), Text(r["verdict"], style=STYLES[r["verdict"]])]
        table.add_row(*cells)
    console.print(table)
    counts = Counter(r["verdict"] for r in rows)
    console.print(Text(" · ").join(Text(f"{counts[v]} {v}", style=STYLES[v]) for v in VERDICTS))
    report = folder / "report" / "index.html"
    console.print(Text(f"report: {report.resolve()}" if report.is_file() else f"report: not made yet ({report})"), soft_wrap=True)


def main(argv: list[str]) -> int:
    if len(argv) != 1:
        print("usage: python src/print_claims.py results/<scale>", file=sys.stderr)
        return 2
    try:
        show(Path(argv[0]), Console())
    except FileNotFoundError as e:
        print(f"print_claims: {e}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
