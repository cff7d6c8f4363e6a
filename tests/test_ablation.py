"""Leave-one-out against deleting by hand, groups, and deletion curves with a known best order."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from analysis.ablation import deletion_curve, leave_one_out
from analysis.attribution_results import AttributionError, held_tokens
from analysis.model import LanguageModel, assemble
from tests import handmade, tiny
from tests.handmade import asked, plain_log_prob

FAMILIES = ["llama", "gpt2", "gemma", "opt", "mistral"]
TEXT = "Question: is the sky blue? Answer:"
TARGET = " yes or no"


def model(family: str = "llama", bos: bool = False) -> LanguageModel:
    return assemble(tiny.network(family), tiny.tokenizer(bos=bos), "tiny")


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("foil", [None, " Paris", " no or yes."])
def test_leave_one_out_is_deleting_by_hand(family: str, foil: str | None) -> None:
    lm = model(family)
    tokens, target = asked(lm, TEXT, TARGET)
    other = None if foil is None else asked(lm, TEXT, foil)[1]

    def value(ids: tuple[int, ...]) -> float:
        found = plain_log_prob(lm, ids, target.ids)
        return found - plain_log_prob(lm, ids, other.ids) if other else found

    expected = [value(tokens.ids) - value(tokens.ids[:t] + tokens.ids[t + 1 :]) for t in range(len(tokens))]
    found = leave_one_out(lm, tokens, target, other)
    assert found.value == pytest.approx(value(tokens.ids), abs=1e-4)
    assert np.allclose(found.scores, expected, atol=1e-4)
    assert found.groups == tuple((t,) for t in range(len(tokens)))


@pytest.mark.parametrize("family", FAMILIES)
def test_replacement_puts_the_filler_in_the_place(family: str) -> None:
    lm = model(family)
    tokens, target = asked(lm, TEXT, TARGET)
    filler = lm.encoder.filler_id
    assert filler == lm.encoder.tokenizer.pad_token_id
    whole = plain_log_prob(lm, tokens.ids, target.ids)
    changed = [(*tokens.ids[:t], filler, *tokens.ids[t + 1 :]) for t in range(len(tokens))]
    expected = [whole - plain_log_prob(lm, ids, target.ids) for ids in changed]
    assert np.allclose(leave_one_out(lm, tokens, target, by="replacement").scores, expected, atol=1e-4)


def test_groups_are_left_out_together() -> None:
    lm = model()
    tokens, target = asked(lm, TEXT, TARGET)
    groups = ((0, 1, 2), (4,), (3, 6), ())
    whole = plain_log_prob(lm, tokens.ids, target.ids)
    expected = [
        whole - plain_log_prob(lm, [index for t, index in enumerate(tokens.ids) if t not in group], target.ids)
        for group in groups
    ]
    found = leave_one_out(lm, tokens, target, groups=groups)
    assert np.allclose(found.scores, expected, atol=1e-4)
    assert found.groups == groups
    assert found.scores[3] == 0.0  # nothing was left out


def test_what_each_token_adds_follows_from_a_model_of_means() -> None:
    """s = 8 · (mean evidence + evidence of the last token), before and after each deletion."""
    evidence = {" capital": 0.2, " France": 1.0, " of": -0.5}
    lm = handmade.evidence_model(evidence, " Paris")
    text = "What is the capital of France?"
    tokens, target = asked(lm, text, " Paris")
    _, foil = asked(lm, text, " Rome")

    def value(pieces: list[str]) -> float:
        amounts = [evidence.get(piece, 0.0) for piece in pieces]
        return 8 * (float(np.mean(amounts)) + amounts[-1])

    pieces = list(tokens.pieces)
    expected = [value(pieces) - value(pieces[:t] + pieces[t + 1 :]) for t in range(len(pieces))]
    found = leave_one_out(lm, tokens, target, foil)
    assert found.value == pytest.approx(value(pieces), abs=5e-3)
    assert np.allclose(found.scores, expected, atol=5e-3)


def test_a_prompt_of_which_nothing_is_left_could_not_be_computed() -> None:
    lm = model()
    tokens, target = asked(lm, "?", " yes")
    assert len(tokens) == 1
    assert np.isnan(leave_one_out(lm, tokens, target).scores).all()
    assert np.isfinite(leave_one_out(lm, tokens, target, by="replacement").scores).all()
    longer, _ = asked(lm, TEXT, " yes")
    everything = (tuple(range(len(longer))), (0,))
    found = leave_one_out(lm, longer, target, groups=everything).scores
    assert np.isnan(found[0])
    assert np.isfinite(found[1])


def test_a_value_that_is_not_finite_is_not_zero() -> None:
    network = tiny.network()
    tokenizer = tiny.tokenizer()
    with torch.no_grad():
        network.get_input_embeddings().weight[tokenizer.pad_token_id] = float("nan")
    lm = assemble(network, tokenizer, "tiny")
    tokens, target = asked(lm, TEXT, TARGET)
    assert np.isfinite(leave_one_out(lm, tokens, target).scores).all()
    assert np.isnan(leave_one_out(lm, tokens, target, by="replacement").scores).all()


def test_position_0_and_template_tokens_are_left_out_too_and_marked() -> None:
    lm = model()
    tokens, target = asked(lm, "is the sky blue?", " yes", mode="chat")
    found = leave_one_out(lm, tokens, target)
    assert found.held == held_tokens(tokens)
    assert np.isfinite(found.scores).all()
    assert found.scores[0] != 0.0
    start = tokens.roles.index("text")
    both = leave_one_out(lm, tokens, target, groups=((0, 1), (1, start), (start,)))
    assert both.held == (True, False, False)


def test_a_bos_can_be_left_out() -> None:
    lm = model(bos=True)
    tokens, target = asked(lm, TEXT, TARGET)
    assert tokens.roles[0] == "added"
    without = plain_log_prob(lm, tokens.ids[1:], target.ids)
    whole = plain_log_prob(lm, tokens.ids, target.ids)
    assert leave_one_out(lm, tokens, target).scores[0] == pytest.approx(whole - without, abs=1e-4)


def test_a_model_without_a_cache_gives_the_same() -> None:
    lm = model()
    tokens, target = asked(lm, TEXT, TARGET)
    slow = replace(lm, can=replace(lm.can, no_cache="for a test"))
    assert np.allclose(leave_one_out(lm, tokens, target).scores, leave_one_out(slow, tokens, target).scores, atol=1e-4)


def test_a_deletion_curve_is_deleting_by_hand() -> None:
    lm = model()
    tokens, target = asked(lm, TEXT, TARGET)
    scores = np.random.default_rng(0).normal(size=len(tokens))
    found = deletion_curve(lm, tokens, target, scores)
    assert list(found.order) == sorted(range(1, len(tokens)), key=lambda t: -scores[t])
    assert list(found.removed) == list(range(len(tokens)))
    for count, value in zip(found.removed, found.curve, strict=True):
        kept = [index for t, index in enumerate(tokens.ids) if t not in found.order[:count]]
        assert value == pytest.approx(plain_log_prob(lm, kept, target.ids), abs=1e-4)


def test_all_orders_begin_and_end_at_the_same_prompts() -> None:
    lm = model()
    tokens, target = asked(lm, TEXT, TARGET)
    _, foil = asked(lm, TEXT, " Paris")
    found = deletion_curve(lm, tokens, target, np.arange(len(tokens)), foil, orders=12)
    assert found.random.shape == (12, len(found.removed))
    assert np.allclose(found.random[:, 0], found.curve[0], atol=1e-5)
    assert np.allclose(found.random[:, -1], found.curve[-1], atol=1e-5)
    assert (found.random_min <= found.random_mean).all()
    assert (found.random_mean <= found.random_max).all()
    last = plain_log_prob(lm, tokens.ids[:1], target.ids) - plain_log_prob(lm, tokens.ids[:1], foil.ids)
    assert found.curve[-1] == pytest.approx(last, abs=1e-4)


def test_the_known_best_order_is_under_every_other() -> None:
    """With s = 8 · mean evidence, deleting the most evidence first leaves the least at every step."""
    evidence = {" is": 0.2, " the": 0.5, " capital": 0.9, " of": -0.4, " France": 0.7}
    lm = handmade.evidence_model(evidence, " Paris")
    text = "What is the capital of France?"
    tokens, target = asked(lm, text, " Paris")
    _, foil = asked(lm, text, " Rome")
    held = tuple(t in (0, len(tokens) - 1) for t in range(len(tokens)))  # the last token counts otherwise
    scores = np.array([evidence.get(piece, 0.0) for piece in tokens.pieces])
    best = deletion_curve(lm, tokens, target, scores, foil, held=held, orders=30)
    worst = deletion_curve(lm, tokens, target, -scores, foil, held=held, orders=30)
    assert [tokens.pieces[t] for t in best.order] == [" capital", " France", " the", " is", " of"]
    assert (best.curve <= best.random_min + 1e-3).all()
    assert (worst.curve >= worst.random_max - 1e-3).all()
    assert best.area is not None
    assert worst.area is not None
    assert best.area > 0 > worst.area
    assert best.beaten is not None
    assert best.beaten > 0.9
    assert worst.beaten == 0.0
    # The mean height of the best curve, by hand: the trapezoid rule over 8 · mean evidence of what is left.
    kept, heights = dict(evidence), [8 * sum(evidence.values()) / 7]
    for number, piece in enumerate([" capital", " France", " the", " is", " of"], start=1):
        del kept[piece]
        heights.append(8 * sum(kept.values()) / (7 - number))
    mean = (sum(heights) - (heights[0] + heights[-1]) / 2) / 5
    random = np.trapezoid(best.random_mean, best.removed / 5)
    assert best.area == pytest.approx(random - mean, abs=5e-3)


def test_magnitudes_rank_by_size_and_signs_by_value() -> None:
    lm = model()
    tokens, target = asked(lm, TEXT, TARGET)
    scores = np.zeros(len(tokens))
    scores[[1, 2, 3]] = [1.0, -3.0, 2.0]
    assert deletion_curve(lm, tokens, target, scores).order[:2] == (3, 1)
    assert deletion_curve(lm, tokens, target, scores).order[-1] == 2
    assert deletion_curve(lm, tokens, target, scores, magnitude=True).order[:3] == (2, 3, 1)


def test_scores_that_could_not_be_computed_go_last() -> None:
    lm = model()
    tokens, target = asked(lm, TEXT, TARGET)
    scores = np.arange(len(tokens), dtype=float)
    scores[[2, 5]] = np.nan
    for magnitude in (False, True):
        assert deletion_curve(lm, tokens, target, scores, magnitude=magnitude).order[-2:] == (2, 5)


def test_long_prompts_are_cut_in_few_steps() -> None:
    lm = model()
    tokens, target = asked(lm, " ".join([TEXT] * 5), " yes")
    found = deletion_curve(lm, tokens, target, np.arange(len(tokens)), steps=20)
    assert len(tokens) > 40
    assert len(found.removed) == 21
    assert found.removed[0] == 0
    assert found.removed[-1] == len(tokens) - 1
    assert np.ptp(np.diff(found.removed)) <= 1


def test_the_same_seed_gives_the_same_orders() -> None:
    lm = model()
    tokens, target = asked(lm, TEXT, TARGET)
    scores = np.arange(len(tokens))
    curves = [deletion_curve(lm, tokens, target, scores, seed=seed).random for seed in (0, 0, 1)]
    assert np.array_equal(curves[0], curves[1])
    assert not np.array_equal(curves[0], curves[2])


def test_held_tokens_stay_to_the_end() -> None:
    lm = model()
    tokens, target = asked(lm, "is the sky blue?", " yes", mode="chat")
    found = deletion_curve(lm, tokens, target, np.arange(len(tokens)))
    held = held_tokens(tokens)
    assert set(found.order) == {t for t in range(len(tokens)) if not held[t]}
    kept = [index for index, stays in zip(tokens.ids, held, strict=True) if stays]
    assert found.curve[-1] == pytest.approx(plain_log_prob(lm, kept, target.ids), abs=1e-4)


def test_a_prompt_without_free_tokens_has_no_curve() -> None:
    lm = model()
    tokens, target = asked(lm, "?", " yes")
    with pytest.raises(AttributionError, match="every token of this prompt is held"):
        deletion_curve(lm, tokens, target, [1.0])


def test_an_unknown_point_leaves_the_area_unknown() -> None:
    lm = model()
    tokens, target = asked(lm, TEXT, TARGET)
    found = deletion_curve(lm, tokens, target, np.arange(len(tokens)))
    broken = replace(found, curve=np.where(found.removed == 2, np.nan, found.curve))
    assert broken.area is None
    assert broken.beaten is None
