"""Sampled answers have the model's own distribution, and do not depend on what is sampled beside them."""

import math
from collections import Counter
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

from analysis import forward
from analysis.answers import answers
from analysis.model import LanguageModel
from analysis.results import Answer
from analysis.sampling import SamplingError, sample, share_right
from tests import plain

Ids = tuple[int, ...]


def random_ids(length: int, seed: int) -> Ids:
    return tuple(np.random.default_rng(seed).integers(4, 350, length).tolist())


PROMPTS: tuple[Ids, ...] = ((9,), random_ids(5, 1), random_ids(23, 2), random_ids(60, 3))


@cache
def loaded(family: str = "llama", ends: tuple[int, ...] = ()) -> LanguageModel:
    """A tiny model whose answers end at any of `ends`."""
    lm = plain.loaded(family)
    return replace(lm, encoder=replace(lm.encoder, end_ids=frozenset(ends))) if ends else lm


def distribution(lm: LanguageModel, ids: Ids, temperature: float) -> np.ndarray:
    """softmax(logits / T) of the next token [V] by a whole pass of transformers' own model."""
    with torch.no_grad():
        logits = lm.network.model(input_ids=torch.tensor([ids]), use_cache=False).logits[0, -1]
    return torch.softmax(logits.double() / temperature, dim=-1).numpy()


def p_value(drawn: list[int], wanted: np.ndarray) -> float:
    """χ² of draws against probabilities; what is expected fewer than five times is one class."""
    counts, expected = np.bincount(drawn, minlength=wanted.size), wanted * len(drawn)
    rare = expected < 5
    observed = np.append(counts[~rare], counts[rare].sum())
    return float(chisquare(observed, np.append(expected[~rare], expected[rare].sum())).pvalue)


@pytest.mark.parametrize("temperature", [0.3, 0.7, 1.5])
def test_first_tokens_come_as_often_as_the_softmax_at_the_temperature_says(temperature: float) -> None:
    lm, prompt = loaded(), PROMPTS[2]
    drawn = [answer.ids[0] for answer in sample(lm, [prompt], temperature=temperature, count=2000, tokens=1, seed=5)[0]]
    assert len(set(drawn)) > 3
    assert p_value(drawn, distribution(lm, prompt, temperature)) > 0.001
    # The test can tell: another temperature is found out.
    assert p_value(drawn, distribution(lm, prompt, temperature * 2)) < 0.001


def test_second_tokens_come_as_often_as_the_softmax_after_the_first_says() -> None:
    lm, prompt = loaded(), PROMPTS[2]
    drawn = [answer.ids for answer in sample(lm, [prompt], temperature=0.2, count=2000, tokens=2, seed=6)[0]]
    first, count = Counter(ids[0] for ids in drawn).most_common(1)[0]
    assert count > 300
    seconds = [ids[1] for ids in drawn if ids[0] == first]
    assert p_value(seconds, distribution(lm, (*prompt, first), 0.2)) > 0.001


def test_prompts_and_copies_are_drawn_independently_of_each_other() -> None:
    lm = loaded()
    (drawn,) = sample(lm, [PROMPTS[2]], temperature=3.0, count=2000, tokens=1, seed=7)
    halves = [answer.ids[0] for answer in drawn]
    # If neighbours were independent, they are equal as often as Σ p² says.
    equal = np.mean([a == b for a, b in zip(halves[::2], halves[1::2], strict=True)])
    wanted = (distribution(lm, PROMPTS[2], 3.0) ** 2).sum()
    assert abs(equal - wanted) < 4 * math.sqrt(wanted * (1 - wanted) / 1000)


@given(st.lists(st.sampled_from(PROMPTS), min_size=1, max_size=6), st.integers(1, 5), st.integers(1, 5))
@settings(max_examples=6)
def test_company_order_count_and_length_change_no_sample(prompts: list[Ids], count: int, tokens: int) -> None:
    lm = loaded("mistral", tuple(range(60)))
    alone = {
        prompt: sample(lm, [prompt], temperature=1.3, count=5, tokens=5, seed=1)[0] for prompt in dict.fromkeys(prompts)
    }
    found = sample(lm, prompts, temperature=1.3, count=count, tokens=tokens, seed=1)
    for prompt, samples in zip(prompts, found, strict=True):
        assert [answer.ids for answer in samples] == [answer.ids[:tokens] for answer in alone[prompt][:count]]


def test_the_seed_decides() -> None:
    lm = loaded()
    runs = [sample(lm, PROMPTS, temperature=2.0, count=4, tokens=4, seed=seed) for seed in (1, 1, 2)]
    assert runs[0] == runs[1] != runs[2]
    assert len({answer.ids for samples in runs[0] for answer in samples}) == 4 * len(PROMPTS)


