"""A small sample of the fault harness (all of it: make test-faults), on the session's smoke run."""

import re
import shutil

import pytest

from faults import draws, limits
from faults.draws import Fault
from faults.jobs import Bench
from faults.runs import Chain
from faults.scene import Undisturbed, different, partial
from helpers.project import copy_finished

QUICK = ("collect_episodes", "validate_store", "index_episodes", "encode_latents", "tabulate_results")


@pytest.fixture(scope="module")
def whole(smoke_results):
    return Undisturbed.of(smoke_results, "smoke")


@pytest.fixture(scope="module")
def bench(whole, tmp_path_factory):
    with Bench.on(whole, tmp_path_factory.mktemp("faults") / "bench") as made:
        made.jobs = [j for j in made.jobs if j.stage in QUICK]
        yield made


@pytest.mark.parametrize("kind", draws.ON_JOBS)
def test_a_job_survives(bench, kind):
    fault = next(f for f in draws.drawn() if f.kind == kind)
    try:
        done, wrong = bench.deal(fault)
    except limits.NotHere as e:
        pytest.skip(str(e))
    assert not wrong, f"{fault}: {done}\n" + "\n".join(wrong)


def test_a_fault_that_cannot_be_made_here_leaves_whole_results_to_the_next(bench, monkeypatch, tmp_path):
    monkeypatch.setattr(limits, "CGROUPS", tmp_path / "nowhere")
    fault = next(f for f in draws.drawn() if f.kind == "out of memory, killed by the kernel")
    with pytest.raises(limits.NotHere, match="no memory group"):
        bench.deal(fault)
    assert different(bench.project, bench.whole) == []


def test_a_run_survives(whole, tmp_path):
    """The launcher killed beside a running job, then Ctrl-C, then the same command to its end."""
    project = copy_finished(whole.project, tmp_path / "runs")
    for name in ("validation/corpus", "validation/test"):
        shutil.rmtree(project / "results/smoke" / name)
    told = []
    faults = [Fault(1, f"{draws.KILL}, the launcher", 0.2, 0.1), Fault(2, "SIGINT to a run", 0.2, 0.0)]
    assert Chain(project, whole, lambda *what: told.append(what)).deal(faults) == []
    assert [(f.number, wrong) for f, _, wrong in told] == [(1, []), (2, [])]
    assert "SIGKILL to 1 " in told[0][1] and re.search("SIGINT to 1 .* exit 130", told[1][1])


def test_the_judge_of_survival_sees_what_is_partial(whole, tmp_path):
    """A harness that cannot fail proves nothing: a file cut short and a hole in a folder are seen."""
    project = copy_finished(whole.project, tmp_path / "broken")
    folder = next(iter(sorted(whole.folders)))
    hole = next(p for p in whole.files if p.startswith(f"{folder}/"))
    (project / "results/smoke" / hole).unlink()
    cut = project / "results/smoke/index/corpus.parquet"
    cut.write_bytes(cut.read_bytes()[:-1])
    assert partial(project, whole) == [
        "index/corpus.parquet has other bytes than an undisturbed run's",
        f"{hole} is missing in a folder that stands under its final name",
    ]


def test_the_full_harness_kills_a_hundred_times_and_each_fault_can_be_dealt_again():
    faults = draws.drawn()
    assert sum(f.kind.startswith(draws.KILL) for f in faults) >= 100
    assert [f.number for f in faults] == list(range(1, len(faults) + 1))
    assert {f.kind for f in faults} == {*draws.ON_RUNS, *draws.ON_JOBS}
    assert draws.drawn() == faults != draws.drawn(seed=1)
