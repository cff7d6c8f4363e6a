"""The sentence over the Sensitivity page says what is there, and does not praise what is wrong."""

import numpy as np
import pytest

from analysis.prompts import PromptSet, Variant
from analysis.results import Answer
from analysis.sampling import Share
from analysis.sensitivity import ResponseScores
from analysis.sensitivity_findings import finding, sampled
from tests.test_sensitivity import analysis_of, answer, paraphrases


def said(*texts: str, match="first line", posix=None, probabilities=None, **settings) -> str:
    prompts = paraphrases(*(f"wording {k}" for k in range(len(texts))), **settings)
    analysis = analysis_of(prompts, *(probabilities or [0.5] * len(texts)))
    scored = (
        None
        if posix is None
        else ResponseScores((0, 1), (1, 1), np.array([[-1.0, -1.0 - posix], [-1.0 - posix, -1.0]]))
    )
    return finding(analysis, [answer(text) for text in texts], scored, match)


def test_who_says_what_and_how_far_it_moves():
    texts = ("Paris", "Paris.", "Rome", "paris", "Lyon", "Paris", "Rome")
    found = said(*texts, posix=0.834, expected="Paris", probabilities=(0.5, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7))
    assert found == (
        '4 of 7 wordings answer "Paris", the other 3 give 2 other answers; 4 of 7 are right; POSIX 0.83 nats per token;'
        ' log p("y") ranges over 1.3 nats among 7 wordings (20 % to 70 %).'
    )


@pytest.mark.parametrize(
    ("texts", "beginning"),
    [
        (("Paris",) * 3, 'All 3 wordings answer "Paris"; all are right;'),
        (("Rome",) * 3, 'All 3 wordings answer "Rome"; stable, but wrong (expected: "Paris");'),
        (("Rome", "Rome", "Lyon"), '2 of 3 wordings answer "Rome", the other answers "Lyon"; none is right (expected: "Paris");'),
        (("Rome", "Lyon", "Nice"), "No two of 3 wordings answer alike; none is right"),
        (("Paris", "Rome", "Rome", "Paris"), '2 of 4 wordings answer "Paris", the other 2 answer "Rome"; 2 of 4 are right;'),
        (("Paris", "Lyon", "Lyon"), '2 of 3 wordings answer "Lyon", the other answers "Paris"; 1 of 3 is right;'),
    ],
)  # fmt: skip
def test_agreement_and_being_right_are_told_apart(texts, beginning):
    assert said(*texts, expected="Paris").startswith(beginning)


def test_by_contains_it_is_what_answers_hold():
    assert said("It is Paris", "Paris", "Rome", match="contains", expected="Paris").startswith(
        '2 of 3 answers hold "Paris", 1 does not;'
    )
    assert said("Rome", "Lyon", match="contains", expected="Paris").startswith('None of the 2 answers hold "Paris";')


def test_answers_that_end_at_once_are_said_to():
    ended = Answer("", (2,), ("<|im_end|>",), (-0.5,), True)
    given = analysis_of(paraphrases("a", "b", "c"), 0.5, 0.5, 0.5)
    assert finding(given, [ended, ended, answer("x")]).startswith('2 of 3 wordings end at once, the other answers "x";')
    assert finding(given, [answer("x"), answer("x"), ended]).startswith(
        '2 of 3 wordings answer "x", the other ends at once;'
    )


def test_before_the_answers_are_there_the_targets_range_is():
    found = finding(analysis_of(paraphrases("a", "b"), 0.5, 0.25))
    assert found == 'Log p("y") ranges over 0.69 nats among 2 wordings (25 % to 50 %). The answers are not there yet.'


def test_one_wording_has_no_sensitivity():
    alone = analysis_of(paraphrases("a", expected="Paris"), 0.5)
    assert finding(alone) == "One wording has no sensitivity: add a rewording to compare it with."
    assert finding(alone, [answer("Rome")]).endswith('It is answered "Rome". It is wrong.')


def test_equal_probabilities_are_said_to_be_equal():
    assert 'log p("y") is the same after all 3 (50 %).' in said("x", "x", "x")


def test_a_reference_that_failed():
    assert finding(analysis_of(paraphrases("a", "b"), None, 0.5)).startswith("The reference could not be analysed")


def test_controls_stand_apart():
    prompts = PromptSet("a", (Variant("b"), Variant("c", kind="negative control"), Variant("d", kind="control")))
    given = analysis_of(prompts, 0.5, 0.5, 0.01, 0.01)
    found = finding(given, [answer(text) for text in ("x", "x", "y", "x")])
    assert found.startswith('All 2 wordings answer "x";')
    assert found.endswith(" Left out: 2 controls. 1 of 2 controls changes the answer.")


def test_texts_stay_in_one_line_and_short():
    found = said("<b>\n" + "x" * 300, "a\u200bb $x$", "a\u200bb $x$")
    assert "\n" not in found
    assert "⟨U+200B⟩" in found
    assert len(found) < 250


def test_samples_say_between_which_wordings_they_differ_and_whether_that_is_chance():
    given = analysis_of(paraphrases("a", "b", "c"), 0.5, 0.5, 0.5)
    apart = [Share(9, 10, 0.6, 0.98), None, Share(1, 10, 0.02, 0.4)]
    assert sampled(apart, given, 0.7) == (
        'At temperature 0.7, 90 % of the samples are right after "reference" and 10 % after "rewording 2";'
        " their 95 % intervals do not overlap."
    )
    assert "overlap, so this may be chance" in sampled(
        [Share(6, 10, 0.3, 0.8), Share(4, 10, 0.2, 0.7), None], given, 1.0
    )
    assert "after every one of 2 wordings" in sampled([Share(10, 10, 0.7, 1), Share(10, 10, 0.7, 1), None], given, 1.0)
    assert "(3 of 10)" in sampled([Share(3, 10, 0.1, 0.6), None, None], given, 1.0)
    assert sampled([None] * 3, given, 1.0).startswith("No wording says")
