"""Which edit did it: edits put together are the variant, and their values are Δ."""

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from analysis import edits, explore
from analysis.edits import attribute_edits, merged, text_edits, with_edits
from analysis.edits_results import EditAttribution, EditError, token_scores
from analysis.model import LanguageModel
from analysis.prompts import PromptSet, Variant
from analysis.results import Analysis, Target
from analysis.scoring import ScoreCache
from tests import handmade, plain

TEXT = st.text(st.sampled_from("ab c.\né👩‍👧"), max_size=40)


def analysed(lm: LanguageModel, reference: str, *variants: str | Variant, **settings: Any) -> Analysis:
    made = tuple(Variant(one) if isinstance(one, str) else one for one in variants)
    found = explore.analyse(lm, PromptSet(reference, made, **settings), explore.Caches(), attributions=False)
    assert all(result.trace for result in found.prompts)
    return found


def attributed(lm: LanguageModel, reference: str, variant: str, target: str, **settings: Any) -> EditAttribution:
    options = {name: settings.pop(name) for name in ("pairs", "seed", "exact", "cache") if name in settings}
    found = analysed(lm, reference, variant, target=target, **settings)
    return attribute_edits(lm, *found.prompts, **options)


def evidence(amounts: Mapping[str, float]) -> LanguageModel:
    return handmade.evidence_model(amounts, " yes")


# --- edits of texts


@given(TEXT, TEXT)
def test_all_edits_make_the_variant_and_none_the_reference(a: str, b: str) -> None:
    hunks = text_edits(a, b)
    assert with_edits(a, hunks, 0) == a
    assert with_edits(a, hunks, (1 << len(hunks)) - 1) == b
    assert all(a[h.a_start : h.a_end] == h.before and b[h.b_start : h.b_end] == h.after for h in hunks)
    assert all(one.a_end < other.a_start for one, other in pairwise(hunks))
    assert bool(hunks) == (a != b)


@given(TEXT, TEXT, st.integers(1, 4))
def test_merged_edits_still_make_the_variant(a: str, b: str, most: int) -> None:
    hunks = merged(text_edits(a, b), a, b, most)
    assert len(hunks) <= most
    assert with_edits(a, hunks, 0) == a
    assert with_edits(a, hunks, (1 << len(hunks)) - 1) == b


def test_edits_are_whole_words() -> None:
    found = [
        (h.before, h.after) for h in text_edits("The captal of France, it is", "The capital of Frances, it was not")
    ]
    assert found == [("captal", "capital"), ("France", "Frances"), ("is", "was not")]


def test_neighbours_are_merged_where_least_stands_between_them() -> None:
    a, b = "one two three four five", "1 two 3 four fifty"
    assert [(h.before, h.after) for h in merged(text_edits(a, b), a, b, 2)] == [
        ("one two three", "1 two 3"),
        ("five", "fifty"),
    ]


# --- values


@pytest.mark.parametrize("family", ["llama", "gpt2", "gemma3"])
@pytest.mark.parametrize("mode", ["completion", "chat"])
@pytest.mark.parametrize("target", [" Paris", " no or yes."])
def test_values_sum_to_the_change(family: str, mode: str, target: str) -> None:
    a, b = "The capital of France is one city", "A capital city of Italy is two cities"
    found = attributed(plain.loaded(family), a, b, target, mode=mode)
    assert len(found.hunks) == 5
    assert found.exact
    assert found.passes == 32
    assert abs(found.residual) < 1e-4
    assert found.values.sum() == pytest.approx(found.delta, abs=1e-4)


def test_the_change_of_one_edit_is_its_own() -> None:
    found = attributed(plain.loaded(), "the capital of France", "the capital of Italy", " is")
    assert found.values == pytest.approx([found.delta], abs=1e-4)
    assert found.alone == pytest.approx([found.delta], abs=1e-4)
    assert found.without.tolist() == [0]


def test_one_edit_at_a_time_is_what_the_engine_says_of_that_wording() -> None:
    lm = plain.loaded()
    found = attributed(lm, "the capital of France", "a capital of Italy", " is")
    single = analysed(lm, "the capital of France", "a capital of France", "the capital of Italy", target=" is")
    deltas = [result.delta for result in single.prompts[1:]]
    assert found.alone == pytest.approx(deltas, abs=1e-4)
    assert found.without == pytest.approx(deltas[::-1], abs=1e-4)
    assert found.interactions is not None
    assert found.interactions[0, 1] == pytest.approx(found.delta - sum(deltas), abs=1e-4)  # type: ignore[arg-type]


def test_interchangeable_edits_have_equal_values_and_one_without_effect_0() -> None:
    """The model averages the evidence of all tokens; " three" and " four" have none."""
    lm = evidence({" one": 1.0, " two": -1.0})
    found = attributed(lm, " one is one is three end", " two is two is four end", " yes")
    assert [hunk.before.strip() for hunk in found.hunks] == ["one", "one", "three"]
    first, second, third = found.values
    assert first == pytest.approx(second, abs=1e-5)
    assert first < -0.5
    assert third == pytest.approx(0, abs=1e-5)


def test_the_word_with_the_evidence_is_the_culprit() -> None:
    lm = evidence({" Paris": 3.0, " Rome": 0.2})
    found = attributed(lm, "see the Rome now it is so", "see one Rome then it Paris so", " yes")
    first = found.hunks[found.ranked[0]]
    assert (first.before, first.after) == ("is", "Paris")


