"""Results files of the published script, and its own words and arithmetic where a checkout is given (VERIDREAM_WMB)."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from helpers.wmb import make_benchmark, make_items, make_videos, random_answers, stand_ins, write_results
from veridream.wmb.answers import Answer, JudgeError
from veridream.wmb.items import BenchmarkError
from veridream.wmb.judges.replay import ReplayJudge, results_file
from veridream.wmb.questions import GROUPS, INSTRUCTION, OURS, QUESTIONS, official_wording
from veridream.wmb.scoring import score

ITEMS = make_items()
STORED = Path(__file__).parents[1] / "data" / "wmb_official_totals.json"
CHECKOUT = Path(os.environ.get("VERIDREAM_WMB", "/nowhere"))
with_checkout = pytest.mark.skipif("VERIDREAM_WMB" not in os.environ, reason="VERIDREAM_WMB names no checkout of the benchmark")


def official_total(answers) -> float:
    return score(ITEMS, {(s, q, 0): Answer(one[q]) for s, one in answers.items() for q in QUESTIONS}).total("official")


def test_answers_come_back_and_the_version_is_the_files(tmp_path):
    answers = random_answers(ITEMS, 0)
    judge = ReplayJudge(write_results(tmp_path / "r.json", "mine", answers), "mine")
    assert all(judge.answer(i, tmp_path, q, 0).raw == answers[i.stem][q] for i in ITEMS for q in QUESTIONS)
    other = ReplayJudge(write_results(tmp_path / "s.json", "mine", random_answers(ITEMS, 1)))
    assert judge.version != other.version and judge.accs_differ is None
    with pytest.raises(JudgeError, match="has no answer on"):
        ReplayJudge(write_results(tmp_path / "t.json", "m", {k: answers[k] for k in list(answers)[:2]})).answer(ITEMS[5], tmp_path, "mass", 0)


def test_the_files_own_scores_are_checked_against_its_answers(tmp_path):
    whole = results_file("mine", random_answers(ITEMS, 3))
    (tmp_path / "r.json").write_text(json.dumps(whole))
    assert ReplayJudge(tmp_path / "r.json").accs_differ == 0
    whole["accs"]["physical_laws"][4] = not whole["accs"]["physical_laws"][4]
    (tmp_path / "r.json").write_text(json.dumps(whole))
    assert ReplayJudge(tmp_path / "r.json").accs_differ == 1


def bad(change):
    whole = results_file("mine", random_answers(ITEMS, 0))
    change(whole)
    return whole


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (bad(lambda w: w.update(model_name="other")), "is of model 'other', not 'mine'"),
        (bad(lambda w: w.pop("preds")), "holds no preds"),
        (bad(lambda w: w["preds"].clear()), "holds no answer"),
        (bad(lambda w: w["preds"][ITEMS[0].stem]["physical_laws"].pop()), "physical_laws must be 5 texts"),
        (bad(lambda w: w["preds"][ITEMS[0].stem].update(instruction=[3])), "instruction must be 1 texts"),
    ],
)
def test_a_wrong_file_is_refused(tmp_path, content, said):
    (tmp_path / "r.json").write_text(json.dumps(content))
    with pytest.raises(BenchmarkError) as e:
        ReplayJudge(tmp_path / "r.json", "mine")
    assert said in str(e.value)


def test_a_torn_or_absent_file_is_refused(tmp_path):
    (tmp_path / "r.json").write_text('{"preds": {')
    for path, said in ((tmp_path / "r.json", "not valid JSON"), (tmp_path / "no.json", "is missing")):
        with pytest.raises(BenchmarkError, match=said):
            ReplayJudge(path)


def test_official_totals_are_the_published_scripts_on_200_random_files():
    """The totals stored here were computed by the unmodified script; see test_the_script_itself_agrees."""
    totals = json.loads(STORED.read_text())
    assert len(totals) == 200
    ours = [official_total(random_answers(ITEMS, seed)) for seed in range(200)]
    np.testing.assert_allclose(ours, totals, rtol=0, atol=1e-12)


SCRIPT = """
import json, os, sys
from pathlib import Path
stubs, checkout, work = sys.argv[1:4]
sys.path[:0] = [stubs, checkout]
import evaluation
totals, real = [], evaluation.WorldModelEvaluator.process_results
evaluation.WorldModelEvaluator.process_results = lambda self, preds, accs: totals.append(float(real(self, preds, accs)))
os.chdir(work)
for n in range(int(sys.argv[4])):
    os.environ["ANSWERS"] = f"answers{n}.json"
    sys.argv = ["evaluation.py", "--judge", "x", "--video_dir", "videos", "--model_name", "m", "--save_name", f"out{n}"]
    evaluation.main()
