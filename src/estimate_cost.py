"""What a scale would cost before it is run: jobs, hours, bytes by stage, scaled from the measured jobs of a finished run.

GPU hours are arithmetic: the networks' operations over an assumed share of a card's peak.
"""

import argparse
import json
import sys

from veridream.nn.operations import CARD, PEAK, SHARE, gpu_hours
from veridream.params.load import load_params
from veridream.params.model import Params
from veridream.provenance.digest import ROOT
from veridream.provenance.estimate import GpuHours, as_json, as_text, estimate


def on_gpus(p: Params) -> GpuHours:
    """GPU hours of a scale, and how they were found."""
    if hours := gpu_hours(p):
        return GpuHours(hours, f"by arithmetic, not measured: matrix products at {SHARE:.0%} of the {PEAK / 1e12:.0f} TFLOP/s of one {CARD}.")
    return GpuHours({}, "none; compute.device of this scale is cpu.")


def main() -> int:
    ap = argparse.ArgumentParser(description=__doc__)
    ap.add_argument("--scale", default="laptop", help="the scale to estimate: a file of params/scales (default: laptop)")
    ap.add_argument("--reference", metavar="SCALE", help="the finished run to scale from (default: laptop where it is finished, else smoke)")
    ap.add_argument("--json", action="store_true", help="print it as JSON")
    a = ap.parse_args()
    reference = a.reference or next((s for s in ("laptop", "smoke") if (ROOT / "results" / s / "benchmarks").is_dir()), "laptop")
    try:
        found, gpu = estimate(a.scale, reference), on_gpus(load_params(a.scale))
    except ValueError as e:  # ParamsError, NothingMeasured, a damaged receipt
        print(f"estimate: {e}", file=sys.stderr)
        return 1
    print(json.dumps(as_json(found, gpu), indent=1, sort_keys=True) if a.json else as_text(found, gpu))
    return 0


if __name__ == "__main__":
    sys.exit(main())
