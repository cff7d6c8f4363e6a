"""Greedy answers are those of a naive loop; when two of them count as the same."""

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis import forward
from analysis.answers import AnswerCache, answers
from analysis.answers_match import MATCHES, Match, answer_key, is_expected, normalised, same_answer
from analysis.model import LanguageModel
from analysis.results import Answer
from tests import plain, tiny

FAMILIES = list(tiny.CONFIGS)
Ids = tuple[int, ...]


@cache
def loaded(family: str = "llama", ends: tuple[int, ...] = ()) -> LanguageModel:
    """A tiny model whose answers end at any of `ends`."""
    lm = plain.loaded(family)
    return replace(lm, encoder=replace(lm.encoder, end_ids=frozenset(ends))) if ends else lm


def random_ids(length: int, seed: int) -> Ids:
    return tuple(np.random.default_rng(seed).integers(4, 350, length).tolist())


PROMPTS: tuple[Ids, ...] = (
    (9,),
    random_ids(5, 1),
    random_ids(23, 2),
    random_ids(60, 3),
    (*random_ids(30, 4), 6, 7),
)


def some_ends(family: str) -> tuple[int, ...]:
    """Ids that some of the answers reach after one, two, three … steps and others never do."""
    model = loaded(family).network.model
    return tuple(plain.greedy(model, prompt, n + 1, frozenset())[-1][0] for n, prompt in enumerate(PROMPTS[:4]))


def assert_greedy(lm: LanguageModel, prompts: Sequence[Ids], tokens: int, found: Sequence[Answer]) -> None:
    assert len(found) == len(prompts)
    for prompt, answer in zip(prompts, found, strict=True):
        want = plain.greedy(lm.network.model, prompt, tokens, lm.encoder.end_ids)
        assert answer.ids == tuple(index for index, _ in want)
        np.testing.assert_allclose(answer.log_probs, [value for _, value in want], atol=1e-4)
        assert answer.finished == (answer.ids[-1] in lm.encoder.end_ids)
        shown = answer.ids[:-1] if answer.finished else answer.ids
        assert answer.text == lm.encoder.decode(shown)
        assert answer.pieces == tuple(lm.encoder.piece(index) for index in answer.ids)


@pytest.mark.parametrize("family", FAMILIES)
def test_answers_are_those_of_a_naive_greedy_loop(family: str) -> None:
    lm = loaded(family)
    assert_greedy(lm, PROMPTS, 4, answers(lm, PROMPTS, 4))


@pytest.mark.parametrize("family", ["llama", "mistral", "gpt2", "opt"])
def test_rows_that_end_early_leave_the_others_as_they_are(family: str) -> None:
    lm = loaded(family, some_ends(family))
    found = answers(lm, PROMPTS, 8)
    assert_greedy(lm, PROMPTS, 8, found)
    assert len({len(answer.ids) for answer in found}) > 1
    assert found[0].ids == (some_ends(family)[0],)  # ends at once: the end token counts
    assert (found[0].text, found[0].finished) == ("", True)


@given(st.lists(st.sampled_from(PROMPTS), min_size=1, max_size=9), st.integers(1, 6))
@settings(max_examples=4)
def test_company_order_and_repetition_change_nothing(prompts: list[Ids], tokens: int) -> None:
    lm = loaded("mistral", some_ends("mistral"))
    assert_greedy(lm, prompts, tokens, answers(lm, prompts, tokens))


def test_a_shorter_answer_is_the_beginning_of_a_longer_one() -> None:
    lm = loaded()
    for short, long in zip(answers(lm, PROMPTS, 3), answers(lm, PROMPTS, 7), strict=True):
        assert long.ids[:3] == short.ids
        assert not short.finished


def test_a_model_without_a_usable_cache_answers_the_same() -> None:
    lm = loaded("gpt2", some_ends("gpt2"))
    without = replace(lm, can=replace(lm.can, no_cache="for this test"))
    assert_greedy(lm, PROMPTS[:5], 4, answers(without, PROMPTS[:5], 4))


def test_more_prompts_than_fit_into_one_batch_keep_their_order() -> None:
    lm = loaded()
    prompts = [random_ids(3 + n % 5, n) for n in range(20)]
    assert_greedy(lm, prompts, 2, answers(lm, prompts, 2))


def test_no_prompts_have_no_answers() -> None:
    assert answers(loaded(), [], 3) == []


