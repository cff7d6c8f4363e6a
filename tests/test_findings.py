"""The sentence over a page states what the numbers say, in every situation."""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from analysis.findings import compared, explore, left_out, nats, number, quoted
from analysis.prompts import PromptSet, Variant
from analysis.results import Analysis, Answer, ModelCard, Note, PromptResult, Target, Tokens, Trace

CARD = ModelCard("tiny", "", "X", 1, 1, 1, 3, 100, "float32", "cpu", 1, 1e-6, True)
TARGET = Target(" Paris", (0,), (" Paris",), True)


def trace_of(log_prob: float, top: int) -> Trace:
    """A trace with log p(target) and the likeliest next token given by hand."""
    logs = np.full(3, -9.0, dtype=np.float32)
    logs[0] = log_prob
    logs[top] = max(log_prob + 0.1, -0.05) if top else log_prob
    tokens = Tokens("x", (1,), ("x",), ((0, 1),), ("text",), (False,))
    nothing = np.zeros((1, 2, 1), np.float32)
    return Trace(tokens, TARGET, np.array([log_prob], np.float32), logs, nothing, None, None, None)


def analysis_of(*log_probs: float | None, tops: Sequence[int] = (), **variants: dict[int, Variant]) -> Analysis:
    """A set whose rows have these log-probs; None for one that failed. `variants` replaces rows by place."""
    own = variants.get("rows", {})
    asked = PromptSet(
        "reference",
        tuple(own.get(place, Variant(f"text {place}")) for place in range(1, len(log_probs))),
        target=" Paris",
        expected="Paris",
    )
    results = []
    for place, (row, value) in enumerate(zip(asked.rows(), log_probs, strict=True)):
        trace = None if value is None else trace_of(value, tops[place] if tops else 0)
        base = log_probs[0]
        delta = None if value is None or base is None else value - base
        notes = (Note("error", "failed"),) if value is None else ()
        results.append(PromptResult(row, trace, delta, None, notes))
    return Analysis(asked, CARD, None if log_probs[0] is None else TARGET, tuple(results))


def answer(text: str) -> Answer:
    return Answer(text, (1,), (text,), (-0.1,), True)


def p(percent: float) -> float:
    return math.log(percent / 100)


def test_the_largest_move_and_the_changed_tokens_are_stated() -> None:
    found = explore(analysis_of(p(77), p(60), p(3.5), tops=[0, 0, 1]))
    assert found == (
        'Two rewordings move log p("␣Paris") by up to 3.1 nats (77 % → 3.5 %);'
        " one of them changes the likeliest next token."
    )


def test_written_answers_replace_the_first_tokens() -> None:
    analysis = analysis_of(p(77), p(60), p(3.5), tops=[0, 0, 1])
    same = explore(analysis, [answer("Paris"), answer("paris."), answer(" Paris")])
    assert same.endswith("; none changes the answer.")
    both = explore(analysis, [answer("Paris"), answer("Rome"), answer("The capital")])
    assert "; all of them change the answer." in both


def test_a_rise_is_stated_as_a_move_too() -> None:
    assert 'moves log p("␣Paris") by 3.1 nats (3.5 % → 77 %)' in explore(analysis_of(p(3.5), p(77)))


def test_one_rewording_is_spoken_of_in_the_singular() -> None:
    found = explore(analysis_of(p(77), p(3.5), tops=[0, 1]))
    assert found.startswith('One rewording moves log p("␣Paris") by 3.1 nats (77 % → 3.5 %); it changes the likeliest')
    assert "; it does not change the likeliest next token." in explore(analysis_of(p(77), p(70)))


def test_a_small_move_is_called_small_and_no_move_none() -> None:
    assert explore(analysis_of(p(77), p(75), p(76))).startswith(
        'Two rewordings hardly move log p("␣Paris"): by at most 0.03 nats (77 % → 75 %); none changes'
    )
    assert explore(analysis_of(p(77), p(77), p(77))).startswith(
        'Two rewordings leave log p("␣Paris") exactly where it is (77 %); none changes'
    )
    assert explore(analysis_of(p(77), p(77))).startswith("One rewording leaves")


def test_stable_is_not_good_where_the_target_is_unlikely_everywhere() -> None:
    found = explore(analysis_of(p(0.1), p(0.1), p(0.2)))
    assert "The target is unlikely after every one of them, so a small change is not a stable answer." in found
    assert "unlikely" not in explore(analysis_of(p(0.1), p(5)))


def test_answers_that_are_wrong_throughout_are_said_to_be() -> None:
    analysis = analysis_of(p(77), p(75))
    wrong = explore(analysis, [answer("Rome"), answer("Rome")])
    assert 'The answer is wrong after every one of them (expected: "Paris").' in wrong
    assert "wrong" not in explore(analysis, [answer("Rome"), answer("Paris")])
    assert "wrong" not in explore(analysis)


def test_a_reference_alone_asks_for_a_paraphrase() -> None:
    assert explore(analysis_of(p(77))) == (
        'After the reference, p("␣Paris") is 77 % (-0.26 nats). Add a paraphrase to see what the wording changes.'
    )


def test_a_reference_that_failed_leaves_nothing_to_compare() -> None:
    assert explore(analysis_of(None, p(5))) == (
        "The reference could not be analysed, so there is nothing to compare with yet."
    )


def test_what_is_left_out_is_counted_by_reason() -> None:
    rows = {
        2: Variant("not", kind="negative control"),
        3: Variant("own", target=" Rome"),
        4: Variant("suffix", kind="control"),
    }
    analysis = analysis_of(p(77), p(60), p(0.1), p(0.1), p(0.1), None, rows=rows)
    assert [result.row.index for result in compared(analysis)] == [1]
    assert left_out(analysis) == ["1 on their own target", "2 controls", "1 could not be analysed"]
    found = explore(analysis)
    assert found.startswith('One rewording moves log p("␣Paris") by 0.25 nats')
    assert found.endswith("Left out: 1 on their own target, 2 controls, 1 could not be analysed.")


def test_controls_alone_are_no_rewordings() -> None:
    found = explore(analysis_of(p(77), p(1), rows={1: Variant("not", kind="control")}))
    assert found == 'After the reference, p("␣Paris") is 77 % (-0.26 nats). Left out: 1 controls.'


def test_a_missing_answer_is_not_another_answer() -> None:
    """A prompt that fills the model's context has no answer."""
    analysis = analysis_of(p(77), p(60), p(50), tops=[0, 0, 1])
    for answers in ([None, answer("a"), answer("a")], [answer("a"), None, answer("a")], [None, None, None]):
        assert "one of them changes the likeliest next token" in explore(analysis, answers)


def test_the_finding_is_about_rows_that_are_switched_on() -> None:
    analysis = analysis_of(p(77), p(60))
    assert "Two" not in explore(replace(analysis, prompts=analysis.prompts[:2]))


def test_numbers_nats_and_quotes() -> None:
    assert [number(count) for count in (0, 1, 12, 13)] == ["no", "one", "twelve", "13"]
    assert [nats(value) for value in (3.14159, 0.0312, 0.00123)] == ["3.1 nats", "0.03 nats", "0.0012 nats"]
    assert quoted(" a\nb\t") == '"␣a⏎b⇥"'
    assert len(quoted("x" * 100)) <= 42
    assert quoted("**b** $x$ <b>") == '"**b** $x$ <b>"'
