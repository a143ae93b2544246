"""Readings of raw answers: the published script's, bug for bug, and the strict one, which reads none of them wrongly."""

import math

import pytest

from helpers.wmb import DEFECTS
from veridream.wmb.parse import official, strict
from veridream.wmb.questions import INSTRUCTION

WORDS = [  # asked whether something is wrong: Yes scores 0, No scores 1, None says neither
    ("Yes", 0),
    ("No", 1),
    ("yes.", 0),
    ("NO!", 1),
    ("**Yes**", 0),
    ("Answer: No", 1),
    ("Answer: **No**.", 1),
    ("The answer is yes", 0),
    ("Yes, there is no doubt.", 0),
    ("No doubt about it: yes", 0),
    ("No violations are visible", 1),
    ("There is no flicker, nothing jumps. Answer: No", 1),
    ("Nothing moves by itself, no force is missing. Conclusion: No.", 1),
    ("Objects are not known to move. Yes.", 0),
    ('Answer with "Yes" or "No". Yes', 0),
    ("Yes or no? No", 1),
    ("Yes and no", None),
    ("No, wait, yes it flickers", None),
    ("Yes. No further comment.", 0),
    ("It is a no-go area; Yes", 0),
    ("Nope", None),
    ("Yeah", None),
    ("I know nothing", None),
    ("unknown", None),
    ("The ball falls normally.", None),
    ("Let me think. The cup moves. Nobody touches it. So yes", 0),
    ("Let me think. The cup is pushed. So the answer is no", 1),
    ("No because the hand pushes it", 1),
    ("Yes\nNo other problem", 0),
]
SCORES = [
    ("Score: 0", 0),
    ("Score: 1", 1),
    ("score: 2.", 2),
    ("Score:3", 3),
    ("2", 2),
    ("3.", 3),
    ("Score: 2.0", 2),
    ("Score: 2 out of 3", 2),
    ("Score: 2 out of 5", None),
    ("Score: 2/5", None),
    ("Score: 2-3", None),
    ("Score: 2 or 3", None),
    ("Score: 2.5", None),
    ("Score: 4", None),
    ("Score: three", None),
    ("**Score**: 3", 3),
    ("Score: 2. A score of 3 would need the cup to be lifted.", 2),
    ("It is begun, which is a score of 2.", 2),
    ("In frame 3 the arm stops: it fails. Score: 1", 1),
    ("The video shows 3 cups", None),
    ("", None),
    ("Score:", None),
]


@pytest.mark.parametrize(("text", "says"), WORDS)
def test_yes_and_no_are_read_where_they_answer(text, says):
    assert strict("gravity", text) == says


@pytest.mark.parametrize(("text", "says"), SCORES)
def test_a_level_is_read_where_it_is_set(text, says):
    assert strict(INSTRUCTION, text) == says


@pytest.mark.parametrize(("question", "text", "script", "says"), DEFECTS)
def test_the_scripts_misreadings_are_kept_in_one_reading_and_in_one_only(question, text, script, says):
    got = official(question, text)
    assert got == script or (math.isnan(got) and math.isnan(script))
    assert strict(question, text) == says


def test_at_least_forty_texts_are_read():
    assert len(WORDS) + len(SCORES) + len(DEFECTS) >= 60