def test_sampled_values_are_near_the_exact_ones_and_sum_to_the_change() -> None:
    a, b = "The capital of France is one city", "A capital city of Italy is two cities"
    exact = attributed(plain.loaded(), a, b, " Paris")
    drawn = attributed(plain.loaded(), a, b, " Paris", exact=3, pairs=150, seed=2)
    assert drawn.standard_errors is not None
    assert drawn.interactions is None
    assert (np.abs(drawn.values - exact.values) <= 3 * drawn.standard_errors + 1e-4).all()
    assert abs(drawn.residual) < 1e-4
    assert drawn.alone == pytest.approx(exact.alone, abs=1e-4)
    assert drawn.without == pytest.approx(exact.without, abs=1e-4)


def test_many_edits_are_sampled_and_merged() -> None:
    words = [f"w{n}" for n in range(60)]
    changed = [f"v{n}" if n % 2 else word for n, word in enumerate(words)]
    found = attributed(plain.loaded(), " ".join(words), " ".join(changed), " is", pairs=2)
    assert found.merged
    assert len(found.hunks) == edits.MAX_EDITS
    assert not found.exact
    assert abs(found.residual) < 1e-4
    assert found.passes <= 2 * 2 * 23 + 2 * 24 + 2


def test_the_same_seed_gives_the_same_values() -> None:
    a, b = "one two three four five", "1 two 3 four 5"
    one, same, other = (attributed(plain.loaded(), a, b, " is", exact=1, pairs=2, seed=seed) for seed in (3, 3, 4))
    assert one.values.tolist() == same.values.tolist()
    assert one.values.tolist() != other.values.tolist()


def test_work_goes_on_where_it_was_stopped() -> None:
    lm, cache = plain.loaded(), ScoreCache(1000)
    rows = analysed(lm, "one two three four five", "1 two 3 four 5", target=" is").prompts
    attribute_edits(lm, *rows, cache=cache)
    held = len(cache)

    def stop(fraction: float) -> None:
        if fraction < 1:
            raise InterruptedError

    assert attribute_edits(lm, *rows, cache=cache, report=stop).passes == held == 8
    with pytest.raises(InterruptedError):
        attribute_edits(lm, *rows, report=stop)


# --- refusals


@pytest.mark.parametrize(
    ("variant", "sentence"),
    [
        (Variant("Another", mode="chat"), "differs from the reference in its mode too"),
        (Variant("Another", target=" no"), "has a target of its own"),
        (Variant("The prompt"), "has the same text as the reference"),
    ],
)
def test_what_is_no_edit_of_the_text_alone_is_refused(variant: Variant, sentence: str) -> None:
    rows = analysed(plain.loaded(), "The prompt", variant, target=" is").prompts
    assert sentence in (edits.problem(*rows) or "")
    with pytest.raises(EditError, match=sentence):
        attribute_edits(plain.loaded(), *rows)


def test_a_system_prompt_of_its_own_is_refused() -> None:
    rows = analysed(
        plain.loaded(), "The prompt", Variant("A prompt", system="Be brief", prefill="So"), target=" is", mode="chat"
    ).prompts
    assert "its system prompt and beginning of the answer too" in (edits.problem(*rows) or "")


def test_a_row_that_failed_is_refused() -> None:
    found = explore.analyse(
        plain.loaded(), PromptSet("The prompt", (Variant(" "),), target=" is"), explore.Caches(), attributions=False
    )
    assert "rewording 1 could not be analysed" in (edits.problem(*found.prompts) or "")


def test_a_mixture_that_is_too_long_is_refused_with_a_sentence() -> None:
    """Each of the two fits into 256 tokens, both of their long parts together do not."""
    before, after = "xyz" * 50 + " ", " " + "uvw" * 50
    with pytest.raises(
        EditError, match=r"a mixture of the reference and rewording 1 has \d+ tokens; tiny reads at most 256"
    ):
        attributed(plain.loaded(), f"{before}the capital is Paris", f"the capital is Paris{after}", " is")


# --- for drawing


@given(TEXT, TEXT)
def test_every_token_of_an_edit_has_the_value_of_the_edit(a: str, b: str) -> None:
    assume(a != b)
    found = fake(a, b)
    spans = [(place + 3, place + 4) for place in range(len(b))]
    wanted = np.zeros(len(b))
    for hunk, value in zip(found.hunks, found.values, strict=True):
        wanted[hunk.b_start : hunk.b_end] = value
    assert token_scores(found, spans, start=3).tolist() == wanted.tolist()


def fake(a: str, b: str) -> EditAttribution:
    hunks = text_edits(a, b)
    values = np.arange(1.0, len(hunks) + 1)
    aim = Target(" is", (1,), (" is",), True)
    return EditAttribution(
        1, "rewording 1", a, b, aim, hunks, values, None, None, values, values, float(values.sum()), 0.0, 2, False
    )


# --- the default model


NEGATION = "not"
INSTRUCTION = "Answer with one word"
CULPRITS = [
    ("completion", "The capital of Germany is", "In Europe, the capital city of Germany is not", " Berlin", NEGATION),
    ("completion", "The capital city of France is", "The capital of the country France is not", " Paris", NEGATION),
    (
        "chat",
        "What is the capital of France?",
        "What's the capital city of France? Answer with one word.",
        "Paris",
        INSTRUCTION,
    ),
]


@pytest.mark.parametrize(("mode", "reference", "variant", "target", "culprit"), CULPRITS)
def test_a_known_culprit_ranks_first(
    default_lm: LanguageModel, mode: str, reference: str, variant: str, target: str, culprit: str
) -> None:
    found = attributed(default_lm, reference, variant, target, mode=mode)
    assert len(found.hunks) == 3
    assert culprit in found.hunks[found.ranked[0]].after
    assert abs(found.residual) < 1e-4
