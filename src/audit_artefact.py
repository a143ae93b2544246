"""Audit an artefact: its chain of makers back to the first stores, each link with its hash, params, code, commit, and whether it HOLDS.

    python src/audit_artefact.py results/laptop/figures/calibration.svg     the chain of one artefact
    python src/audit_artefact.py --all --scale laptop                       everything of a scale, and its ledger
    python src/audit_artefact.py ARTEFACT --bundle out.zip                  pack it with all that proves it
    python src/audit_artefact.py --bundle out.zip --verify                  check such a file anywhere, without the results
    python src/audit_artefact.py ARTEFACT --crate FOLDER                    write a Workflow Run RO-Crate (Provenance Run Crate)
    python src/audit_artefact.py ARTEFACT --prov out.json                   write W3C PROV-JSON

Exit codes: 0 everything holds; 1 something is broken; 2 there is no such artefact, or the arguments do not go together.
"""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from veridream.provenance.audit import Link, NotAnArtefact, as_json, as_text, audit, audit_all, whole_as_json, whole_as_text
from veridream.provenance.bundle import BundleError, verify_bundle, write_bundle
from veridream.provenance.crate import write_crate
from veridream.provenance.prov import prov_json
from veridream.provenance.receipts import write_json


def arguments() -> tuple[argparse.ArgumentParser, argparse.Namespace]:
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("artefact", nargs="?", help="a path under results/<scale>/, for example results/laptop/figures/calibration.svg")
    ap.add_argument("--all", action="store_true", help="every receipt and artefact of --scale, and its ledger")
    ap.add_argument("--scale", default="laptop", help="with --all: the folder under results/ (default: laptop)")
    ap.add_argument("--deep", action="store_true", help="read every byte, whatever an earlier audit remembers")
    ap.add_argument("--json", action="store_true", help="print the outcome as JSON")
    ap.add_argument("--bundle", type=Path, metavar="ZIP", help="write the artefact and its proof; with --verify: check such a file")
    ap.add_argument("--verify", action="store_true", help="check the file of --bundle instead of writing it")
    ap.add_argument("--crate", type=Path, metavar="FOLDER", help="write a Workflow Run RO-Crate of the artefact")
    ap.add_argument("--prov", type=Path, metavar="JSON", help="write the artefact's provenance as W3C PROV-JSON")
    return ap, ap.parse_args()


def said(whole: dict[str, Any], text: str, as_json_: bool) -> None:
    print(json.dumps(whole, indent=1, sort_keys=True) if as_json_ else text)


def export(chain: list[Link], a: argparse.Namespace) -> list[str]:
    """Writes what was asked for beside the audit; returns what it says about it. Raises BundleError, OSError."""
    out = []
    if a.bundle:
        out.append(f"{a.bundle}: {write_bundle(chain, a.bundle)} files; check it anywhere with --bundle {a.bundle} --verify")
    if a.crate:
        out.append(f"{a.crate}/ro-crate-metadata.json: {write_crate(chain, a.crate)} entities")
    if a.prov:
        write_json(a.prov, prov_json(chain))
        out.append(f"{a.prov}: PROV-JSON of {len(chain)} links")
    return out


def main() -> int:
    ap, a = arguments()
    if a.verify and not a.bundle:
        ap.error("--verify needs the file: --bundle out.zip --verify")
    if sum((bool(a.artefact), a.all, a.verify)) != 1:
        ap.error("name one artefact, or --all, or --bundle ZIP --verify")
    if a.all and (a.bundle or a.crate or a.prov):
        ap.error("--bundle, --crate and --prov are of one artefact: name it")
    try:
        if a.verify:
            checked = verify_bundle(a.bundle)
            said(checked.as_json(), checked.as_text(), a.json)
            return 0 if checked.holds else 1
        if a.all:
            whole = audit_all(a.scale, deep=a.deep)
            said(whole_as_json(whole), whole_as_text(whole), a.json)
            return 0 if whole.holds else 1
        chain = audit(a.artefact, deep=a.deep)
        said(as_json(chain), as_text(chain), a.json)
        holds = all(link.holds for link in chain)
        if not holds and (a.bundle or a.crate or a.prov):
            print("audit: nothing was written: a chain that is broken proves nothing", file=sys.stderr)
            return 1
        for line in export(chain, a):
            print(line, file=sys.stderr)
        return 0 if holds else 1
    except NotAnArtefact as e:
        print(f"audit: {e}", file=sys.stderr)
        return 2
    except (BundleError, OSError) as e:
        print(f"audit: {e}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