@pytest.mark.parametrize("family", ["llama", "gemma3", "gpt2", "opt"])
def test_log_probs_are_the_models_own_at_temperature_one(family: str) -> None:
    lm = loaded(family, tuple(range(60)))
    found = sample(lm, PROMPTS, temperature=2.0, count=3, tokens=5, seed=3)
    for prompt, samples in zip(PROMPTS, found, strict=True):
        for answer in samples:
            np.testing.assert_allclose(
                answer.log_probs, plain.scores(lm.network.model, prompt, answer.ids), atol=1e-4, rtol=1e-5
            )
            assert answer.finished == (answer.ids[-1] in lm.encoder.end_ids)
            assert not any(index in lm.encoder.end_ids for index in answer.ids[:-1])
            assert answer.text == lm.encoder.decode(answer.ids[:-1] if answer.finished else answer.ids)
    assert len({len(answer.ids) for samples in found for answer in samples}) > 1


def test_a_model_without_a_usable_cache_draws_the_same() -> None:
    lm = loaded("gpt2", tuple(range(60)))
    without = replace(lm, can=replace(lm.can, no_cache="for this test"))
    settings = {"temperature": 1.0, "count": 3, "tokens": 4, "seed": 2}
    drawn = [[[a.ids for a in row] for row in sample(model, PROMPTS[:3], **settings)] for model in (lm, without)]
    assert drawn[0] == drawn[1]


def test_close_to_temperature_zero_samples_are_the_greedy_answer() -> None:
    lm = loaded()
    for greedy, samples in zip(
        answers(lm, PROMPTS, 4), sample(lm, PROMPTS, temperature=1e-4, count=2, tokens=4, seed=9), strict=True
    ):
        assert [answer.ids for answer in samples] == [greedy.ids] * 2


@pytest.mark.parametrize("temperature", [0.0, -1.0, math.nan, math.inf])
def test_a_temperature_that_is_not_above_zero_is_refused(temperature: float) -> None:
    with pytest.raises(SamplingError, match="a temperature above 0"):
        sample(loaded(), PROMPTS, temperature=temperature, count=1, tokens=1, seed=0)


def test_a_prompt_is_read_once_for_all_its_samples(monkeypatch: pytest.MonkeyPatch) -> None:
    lm, seen, states = loaded(), [], forward.states

    def counted(network: forward.Network, embeds: torch.Tensor, **kwargs: Any) -> Any:
        seen.append(tuple(embeds.shape[:2]))
        return states(network, embeds, **kwargs)

    monkeypatch.setattr(forward, "states", counted)
    sample(lm, [PROMPTS[2]], temperature=1.0, count=40, tokens=3, seed=0)
    assert seen == [(1, 22), (1, 1), (32, 1), (32, 1), (8, 1), (8, 1)]


def test_progress_is_reported_before_every_step_and_can_stop_the_run() -> None:
    lm, settings = loaded(), {"temperature": 1.0, "count": 20, "tokens": 3, "seed": 4}
    seen: list[float] = []
    whole = sample(lm, PROMPTS, **settings, report=seen.append)
    assert len(seen) >= 4
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
            sample(lm, PROMPTS, **settings, report=report)
        assert not lm.lock.held
    assert sample(lm, PROMPTS, **settings) == whole


# --- how often they are right -----------------------------------------------------------------------


def said(text: str) -> Answer:
    return Answer(text, (1,), (text,), (0.0,), False)


def test_the_share_of_right_samples_has_wilsons_interval() -> None:
    samples = [[said(" Paris, of course")] * 7 + [said(" Rome")] * 3, [said("Paris")] * 4, [said("x")] * 4]
    shares = share_right(samples, ["Paris"] * 3)
    z = 1.959963984540054
    for share, k, n in zip(shares, (7, 4, 0), (10, 4, 4), strict=True):
        middle = (k + z * z / 2) / (n + z * z)
        half = z / (n + z * z) * math.sqrt(k * (n - k) / n + z * z / 4)
        assert share is not None
        assert (share.right, share.count, share.share) == (k, n, k / n)
        assert (share.low, share.high) == pytest.approx((middle - half, middle + half), abs=1e-12)


def test_each_prompt_has_its_own_expected_answer_or_none() -> None:
    one, other, none = share_right([[said("A")], [said("B")], [said("A")]], ["A", "A", None])
    assert (one and one.right, other and other.right, none) == (1, 0, None)


def test_the_match_is_the_chosen_one() -> None:
    samples = [[said("It is Paris")]]
    assert [share_right(samples, ["Paris"], match)[0].right for match in ("contains", "first line")] == [1, 0]  # type: ignore[union-attr]
