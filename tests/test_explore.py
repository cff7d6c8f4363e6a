"""A set, analysed: targets, deltas, duplicates, rows that fail, candidates and answers."""

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis import forward
from analysis.encoding import encode, target_from_ids
from analysis.explore import (
    Caches,
    analyse,
    answers_of,
    candidate_scores,
    entropy,
    known_answers,
    rank,
    top_tokens,
)
from analysis.limits import MAX_PROMPT_CHARACTERS
from analysis.prompts import Message, Prompt, PromptSet, Variant
from analysis.results import Analysis, Note, PromptResult, Target, Tokens, Trace
from tests import plain


def analysed(asked: PromptSet, caches: Caches | None = None) -> Analysis:
    return analyse(plain.loaded(), asked, caches or Caches())


def errors(result: PromptResult) -> list[str]:
    return [note.text for note in result.notes if note.level == "error"]


def log_prob(result: PromptResult) -> float:
    assert result.trace is not None
    return float(plain.scores(plain.loaded().network.model, result.trace.tokens.ids, result.trace.target.ids).sum())


CAPITAL = PromptSet(
    "The capital of France is",
    (Variant("France: the capital is"), Variant("What is the capital of France?", kind="template", label="question")),
    target=" Paris",
)


def test_the_target_is_by_default_the_likeliest_token_after_the_reference() -> None:
    found = analysed(PromptSet("The capital of France is", CAPITAL.variants))
    trace = found.reference.trace
    assert trace is not None
    assert found.target is not None
    assert found.target.ids == (int(np.argmax(trace.next_log_probs)),)
    assert not found.target.chosen
    assert {result.trace.target.ids for result in found.prompts if result.trace} == {found.target.ids}
    assert rank(trace) == 1


def test_a_typed_target_is_tokenised_at_the_reference_and_scored_by_its_ids_everywhere() -> None:
    asked = PromptSet("The capital of France is", (Variant("The capital of France is P"),), target=" Paris.")
    found = analysed(asked)
    ids = [result.trace.target.ids for result in found.prompts if result.trace]
    assert ids[0] == ids[1]
    for result in found.prompts:
        assert result.trace is not None
        assert result.trace.log_prob == pytest.approx(log_prob(result), abs=1e-4)


def test_delta_is_the_change_of_log_prob_from_the_reference() -> None:
    found = analysed(CAPITAL)
    assert found.reference.delta == 0.0
    for result in found.prompts[1:]:
        assert result.delta == pytest.approx(log_prob(result) - log_prob(found.reference), abs=2e-4)


def test_labels_kinds_and_places_come_from_the_set() -> None:
    found = analysed(PromptSet("one", (Variant("two", enabled=False), Variant("three", label="mine", kind="typo"))))
    assert [(result.row.index, result.label, result.row.kind) for result in found.prompts] == [
        (0, "reference", "reference"),
        (2, "mine", "typo"),
    ]
    assert found.model == plain.loaded().card


def test_equal_prompts_are_named_and_differ_by_exactly_nothing() -> None:
    asked = PromptSet(
        "one two", (Variant("three"), Variant("one two"), Variant("three"), Variant("one  two")), target=" four"
    )
    found = analysed(asked)
    assert [result.duplicate_of for result in found.prompts] == [None, None, 0, 1, None]
    assert found.prompts[2].delta == 0.0
    assert found.prompts[3].delta == found.prompts[1].delta
    assert "same tokens as the reference: analysed once, Δ between them is exactly 0" in found.prompts[2].notes[0].text
    assert "same tokens as “rewording 1”" in found.prompts[3].notes[0].text


def test_the_same_prompt_with_another_target_is_no_duplicate() -> None:
    found = analysed(PromptSet("one two", (Variant("one two", target=" five"),), target=" four"))
    assert found.prompts[1].duplicate_of is None
    assert found.prompts[1].row.own_target


