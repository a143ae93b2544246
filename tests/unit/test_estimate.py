"""Costs are measured rates times amounts of work; what was never measured is unknown."""

import pytest

from helpers.project import copy_project
from veridream.nn import cost
from veridream.nn.operations import PEAK, SHARE, gpu_hours, stage_operations
from veridream.params.load import load_params
from veridream.provenance.estimate import GpuHours, NothingMeasured, as_json, as_text, estimate
from veridream.provenance.jobs import RECEIPT_NAMES, receipts_of, workflow_jobs
from veridream.provenance.receipts import seal, write_json
from veridream.provenance.work import work_of

STARTUP = 2.0
NO_GPU = GpuHours({}, "none")


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """A finished smoke run whose every job took 2 s and 1e-3 s a unit of work, and wrote 3 bytes a unit of disk."""
    root = copy_project(tmp_path_factory.mktemp("project"), ("params",))
    params = load_params("smoke")
    for stage, jobs in workflow_jobs(params).items():
        for wildcards in jobs:
            name, work = RECEIPT_NAMES[stage].format(**wildcards), work_of(params, stage, wildcards)
            tsv = "compare_to_paper" if stage == "compare_to_paper" else "render_report" if stage == "render_report" else f"{stage}/{name}"
            path = root / f"results/smoke/benchmarks/{tsv}.tsv"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"s\tcpu_time\n{STARTUP + 1e-3 * work.amount}\t{'NA' if stage == 'plot_figure' else 1.0 + 1e-3 * work.amount}\n")
            output = {f"results/smoke/{stage}/{name}": {"sha256": "0" * 64, "bytes": 3 * work.disk, "files": 1}}
            whole = {"stage": stage, "params": {}, "code": "", "modules": {}, "environment": "", "inputs": {}, "outputs": output}
            whole |= {"trees": {}, "chain": {}, "counts": {}}
            write_json(root / f"results/smoke/receipts/{stage}/{name}.json", {**whole, "seal": seal(whole)})
    return root


def test_a_run_estimates_itself(project):
    e = estimate("smoke", "smoke", project)
    assert e.startup == pytest.approx(STARTUP, rel=0.05) and e.measured == len(receipts_of(load_params("smoke"), "smoke"))
    for s in e.stages:
        params = load_params("smoke")
        amounts = [work_of(params, s.stage, w) for w in workflow_jobs(params)[s.stage]]
        assert s.hours * 3600 == pytest.approx(sum(STARTUP + 1e-3 * w.amount for w in amounts), rel=0.05)
        assert s.bytes == pytest.approx(3 * sum(w.disk for w in amounts)) and s.unknown == {}


def test_another_scale_is_scaled_by_its_work(project):
    e = {s.stage: s for s in estimate("laptop", "smoke", project).stages}
    laptop = load_params("laptop")
    work = work_of(laptop, "train_dynamics", {})
    assert e["train_dynamics"].hours * 3600 == pytest.approx(STARTUP + 1e-3 * work.amount, rel=0.01)
    assert e["train_dynamics"].extrapolated == pytest.approx(work.amount / (2 * work_of(load_params("smoke"), "train_dynamics", {}).amount)), "two base models"
    assert e["train_tokenizer"].jobs == 1 and e["collect_episodes"].jobs == len(workflow_jobs(laptop)["collect_episodes"])


def test_what_was_never_measured_is_said_to_be_unknown(project):
    e = estimate("laptop", "smoke", project)
    collected = next(s for s in e.stages if s.stage == "collect_episodes")
    domains = {k for k in collected.unknown if k.startswith("collect_episodes, ")}
    assert "collect_episodes, robodesk" in domains
    text, said = as_text(e, NO_GPU), as_json(e, NO_GPU)
    assert "jobs of collect_episodes, robodesk: results/smoke ran none" in text and "GPU hours: none" in text
    assert said["gpu_hours"]["total"] == 0 and said["total"]["jobs"] == len(receipts_of(load_params("laptop"), "laptop"))


def test_gpu_hours_are_arithmetic_and_say_so(project):
    p = load_params("paper")
    hours, said = gpu_hours(p), stage_operations(p)
    t = p.tokenizer.train
    frame = cost.tokenizer_step_flops(p.tokenizer.arch, p.render.size, t.window)
    assert hours["train_tokenizer"] * 3600 * PEAK * SHARE == pytest.approx(t.steps * t.batch * t.window * frame)
    assert set(hours) == set(said) < set(workflow_jobs(p)) and min(hours.values()) > 0
    twice = stage_operations(p.model_copy(update={"mpc": p.mpc.model_copy(update={"episodes": 2 * p.mpc.episodes})}))
    assert {k: twice[k] / said[k] for k in said if twice[k] != said[k]} == {"plan_mpc": pytest.approx(2)}
    assert gpu_hours(load_params("laptop")) == {}
    text = as_text(estimate("paper", "smoke", project), GpuHours(hours, "by arithmetic, not measured"))
    row = next(line for line in text.splitlines() if line.startswith("train_dynamics"))
    assert f"{hours['train_dynamics']:.4g}" in row.split() and "unknown" not in row and "GPU hours: by arithmetic, not measured" in text


def test_nothing_measured_is_an_error(tmp_path):
    with pytest.raises(NothingMeasured, match="make reproduce SCALE=smoke"):
        estimate("laptop", "smoke", copy_project(tmp_path, ("params",)))


@pytest.mark.parametrize(
    "stage, wildcards, key, factor",
    [
        ("train_tokenizer", {}, "tokenizer.train.steps", 2),
        ("train_dynamics", {}, "dynamics.train.batch", 2),
        ("score_rollouts", {"model": "base"}, "score.sequences", 2),
        ("plan_mpc", {"model": "uniform_both"}, "mpc.episodes", 2),
        ("finetune_world_model", {"model": "control"}, "dynamics.arch.width", None),
    ],
)
def test_twice_the_param_is_twice_the_work(stage, wildcards, key, factor):
    before = load_params("smoke")
    value = before
    for part in key.split("."):
        value = getattr(value, part)
    after = load_params("smoke", [f"{key}={2 * value}"])
    ratio = work_of(after, stage, wildcards).amount / work_of(before, stage, wildcards).amount
    assert ratio == pytest.approx(factor) if factor else 1 < ratio < 4


def test_every_stage_and_scale_can_be_sized(project):
    for scale in sorted(p.stem for p in (project / "params/scales").glob("*.yaml")):
        e = estimate(scale, "smoke", project)
        assert e.total("jobs") == len(receipts_of(load_params(scale), scale)) and e.total("hours") > 0
