"""The training loop: exact resume, running RMS, schedules, evidence at the first non-finite number."""

import json
import math

import pytest
import torch
from torch import nn

from veridream.io.checkpoint import CheckpointError
from veridream.params.model import Optimiser
from veridream.provenance.digest import content_id
from veridream.provenance.stage import PUBLISHED, StageError
from veridream.train.engine import NonFiniteLoss, Plan, train
from veridream.train.gradients import RunningRms, StepLoss
from veridream.train.schedule import learning_rate_factor
from veridream.train.seeding import derive, generator, seeded_initialisation
from veridream.train.state import checkpoint_steps, differences

MUON = Optimiser(kind="muon", lr=1e-2, warmup=3, schedule="cosine")


class Net(nn.Module):
    """A block matrix for Muon, a head and a vector for AdamW."""

    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList([nn.Linear(4, 4)])
        self.head = nn.Linear(4, 1)

    def forward(self, x):
        return self.head(torch.tanh(self.blocks[0](x)))


class Killed(Exception):
    pass


class Loss:
    """A pure function of the step; may be told to die, or to turn bad, at a step."""

    def __init__(self, net, kill_at=None, bad_at=None):
        self.net, self.kill_at, self.bad_at = net, kill_at, bad_at

    def __call__(self, step, share):
        if step == self.kill_at:
            raise Killed
        x = torch.randn(8, 4, generator=generator("test", 0, step))
        if step == self.bad_at:
            x[3, 1] = float("nan")
        out = self.net(x)
        terms = {"fit": (out - x.sum(1, keepdim=True)).square().mean(), "size": out.square().mean()}
        return StepLoss(terms, [f"corpus/t/random-s0#{step}@{i}" for i in range(8)], {"size": 0.1}, {"mean": float(out.detach().mean())})


def run(work, steps=10, config=None, kill_at=None, bad_at=None, checkpoint_every=4):
    with seeded_initialisation("net", 0):
        net = Net()
    train(Plan("test", steps, MUON, checkpoint_every), net, Loss(net, kill_at, bad_at), work, config or {"params": {"lr": 1, "steps": steps}})
    return net


def same(a, b):
    return all(torch.equal(x, y) for x, y in zip(a.state_dict().values(), b.state_dict().values(), strict=True))


@pytest.mark.parametrize("kills", [[0], [3], [4], [6], [9], [2, 5, 9]])
def test_killed_and_resumed_equals_undisturbed_bit_for_bit(tmp_path, kills):
    whole = run(tmp_path / "whole")
    for k in kills:
        with pytest.raises(Killed):
            run(tmp_path / "cut", kill_at=k)
    assert same(whole, run(tmp_path / "cut"))
    assert content_id(tmp_path / "whole") == content_id(tmp_path / "cut")  # metrics, state, optimisers and all


def test_a_half_written_checkpoint_and_metrics_line_are_dropped(tmp_path):
    whole = run(tmp_path / "whole")
    with pytest.raises(Killed):
        run(tmp_path / "cut", kill_at=7)
    (tmp_path / "cut" / "step-00000007").mkdir()
    (tmp_path / "cut" / "step-00000007" / "meta.json").write_text("{")
    with (tmp_path / "cut" / "metrics.jsonl").open("a") as f:
        f.write('{"step": 8, "lo')
    assert same(whole, run(tmp_path / "cut"))
    assert content_id(tmp_path / "whole") == content_id(tmp_path / "cut")


def test_the_last_two_checkpoints_are_kept_and_a_finished_run_is_not_repeated(tmp_path):
    first = run(tmp_path / "w")
    assert checkpoint_steps(tmp_path / "w") == [8, 10]
    assert same(first, run(tmp_path / "w", kill_at=0))


def test_an_interrupted_run_of_another_config_is_an_error_that_lists_the_keys(tmp_path):
    work, old, new = tmp_path / "w", {"params": {"lr": 1, "warmup": 2}}, {"params": {"lr": 2, "warmup": 2, "clip": 1}}
    with pytest.raises(Killed):
        run(work, config=old, kill_at=8)
    before = content_id(work)
    with pytest.raises(StageError) as refused:
        run(work, config=new)
    said = str(refused.value)
    assert "params.lr: 1 there, 2 now" in said and "params.clip: absent there, 1 now" in said and "warmup" not in said
    assert f"rm -r {work}" in said and "step-00000008" in said and content_id(work) == before, "nothing was touched"
    changed_back = run(work, config=old)
    assert same(changed_back, run(tmp_path / "clean", config=old))