def test_a_row_with_a_target_of_its_own_is_compared_on_it() -> None:
    found = analysed(PromptSet("one two", (Variant("one two three", target=" five"),), target=" four"))
    own = found.prompts[1]
    assert own.trace is not None
    assert own.trace.target.text == " five"
    assert own.delta == pytest.approx(log_prob(own) - log_prob(found.reference), abs=2e-4)


def test_chat_rows_and_completion_rows_stand_side_by_side() -> None:
    asked = PromptSet(
        "Is it?",
        (Variant("Is it?", mode="chat"), Variant("Is it?", mode="chat", system="yes", prefill=" It")),
        turns=(Message("user", "Hi"), Message("assistant", "Hello")),
        target=" yes",
    )
    texts = [result.trace.tokens.text for result in analysed(asked).prompts if result.trace]
    assert texts[0] == "Is it?"
    assert "<|start|>user\nHi<|end|>" in texts[1]
    assert texts[2].startswith("<|start|>system\nyes<|end|>")
    assert texts[2].endswith("<|start|>assistant\n It")


# --- rows that fail ---------------------------------------------------------------------------------


def test_a_row_that_fails_is_a_sentence_and_the_others_keep_their_results() -> None:
    asked = PromptSet(
        "one two",
        (
            Variant(""),
            Variant(" \n"),
            Variant("one two " * 200),
            Variant("a\ud800"),
            Variant("three", target=" x" * 33, label="a, b"),
            Variant("x" * (MAX_PROMPT_CHARACTERS + 1), label="1,2"),
            Variant("four"),
        ),
        target=" five",
    )
    found = analysed(asked)
    count = len(encode(plain.loaded().encoder, Prompt("one two " * 200)))
    assert [errors(result) for result in found.prompts] == [
        [],
        ["rewording 1: the prompt is empty: type some text"],
        ["rewording 2: the prompt is only white space (2 characters): type some text"],
        [f"rewording 3 has {count} tokens; tiny reads at most 256"],
        ["rewording 4: the prompt has half a surrogate pair (U+D800) at character 2, which no text can hold"],
        ["a, b: the target has 66 tokens; at most 32 can be scored"],
        ["1,2 has 60 001 characters; at most 60 000 are analysed"],
        [],
    ]
    assert [result.trace is None for result in found.prompts] == [False, *[True] * 6, False]
    assert [result.delta is None for result in found.prompts] == [False, *[True] * 6, False]
    alone = analysed(PromptSet("one two", (Variant("four"),), target=" five"))
    assert found.prompts[7].delta == pytest.approx(alone.prompts[1].delta, abs=1e-5)


def test_where_the_reference_fails_the_others_say_why_they_wait() -> None:
    found = analysed(PromptSet("", (Variant("one"), Variant("two", target=" three"))))
    assert errors(found.reference) == ["reference: the prompt is empty: type some text"]
    assert errors(found.prompts[1]) == ["the reference could not be analysed, so there is no target"]
    assert found.target is None
    own = found.prompts[2]  # has a target of its own, and nothing to be compared with
    assert own.trace is not None
    assert own.delta is None


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("", "the target is empty: type an answer, or leave the model's own top next token"),
        (" x" * 33, "the target has 66 tokens; at most 32 can be scored"),
        ((9999,), "token id 9999 is not in the vocabulary of tiny (0 to 419)"),
    ],
)
def test_a_target_that_cannot_be_scored_is_said_at_every_row(target: str | tuple[int, ...], message: str) -> None:
    found = analysed(PromptSet("one", (Variant("two"),), target=target))
    assert [errors(result) for result in found.prompts] == [[message], [message]]


def test_a_prompt_may_fill_the_models_context_but_the_target_has_to_fit() -> None:
    text = "x" * 256
    assert len(encode(plain.loaded().encoder, Prompt(text))) == 256
    assert analysed(PromptSet(text)).reference.trace is not None
    longer = analysed(PromptSet(text, target="yy"))
    assert errors(longer.reference) == ["reference has 257 tokens; tiny reads at most 256"]


