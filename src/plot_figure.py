"""One figure as SVG: frame_counts (Fig. 3), density (Fig. 4), calibration (Fig. 5), policy_coverage (Fig. 6), traces or strips."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from veridream import spec
from veridream.data.index import load_index
from veridream.figures import calibration, coverage_maps, frame_counts, strips, traces
from veridream.figures.clip_file import load_clips
from veridream.io.episode_store import open_store
from veridream.params.tasks import task
from veridream.provenance.stage import Job, StageError, stage
from veridream.results.columns import Columns, where
from veridream.results.load import load_evidence
from veridream.results.markdown import read_csv
from veridream.results.states import coordinates, targeted_states
from veridream.results.statistics import zero_crossing
from veridream.results.tables import correlation_rows


def _need(job: Job, name: str) -> list[Path]:
    if not job.inputs[name]:
        raise StageError(f"figure {job.params['figure']} needs --{name}")
    return job.inputs[name]


def _base(job: Job) -> tuple[Any, Columns]:
    evidence = load_evidence(_need(job, "scores"), [], job.params["stats"])
    if spec.BASE not in evidence.scores:
        raise StageError(f"figure {job.params['figure']} needs the scores of the base model, got those of {', '.join(evidence.scores)}")
    return evidence, evidence.scores[spec.BASE]


def _plane(name: str) -> coverage_maps.Plane:
    c = task(name).coverage
    return coverage_maps.Plane(c.names, c.low, c.high)


def _frame_counts(job: Job, out: Path) -> None:
    frame_counts.draw(out, [row for path in _need(job, "counts") for row in read_csv(path)])


def _density(job: Job, out: Path) -> None:
    _, base = _base(job)
    index = load_index(_need(job, "index")[0])
    states: dict[str, list[np.ndarray]] = {}
    for path in _need(job, "stores"):
        store = open_store(path)
        train = index.select(store=store.id, role="corpus", split="train").episode.tolist()
        states.setdefault(store.attrs.task, []).extend(coordinates(store, train))
    pooled = {t: np.concatenate(e) for t, e in states.items() if e}
    points = {}
    for t in job.params["seen"]:
        rows = where(base, t)
        points[t] = (np.stack([rows["state_x"], rows["state_y"]], axis=1), rows["u_r_norm"])
    coverage_maps.draw_density(out, {t: _plane(t) for t in job.params["seen"]}, pooled, points)


def _calibration(job: Job, out: Path) -> None:
    evidence, base = _base(job)
    calibration.draw(out, where(base, "seen"), where(base, "unseen"), correlation_rows(evidence))


def _policy_coverage(job: Job, out: Path) -> None:
    states = {key: np.concatenate(list(s.episodes)) for key, s in targeted_states(_need(job, "stores")).items()}
    coverage_maps.draw_policies(out, {t: _plane(t) for t in job.params["unseen"]}, states)


def _traces(job: Job, out: Path) -> None:
    _, base = _base(job)
    seen = where(base, "seen")
    traces.draw(out, load_clips(_need(job, "clips")[0]), {u: zero_crossing(seen[f"{u}_norm"], seen["dpsnr"]) for u in spec.PREDICTORS})


def _strips(job: Job, out: Path) -> None:
    strips.draw(out, load_clips(_need(job, "clips")[0]))


FIGURES: dict[str, Callable[[Job, Path], None]] = {
    "frame_counts": _frame_counts,
    "density": _density,
    "calibration": _calibration,
    "policy_coverage": _policy_coverage,
    "traces": _traces,
    "strips": _strips,
}


def main() -> None:
    with stage("plot_figure", inputs=("counts?", "scores?", "clips?", "stores?", "index?"), outputs=("figure",)) as job:
        name = job.params["figure"]
        if name not in FIGURES:
            raise StageError(f"there is no figure {name!r}; known: {', '.join(FIGURES)}")
        FIGURES[name](job, job.out["figure"])


if __name__ == "__main__":
    main()