def test_a_published_run_of_another_config_is_set_aside(tmp_path, capsys):
    run(tmp_path / "w", config={"params": {"lr": 1}})
    (tmp_path / "w" / PUBLISHED).touch()
    fresh = run(tmp_path / "w", config={"params": {"lr": 2}})
    assert "params.lr" in capsys.readouterr().err and checkpoint_steps(tmp_path / "w.stale") == [8, 10]
    assert same(fresh, run(tmp_path / "clean")) and not (tmp_path / "w" / PUBLISHED).exists()


def test_a_work_folder_without_a_config_is_not_trusted(tmp_path):
    (tmp_path / "w" / "step-00000002").mkdir(parents=True)
    with pytest.raises(StageError, match=r"config\.json: missing or unreadable"):
        run(tmp_path / "w")


def test_differences_are_dotted():
    found = differences({"a": {"b": 1, "c": [1]}}, {"a": {"b": 2, "c": [1]}, "d": "x" * 80})
    assert found == {"a.b": "1 there, 2 now", "d": f'absent there, "{"x" * 56}... now'}


def test_non_finite_loss_stops_with_the_windows_and_leaves_the_last_good_state(tmp_path):
    with pytest.raises(NonFiniteLoss, match=r"step 7: fit, size not finite.*nonfinite-step-00000007.json.*corpus/t/random-s0#6@0"):
        run(tmp_path / "w", bad_at=6)
    dump = json.loads((tmp_path / "w" / "nonfinite-step-00000007.json").read_text())
    assert len(dump["windows"]) == 8 and dump["values"]["fit"] == "nan" and dump["step"] == 7
    assert checkpoint_steps(tmp_path / "w") == [4]


def test_damaged_state_is_refused(tmp_path):
    with pytest.raises(Killed):
        run(tmp_path / "w", kill_at=8)
    file = tmp_path / "w" / "step-00000008" / "tensors.safetensors"
    data = bytearray(file.read_bytes())
    data[-1] ^= 1
    file.write_bytes(data)
    with pytest.raises(CheckpointError, match="damaged"):
        run(tmp_path / "w")


def test_metrics_lines_are_finite_ordered_and_hold_no_times(tmp_path):
    run(tmp_path / "w")
    lines = [json.loads(x) for x in (tmp_path / "w" / "metrics.jsonl").read_text().splitlines()]
    assert [x["step"] for x in lines] == list(range(1, 11))
    assert set(lines[0]) == {"run", "step", "loss", "loss_fit", "loss_size", "gradient_norm", "lr_factor", "mean"}
    assert lines[0]["loss"] == pytest.approx(lines[0]["loss_fit"] + 0.1 * lines[0]["loss_size"])


def test_running_rms():
    rms = RunningRms()
    assert rms.update("a", 3.0) == pytest.approx(3.0)  # no bias towards a starting value
    assert rms.update("a", 1.0) == pytest.approx(math.sqrt((0.99 * 9 + 1) / 1.99))
    assert RunningRms().update("a", 0.0) > 0


def test_learning_rate_factor():
    assert [learning_rate_factor(s, 10, 4, "constant") for s in (0, 3, 4, 9)] == [0.25, 1.0, 1.0, 1.0]
    assert learning_rate_factor(4, 14, 4, "cosine") == pytest.approx(1.0)
    assert learning_rate_factor(9, 14, 4, "cosine") == pytest.approx(0.55)
    assert learning_rate_factor(14, 14, 4, "cosine") == pytest.approx(0.1)
    assert learning_rate_factor(0, 10, 0, "constant") == 1.0
    with pytest.raises(ValueError, match="unknown schedule"):
        learning_rate_factor(5, 10, 0, "linear")


def test_seeds_depend_on_every_part_of_the_key_and_leave_the_global_generator_alone():
    assert len({derive("a", 1, 2), derive("a", 12), derive("a", 1, 3), derive("b", 1, 2), derive("a", "1", 2)}) == 5
    before = torch.random.get_rng_state()
    with seeded_initialisation("x", 1):
        a = torch.randn(3)
    assert torch.equal(torch.random.get_rng_state(), before)
    with seeded_initialisation("x", 1):
        assert torch.equal(a, torch.randn(3))