def test_one_prompt_alone_is_analysed_and_asks_for_a_paraphrase() -> None:
    found = analysed(PromptSet("one two"))
    assert found.reference.trace is not None
    assert Note("info", "add a paraphrase to see differences") in found.notes


def test_progress_rises_to_one_and_a_report_may_stop_it() -> None:
    caches, seen = Caches(), list[float]()
    analyse(plain.loaded(), CAPITAL, caches, report=seen.append)
    assert seen == sorted(seen)
    assert seen[-1] == 1.0

    class Stop(BaseException):
        pass

    def report(share: float) -> None:
        raise Stop

    with pytest.raises(Stop):
        analyse(plain.loaded(), CAPITAL, Caches(), report=report)


def test_a_set_that_is_known_takes_no_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    caches = Caches()
    first = analysed(CAPITAL, caches)
    monkeypatch.setattr(forward, "states", lambda *_, **__: pytest.fail("a pass"))
    again = analysed(CAPITAL, caches)
    assert [result.delta for result in again.prompts] == [result.delta for result in first.prompts]
    assert [result.notes for result in again.prompts] == [result.notes for result in first.prompts]


def test_without_attributions_all_else_is_there() -> None:
    found = analyse(plain.loaded(), CAPITAL, Caches(), attributions=False)
    for result in found.prompts:
        assert result.trace is not None
        assert result.trace.gradient is not None
        assert result.trace.saliency is None


# --- answers ----------------------------------------------------------------------------------------


def test_answers_stand_beside_their_rows_and_are_known_afterwards() -> None:
    asked = PromptSet("one", (Variant(""), Variant("two"), Variant("one")), target=" x", response_tokens=3)
    caches = Caches()
    found = analysed(asked, caches)
    assert known_answers(plain.loaded(), found, caches) is None
    made = answers_of(plain.loaded(), found, caches)
    assert [answer is None for answer in made] == [False, True, False, False]
    assert made[0] == made[3]
    for result, answer in zip(found.prompts, made, strict=True):
        if answer is not None:
            assert result.trace is not None
            want = plain.greedy(
                plain.loaded().network.model, result.trace.tokens.ids, 3, plain.loaded().encoder.end_ids
            )
            assert answer.ids == tuple(index for index, _ in want)
    assert known_answers(plain.loaded(), found, caches) == made


def test_an_answer_has_the_room_that_the_prompt_leaves() -> None:
    caches = Caches()
    found = analysed(PromptSet("x" * 256, (Variant("x" * 254), Variant("x"))), caches)
    made = answers_of(plain.loaded(), found, caches)
    assert made[0] is None
    assert [len(answer.ids) for answer in made[1:] if answer] == [2, 20]
    assert known_answers(plain.loaded(), found, caches) == made


# --- candidates -------------------------------------------------------------------------------------


def test_candidates_equal_plain_scores_whatever_their_length() -> None:
    asked = PromptSet(
        "one two", (Variant("three"), Variant(""), Variant("four", candidates=(" six",))),
        target=" five", candidates=(" five", " yes or no", "x"),
    )  # fmt: skip
    caches = Caches()
    found = analysed(asked, caches)
    scores = candidate_scores(plain.loaded(), found, caches)
    assert [score and score.texts for score in scores] == [asked.candidates, asked.candidates, None, (" six",)]
    for result, score in zip(found.prompts, scores, strict=True):
        if score is not None:
            assert result.trace is not None
            for text, values in zip(score.texts, score.log_probs, strict=True):
                base = found.reference if score.texts == asked.candidates else result
                assert base.trace is not None
                whole = encode(plain.loaded().encoder, Prompt(base.trace.tokens.text + text)).ids
                ids = whole[len(base.trace.tokens) :]
                want = plain.scores(plain.loaded().network.model, result.trace.tokens.ids, ids)
                np.testing.assert_allclose(values, want, atol=1e-4)
    assert scores[0] is not None
    np.testing.assert_allclose(scores[0].sums, [sum(row) for row in scores[0].log_probs])
    np.testing.assert_allclose(scores[0].means, [sum(row) / len(row) for row in scores[0].log_probs])


