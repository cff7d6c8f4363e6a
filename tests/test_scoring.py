"""Log-probs of continuations by shared beginnings are those of whole passes."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis import forward, scoring
from analysis.model import LanguageModel
from analysis.scoring import ScoreCache, endings, score
from tests import plain, tiny

FAMILIES = list(tiny.CONFIGS)
Row = tuple[tuple[int, ...], tuple[int, ...]]
IDS = st.integers(4, 350)


def random_ids(length: int, seed: int) -> tuple[int, ...]:
    return tuple(np.random.default_rng(seed).integers(4, 350, length).tolist())


def leave_one_out(ids: Sequence[int], continuation: tuple[int, ...]) -> list[Row]:
    rows = [tuple(ids), *((*ids[:t], *ids[t + 1 :]) for t in range(len(ids)))]
    rows += [(*ids[:t], 9, *ids[t + 1 :]) for t in range(len(ids))]
    return [(row, continuation) for row in rows]


def rows_of_every_kind() -> list[Row]:
    stem = random_ids(25, 1)
    options = [(stem, option) for option in ((30,), (31,), (30, 31, 32), (30, 31), random_ids(6, 2))]
    others = [((9,), (30,)), ((9,), (30, 31)), (random_ids(60, 3), (30,)), (stem[:10], (30,)), ((*stem, 5), (30,))]
    return [*leave_one_out(random_ids(8, 4), (30, 31)), *options, *others]


def assert_plain(lm: LanguageModel, rows: Sequence[Row], found: Sequence[np.ndarray]) -> None:
    assert len(found) == len(rows)
    for row, values in zip(rows, found, strict=True):
        assert values.dtype == np.float32
        np.testing.assert_allclose(values, plain.scores(lm.network.model, *row), atol=1e-4, rtol=0)


@pytest.fixture
def passes(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """The shape [B, T] of every pass through a network, as they happen."""
    plain.loaded()
    seen: list[tuple[int, int]] = []
    states = forward.states

    def counted(network: forward.Network, embeds: torch.Tensor, **kwargs: Any) -> Any:
        seen.append(tuple(embeds.shape[:2]))
        return states(network, embeds, **kwargs)

    monkeypatch.setattr(forward, "states", counted)
    return seen


@pytest.mark.parametrize("family", FAMILIES)
def test_scores_equal_plain_passes(family: str) -> None:
    lm, rows = plain.loaded(family), rows_of_every_kind()
    assert_plain(lm, rows, score(lm, rows))


@pytest.mark.parametrize("family", ["llama", "gpt2", "gemma3"])
def test_the_fast_way_equals_the_slow_way(family: str) -> None:
    lm, rows = plain.loaded(family), rows_of_every_kind()
    for fast, slow in zip(score(lm, rows), score(lm, rows, fast=False), strict=True):
        np.testing.assert_allclose(fast, slow, atol=1e-4, rtol=0)


@pytest.mark.parametrize("family", ["llama", "mistral", "gpt2"])
def test_candidates_after_one_prompt_equal_plain_passes(family: str) -> None:
    """They share all of their context, of which the last token has to be run with each of them."""
    lm, stem = plain.loaded(family), random_ids(25, 1)
    rows = [(stem, candidate) for candidate in ((30,), (31,), (30, 31, 32), (30, 31), (32, 9))]
    assert_plain(lm, rows, score(lm, rows))
    assert_plain(lm, rows[:2], score(lm, rows[:2]))


@given(
    st.lists(
        st.tuples(st.lists(IDS, min_size=1, max_size=12).map(tuple), st.lists(IDS, min_size=1, max_size=4).map(tuple)),
        min_size=1,
        max_size=12,
    ),
    st.lists(IDS, max_size=15).map(tuple),
)
@settings(max_examples=15)
def test_any_rows_in_any_order_equal_plain_passes(rows: list[Row], stem: tuple[int, ...]) -> None:
    lm = plain.loaded("mistral")
    rows = [((*stem, *context), continuation) for context, continuation in rows]
    assert_plain(lm, rows, score(lm, rows))


def test_rows_that_share_a_beginning_run_it_once(passes: list[tuple[int, int]]) -> None:
    stem = random_ids(40, 1)
    score(plain.loaded(), [((*stem, n), (30, 31)) for n in range(20)])
    assert sum(rows * width for rows, width in passes) <= 40 + 20 * 2


def test_leaving_tokens_out_costs_less_than_half_of_whole_passes(passes: list[tuple[int, int]]) -> None:
    rows = leave_one_out(random_ids(60, 1), (30,))
    score(plain.loaded(), rows)
    fast = sum(count * width for count, width in passes)
    passes.clear()
    score(plain.loaded(), rows, fast=False)
    assert fast < 0.7 * sum(count * width for count, width in passes)


def test_a_long_beginning_is_run_once_though_its_copies_do_not_fit(
    monkeypatch: pytest.MonkeyPatch, passes: list[tuple[int, int]]
) -> None:
    lm, stem = plain.loaded(), random_ids(50, 1)
    monkeypatch.setattr(scoring, "CACHE_BYTES", 4 * 60 * lm.network.cache_token_bytes)
    rows = [((*stem, n), (30, 31)) for n in range(4, 14)]
    assert_plain(lm, rows, score(lm, rows))
    assert passes[0] == (1, 50)
    assert [count for count, _ in passes[1:]] == [4, 4, 2]


def test_equal_rows_are_run_once_and_keep_their_places(passes: list[tuple[int, int]]) -> None:
    row, other = (random_ids(6, 1), (30,)), (random_ids(3, 2), (31, 32))
    found = score(plain.loaded(), [row, other, row, row])
    assert sum(count for count, _ in passes) == 2
    assert_plain(plain.loaded(), [row, other, row, row], found)


def test_what_is_in_the_cache_is_not_run_again(passes: list[tuple[int, int]]) -> None:
    kept = ScoreCache(100)
    rows = [(random_ids(6, n), (30, 31)) for n in range(4)]
    first = score(plain.loaded(), rows[:3], cache=kept)
    passes.clear()
    again = score(plain.loaded(), [rows[3], *rows[:3]], cache=kept)
    assert sum(count for count, _ in passes) == 1
    assert all(np.array_equal(a, b) for a, b in zip(first, again[1:], strict=True))
    assert len(kept) == 4


def test_a_kept_score_owns_its_numbers() -> None:
    kept = ScoreCache(100)
    row = (random_ids(6, 1), (30, 31))
    score(plain.loaded(), [row, (random_ids(6, 2), (30,))], cache=kept)
    values = kept.get(row)
    assert values is not None
    assert values.base is None


def test_progress_rises_to_one_and_a_report_that_raises_stops_the_run() -> None:
    lm, rows = plain.loaded(), [(random_ids(20 + n, n), (30,)) for n in range(4)]
    seen: list[float] = []
    score(lm, rows, seen.append)
    assert seen == sorted(seen)
    assert seen[-1] == 1.0

    class Stop(BaseException):
        pass

    def report(fraction: float) -> None:
        raise Stop

    with pytest.raises(Stop):
        score(lm, rows, report)
    assert not lm.lock.held


def test_nothing_to_score_is_no_pass(passes: list[tuple[int, int]]) -> None:
    assert score(plain.loaded(), []) == []
    assert passes == []


@pytest.mark.parametrize("row", [((), (30,)), ((30,), ())])
def test_a_row_without_tokens_is_refused(row: Row) -> None:
    with pytest.raises(ValueError, match="at least one token each"):
        score(plain.loaded(), [row])


def test_a_model_without_a_usable_cache_scores_the_same(passes: list[tuple[int, int]]) -> None:
    lm = plain.loaded("gpt2")
    without = replace(lm, can=replace(lm.can, no_cache="for this test"))
    assert_plain(lm, rows_of_every_kind(), score(without, rows_of_every_kind()))


@pytest.mark.parametrize("family", FAMILIES)
def test_endings_equal_plain_passes(family: str) -> None:
    lm, rows = plain.loaded(family), rows_of_every_kind()
    rows += rows[:2]
    found = dict(endings(lm, rows))
    assert sorted(found) == list(range(len(rows)))
    assert_plain(lm, rows, [found[place].log_probs for place in range(len(rows))])
    for place, (prompt, _) in enumerate(rows):
        with torch.no_grad():
            out = lm.network.model(input_ids=torch.tensor([prompt]), output_hidden_states=True, use_cache=False)
        expected = torch.log_softmax(out.logits[0, -1].float(), dim=-1).numpy()
        np.testing.assert_allclose(found[place].next_log_probs, expected, atol=1e-4, rtol=0)
        np.testing.assert_allclose(found[place].state, out.hidden_states[-1][0, -1].numpy(), atol=1e-4, rtol=1e-4)


def test_endings_run_equal_rows_once(passes: list[tuple[int, int]]) -> None:
    row = (random_ids(6, 1), (30,))
    assert [place for place, _ in endings(plain.loaded(), [row, row, row])] == [0, 1, 2]
    assert passes == [(1, 6)]


def test_endings_stop_when_the_report_raises(passes: list[tuple[int, int]]) -> None:
    def stop(fraction: float) -> None:
        raise InterruptedError

    with pytest.raises(InterruptedError):
        list(endings(plain.loaded(), [((5, 6), (7,))], stop))
    assert passes == []