Path("totals.json").write_text(json.dumps(totals))
"""


@pytest.fixture(scope="module")
def script_run(tmp_path_factory):
    """200 runs of the unmodified script on random answers by a stand-in judge; returns the folder."""
    work = tmp_path_factory.mktemp("script")
    stand_ins(work / "stubs")
    make_benchmark(work / "bench", ITEMS)
    make_videos(work / "bench" / "videos", ITEMS)
    for seed in range(200):
        answers = random_answers(ITEMS, seed)
        (work / "bench" / f"answers{seed}.json").write_text(json.dumps({s: [one[q] for q in QUESTIONS] for s, one in answers.items()}))
    words = [sys.executable, "-c", SCRIPT, str(work / "stubs"), str(CHECKOUT), str(work / "bench"), "200"]
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    return work / "bench"


@with_checkout
def test_the_script_itself_agrees(script_run):
    totals = json.loads((script_run / "totals.json").read_text())
    ours = [official_total(random_answers(ITEMS, seed)) for seed in range(200)]
    np.testing.assert_allclose(ours, totals, rtol=0, atol=1e-12)
    if "VERIDREAM_WMB_STORE" in os.environ:
        STORED.write_text(json.dumps(totals) + "\n")


@with_checkout
def test_the_scripts_own_results_file_is_read_and_agrees_with_itself(script_run):
    judge = ReplayJudge(script_run / "out7.json", "m")
    assert judge.accs_differ == 0 and judge.raw == random_answers(ITEMS, 7)


@with_checkout
def test_the_official_words_are_the_bytes_the_script_asks(script_run):
    wording = official_wording(CHECKOUT)
    asked = [json.loads(x) for x in (script_run / "prompts.jsonl").read_text().splitlines()[:48]]
    by_stem = {i.stem: i for i in ITEMS}
    assert len(asked) == 48 and all(prompt == wording.prompt(QUESTIONS[k], by_stem[stem]) for stem, k, prompt in asked)
    assert official_wording(CHECKOUT, cot=True).sha != wording.sha


EVALUATION = '''
from enum import Enum
class EvaluationType(Enum):
    INSTRUCTION = "instruction"
    PHYSICAL_LAWS = "physical_laws"
    COMMON_SENSE = "common_sense"
def get_default_prompt_templates():
    """Words."""
    return {
        EvaluationType.INSTRUCTION.value: """
            Is '{instruction}' done?
            Think and say 'S: [s]'.
        """.strip(),
        EvaluationType.PHYSICAL_LAWS.value: """Any '{physical_laws}'? Think and say Y""".strip(),
        EvaluationType.COMMON_SENSE.value: "Any '{common_sense}'? Think and say Y",
    }
def get_default_question_pool():
    return {
        EvaluationType.INSTRUCTION.value: None,
        EvaluationType.PHYSICAL_LAWS.value: ["Law A.", "Law B.", "Law C.", "Law D.", "Law E."],
        EvaluationType.COMMON_SENSE.value: ["Sense F.", "Sense G."],
    }
class E:
    def evaluate_video(self, video, prompt, cot=True):
        if not cot:
            prompt = prompt.replace("Think and say", "Say")
        return prompt
raise SystemExit("this file is read, never run")
'''


def test_words_are_read_from_a_checkout_without_running_it(tmp_path):
    (tmp_path / "evaluation.py").write_text(EVALUATION)
    wording = official_wording(tmp_path)
    assert wording.prompt("penetration", ITEMS[0]) == "Any 'law d.'? Say Y"
    assert wording.prompt(INSTRUCTION, ITEMS[0]) == "Is 'Move thing 0 of 0' done?\n            Say 'S: [s]'."
    assert official_wording(tmp_path, cot=True).prompt("frame", ITEMS[0]) == "Any 'sense f.'? Think and say Y"


@pytest.mark.parametrize(
    "change", [("get_default_question_pool", "renamed"), ('"Law E."', '"Law E.", "F"'), ("replace", "strip"), ("EvaluationType(Enum)", "Other(Enum)")]
)
def test_another_version_of_the_script_is_refused(tmp_path, change):
    (tmp_path / "evaluation.py").write_text(EVALUATION.replace(*change))
    with pytest.raises(BenchmarkError, match="check out that commit"):
        official_wording(tmp_path)


def test_our_own_words_ask_every_question():
    assert set(OURS.texts) == set(QUESTIONS) == {q for group in GROUPS.values() for q in group}
    assert "Move thing 0 of 0" in OURS.prompt(INSTRUCTION, ITEMS[0]) and "Score:" in OURS.prompt(INSTRUCTION, ITEMS[0])
    with pytest.raises(BenchmarkError, match="is missing"):
        official_wording(Path("/nowhere"))