def test_a_candidate_that_is_the_target_has_its_log_prob() -> None:
    caches = Caches()
    found = analysed(PromptSet("one two", target=" five", candidates=(" five",)), caches)
    score = candidate_scores(plain.loaded(), found, caches)[0]
    assert score is not None
    assert found.reference.trace is not None
    assert float(score.sums[0]) == pytest.approx(found.reference.trace.log_prob, abs=1e-4)


def test_a_set_without_candidates_has_no_scores() -> None:
    found = analysed(CAPITAL)
    assert candidate_scores(plain.loaded(), found, Caches()) == (None, None, None)


def test_a_candidate_that_cannot_be_scored_is_said() -> None:
    caches = Caches()
    found = analysed(PromptSet("one two", target=" five", candidates=(" yes", " x" * 33)), caches)
    assert candidate_scores(plain.loaded(), found, caches) == (None,)
    assert any("the target has 66 tokens; at most 32 can be scored" in note.text for note in found.notes)


# --- readings of a trace ----------------------------------------------------------------------------


def trace_of(logits: Sequence[float], target: int = 0) -> Trace:
    values = np.array(logits, dtype=np.float32)
    logs = values - np.logaddexp.reduce(values)
    tokens = Tokens("x", (1,), ("x",), ((0, 1),), ("text",), (False,))
    nothing = np.zeros((1, 2, 1), np.float32)
    aim = Target("y", (target,), ("y",), True)
    return Trace(tokens, aim, logs[[target]], logs, nothing, None, None, None)


LOGITS = st.lists(st.floats(-50, 50, width=32), min_size=1, max_size=30)


@given(LOGITS, st.integers(1, 40))
def test_top_tokens_are_the_likeliest_in_falling_order(logits: list[float], count: int) -> None:
    trace = trace_of(logits)
    found = top_tokens(trace, count)
    assert [value for _, value in found] == sorted(trace.next_log_probs.tolist(), reverse=True)[:count]
    assert len({index for index, _ in found}) == min(count, len(logits))
    assert all(trace.next_log_probs[index] == np.float32(value) for index, value in found)


@given(LOGITS, st.data())
def test_rank_counts_the_likelier_tokens(logits: list[float], data: st.DataObject) -> None:
    target = data.draw(st.integers(0, len(logits) - 1))
    trace = trace_of(logits, target)
    assert rank(trace) == 1 + sum(float(value) > float(trace.next_log_probs[target]) for value in trace.next_log_probs)


@given(LOGITS)
def test_entropy_lies_between_certainty_and_even_odds(logits: list[float]) -> None:
    assert -1e-4 <= entropy(trace_of(logits)) <= np.log(len(logits)) + 1e-4


def test_entropy_of_known_distributions() -> None:
    assert entropy(trace_of([0.0] * 8)) == pytest.approx(np.log(8), abs=1e-6)
    assert entropy(trace_of([0.0, -np.inf])) == pytest.approx(0.0, abs=1e-6)
    assert entropy(trace_of([np.log(0.75), np.log(0.25)])) == pytest.approx(0.5623351, abs=1e-6)


def test_a_target_id_that_only_the_model_has_can_be_picked_from_the_list() -> None:
    lm = plain.loaded()
    index = 415
    assert not lm.encoder.knows(index)
    found = analysed(PromptSet("one", (Variant("two"),), target=(index,)))
    assert found.target is not None
    assert found.target.text == "[415]"
    assert target_from_ids(lm.encoder, (index,), chosen=True).pieces == ("[415]",)
    assert all(result.trace is not None for result in found.prompts)
    assert not any("splits into other tokens" in note.text for result in found.prompts for note in result.notes)
