"""The judge in another environment, against a stand-in package named llava: protocol, seeds, failures. VILA itself is not here."""

import sys
from pathlib import Path

import pytest

from helpers.vila import vila_world
from helpers.wmb import make_items
from veridream.wmb.answers import JudgeError
from veridream.wmb.judges.vila import VilaJudge
from veridream.wmb.judges.worker import Worker
from veridream.wmb.questions import OURS, QUESTIONS

ITEMS = make_items()
world = pytest.fixture(vila_world)


def judge(world: Path, **more):
    return VilaJudge(Path(sys.executable), world / "weights", OURS, **{"answer_s": 30.0, **more})


def test_answers_facts_and_one_decode_a_clip(world):
    with judge(world, seed=5) as j:
        for item in ITEMS[:2]:
            raws = [j.answer(item, world / item.video, q, r).raw for q in QUESTIONS for r in range(2)]
            assert raws == ["No seed=5 frames=8 greedy=False", "No seed=6 frames=8 greedy=False"] * 8
        facts = j.facts
    assert len((world / "decoded").read_text().splitlines()) == 2, "16 questions on each of two clips, each decoded once"
    assert facts["num_video_frames"] == 8 and facts["fps"] == 0.0 and facts["generation"] == {"do_sample": True, "temperature": 0.7}
    assert set(facts["weights"]) == {"config.json", "model.safetensors"} and facts["decode_once"] is True and not j.deterministic
    assert j.decoding(3) == {"mode": "sampled", "seed": 8}


def test_other_weights_or_another_mode_are_another_version(world):
    with judge(world) as one, judge(world, mode="greedy") as greedy:
        assert greedy.deterministic and greedy.answer(ITEMS[0], world / "a.mp4", "mass", 0).raw.endswith("greedy=True")
    (world / "weights/model.safetensors").write_bytes(b"others")
    with judge(world) as other:
        pass
    assert len({one.version, greedy.version, other.version}) == 3


def test_a_crash_is_retried_once_and_told(world):
    with judge(world) as j:
        assert j.answer(ITEMS[0], world / "crash.mp4", "mass", 0).meta == {"retries": 1}
        assert j.answer(ITEMS[0], world / "fine.mp4", "mass", 0).meta == {}


def test_a_second_crash_says_where_and_the_last_words(world):
    with judge(world) as j, pytest.raises(JudgeError) as e:
        j.answer(ITEMS[0], world / "dead.mp4", "mass", 0)
    assert "ended with exit code 9, 2 times" in str(e.value) and "dead.mp4" in str(e.value) and "cannot live" in str(e.value)


def test_silence_is_not_waited_out(world):
    with judge(world, answer_s=0.3, restarts=0) as j, pytest.raises(JudgeError, match=r"said nothing for 0.3 s"):
        j.answer(ITEMS[0], world / "hang.mp4", "mass", 0)


def test_too_little_memory_is_said_with_the_remedy(world):
    with judge(world) as j, pytest.raises(JudgeError, match=r"out of memory.*free the GPU's memory"):
        j.answer(ITEMS[0], world / "memory.mp4", "mass", 0)


def test_another_package_of_that_name_is_refused(world):
    (world / "site/llava/__init__.py").write_text("__version__ = '1.2.2'\n")
    with pytest.raises(JudgeError, match="is not VILA: it has no load"):
        judge(world).__enter__()


def test_no_package_and_no_weights_are_said(world):
    with pytest.raises(JudgeError, match="no folder"):
        VilaJudge(Path(sys.executable), world / "none", OURS).__enter__()
    for p in sorted((world / "site/llava").rglob("*"), reverse=True):
        p.unlink() if p.is_file() else p.rmdir()
    (world / "site/llava").rmdir()
    with pytest.raises(JudgeError, match="has no llava package"):
        judge(world).__enter__()
    with pytest.raises(JudgeError, match="cannot be started"):
        VilaJudge(Path("/nowhere/python"), world / "weights", OURS).__enter__()


@pytest.mark.parametrize(
    ("program", "said"),
    [
        ("print('hello')", "does not keep to the protocol"),
        ("import sys; sys.exit('gone')", "ended with exit code 1 before it was ready:\ngone"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", "was killed by signal 9"),
        ('print(\'{"ready": true}\'); input(); print(\'{"id": 99, "raw": "x"}\')', "to request 1"),
    ],
)
def test_a_child_that_breaks_the_protocol_is_named(program, said):
    with pytest.raises(JudgeError) as e:
        with Worker([sys.executable, "-u", "-c", program], answer_s=20, restarts=0) as w:
            w.ask({"video": "v", "prompt": "p", "seed": 0})
    assert said in str(e.value)