@pytest.fixture
def passes(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """The shape [B, T] of every pass through a network, as they happen."""
    loaded()
    seen: list[tuple[int, int]] = []
    states = forward.states

    def counted(network: forward.Network, embeds: torch.Tensor, **kwargs: Any) -> Any:
        seen.append(tuple(embeds.shape[:2]))
        return states(network, embeds, **kwargs)

    monkeypatch.setattr(forward, "states", counted)
    return seen


def test_each_step_reads_one_token_of_the_answers_that_go_on(passes: list[tuple[int, int]]) -> None:
    lm = loaded()
    answers(lm, [random_ids(6, n) for n in range(3)], 4)
    assert passes[-4:] == [(3, 1)] * 4


def test_kept_answers_are_not_made_again(passes: list[tuple[int, int]]) -> None:
    lm, kept = loaded(), AnswerCache(100)
    first = answers(lm, PROMPTS[:3], 3, cache=kept)
    passes.clear()
    assert answers(lm, PROMPTS[:3], 3, cache=kept) == first
    assert passes == []
    assert answers(lm, PROMPTS[:4], 3, cache=kept)[:3] == first
    assert {rows for rows, _ in passes} == {1}
    passes.clear()
    answers(lm, PROMPTS[:1], 4, cache=kept)  # another length is another answer
    assert passes


def test_progress_is_reported_before_every_step_and_can_stop_the_run() -> None:
    lm = loaded()
    seen: list[float] = []
    answers(lm, PROMPTS, 6, report=seen.append)
    assert len(seen) >= 7
    assert seen == sorted(seen)
    assert all(0 <= share <= 1 for share in seen)

    class Stop(BaseException):
        pass

    for last in range(len(seen)):
        left = iter(range(last))

        def report(fraction: float, left: Any = left) -> None:
            if next(left, None) is None:
                raise Stop

        with pytest.raises(Stop):
            answers(lm, PROMPTS, 6, report=report)
        assert not lm.lock.held
    assert_greedy(lm, PROMPTS, 6, answers(lm, PROMPTS, 6))


# --- when answers are the same ----------------------------------------------------------------------


def said(text: str, *pieces: str) -> Answer:
    return Answer(text, (1,) * max(1, len(pieces)), pieces or (text,), (0.0,), False)


@pytest.mark.parametrize(
    ("a", "b", "same"),
    [
        ("Paris", " paris.\nIt is the capital", True),
        ("\n\n“Paris”", "Paris!", True),
        ("Paris", "Paris is", False),
        ("STRASSE", "straße", True),
        ("", "", True),
        ("", "Paris", False),
        ("?", "!", False),
        ("...", "", False),
        ("3", "3.", True),
        ("-3", "3", False),
    ],
)
def test_first_lines_are_compared_without_case_and_outer_punctuation(a: str, b: str, same: bool) -> None:
    assert same_answer(said(a), said(b)) == same_answer(said(b), said(a)) == same


@given(st.text(), st.sampled_from(MATCHES))
def test_an_answer_is_the_same_as_itself(text: str, match: Match) -> None:
    assert same_answer(said(text), said(text), match)
    assert answer_key(said(text), match) == answer_key(said(text), match)


@given(st.text())
def test_normalising_twice_is_normalising_once(text: str) -> None:
    assert normalised(normalised(text)) == normalised(text)


def test_a_missing_answer_is_like_none() -> None:
    assert not same_answer(None, said("a"))
    assert not same_answer(None, None)


def test_answers_differ_by_first_token_or_as_a_whole() -> None:
    a, b = said(" Paris is", " Paris", " is"), said("Paris was", "Paris", " was")
    assert same_answer(a, b, "first token")
    assert not same_answer(a, b, "whole text")
    assert same_answer(said(" x \n"), said("x"), "whole text")
    assert not same_answer(said("X"), said("x"), "whole text")


@pytest.mark.parametrize(
    ("answer", "expected", "found"),
    [
        ("The label is mostly-true.", "true", False),
        ("The label is true.", "true", True),
        ("The label is TRUE", " True", True),
        ("Parisian", "Paris", False),
        ("It is Paris, of course", "Paris", True),
        ("巴黎是法国的首都", "巴黎", True),
        ("答案是Paris吗", "Paris", True),
        ("a thing", "A", False),
        ("3.14", "3", False),
        ("3.14", "3.14", True),
        ("It is 3.", "3", True),
        ("1,000", "1", False),
        ("13", "3", False),
        ("-3", "3", False),
        ("A) Mars", "A", True),
        ("And", "A", False),
        ("?", "!", False),
        ("What?", "?", True),
        ("C++ it is", "C++", True),
        ("the U.S. economy", "U.S.", True),
        ("", "Paris", False),
        ("anything", "", False),
    ],
)
def test_an_expected_answer_is_found_as_a_word(answer: str, expected: str, found: bool) -> None:
    assert is_expected(said(answer), expected) == found


def test_the_expected_answer_by_the_other_matches() -> None:
    assert is_expected(said(" Paris.\nmore"), "paris", "first line")
    assert not is_expected(said("It is Paris"), "paris", "first line")
    assert is_expected(said(" Paris "), "Paris", "whole text")
    assert not is_expected(said(" paris"), "Paris", "whole text")
    assert is_expected(said(" Pa", " Pa", "ris"), "Paris", "first token")
    assert not is_expected(said(" ", " "), "Paris", "first token")
