"""Attributions of the embedded default model: what the project promises to show on it."""

import numpy as np
import pytest

from analysis.ablation import deletion_curve, leave_one_out
from analysis.agreement import agreement
from analysis.attribution import gradient_maps, per_target_token
from analysis.encoding import encode, encode_target
from analysis.examples import EXAMPLES
from analysis.integrated import fixed_rule, integrated_gradients
from analysis.model import LanguageModel
from analysis.scoring import score
from tests.handmade import asked, plain_log_prob

CAPITAL = "The capital of France is"
QUESTION = "Q: What is the capital of France?\nA:"
SHORT = 6  # tokens


def test_integrated_gradients_end_within_one_percent(default_lm: LanguageModel) -> None:
    tokens, target = asked(default_lm, CAPITAL, " Paris")
    found = integrated_gradients(default_lm, tokens, target, tolerance=0.01)
    filler = [tokens.ids[0], *[default_lm.encoder.filler_id] * (len(tokens) - 1)]
    rise = plain_log_prob(default_lm, tokens.ids, target.ids) - plain_log_prob(default_lm, filler, target.ids)
    assert found.converged
    assert abs(found.scores.sum() - rise) <= 0.01 * abs(rise)
    assert found.local_error <= 0.01 * abs(rise)


def test_a_fixed_rule_misses_by_a_third_where_the_adaptive_one_converges(default_lm: LanguageModel) -> None:
    tokens, target = asked(default_lm, QUESTION, " Paris")
    fixed = fixed_rule(default_lm, tokens, target)
    assert fixed.evaluations == 50
    assert fixed.relative_residual == pytest.approx(0.37, abs=0.01)
    assert not fixed.converged
    assert integrated_gradients(default_lm, tokens, target).converged


def test_integrated_gradients_converge_on_most_short_examples(default_lm: LanguageModel) -> None:
    """With a quarter of the usual budget: a run with all of it passes through the same points."""
    converged = []
    for example in EXAMPLES:
        row = example.prompt_set.rows()[0]
        tokens = encode(default_lm.encoder, row.prompt)
        if row.target is None or len(tokens) > SHORT:
            continue
        target = encode_target(default_lm.encoder, row.prompt, tokens, row.target)
        found = integrated_gradients(default_lm, tokens, target, budget=33)
        assert found.converged == (found.relative_error is not None and found.relative_error <= 0.05)
        converged.append(found.converged)
    assert len(converged) >= 5
    assert np.mean(converged) > 0.5


def test_leaving_out_is_deleting_from_the_text_by_hand(default_lm: LanguageModel) -> None:
    tokens, target = asked(default_lm, CAPITAL, " Paris")
    found = leave_one_out(default_lm, tokens, target)
    whole = plain_log_prob(default_lm, tokens.ids, target.ids)
    expected = [
        whole - plain_log_prob(default_lm, tokens.ids[:t] + tokens.ids[t + 1 :], target.ids) for t in range(len(tokens))
    ]
    assert np.allclose(found.scores, expected, atol=1e-3)
    maps = gradient_maps(default_lm, tokens, target)
    ranks = agreement(found, maps.saliency, maps.gradient_x_input)
    assert ranks.tokens == len(tokens) - 1
    assert ranks.saliency is not None
    assert ranks.gradient_x_input is not None


def test_what_really_lowers_the_log_prob_beats_random_orders(default_lm: LanguageModel) -> None:
    tokens, target = asked(default_lm, CAPITAL, " Paris")
    found = deletion_curve(default_lm, tokens, target, leave_one_out(default_lm, tokens, target).scores)
    assert found.area is not None
    assert found.area > 0


def test_per_token_and_summed_maps_of_a_long_target_agree(default_lm: LanguageModel) -> None:
    text = "Dana lives in Palm Coast, FL and is a lawyer. Her personal interests include"
    tokens, target = asked(default_lm, text, " playing golf, hiking, and cooking.", special_tokens=False)
    assert (len(tokens), len(target)) == (17, 8)
    parts, whole = per_target_token(default_lm, tokens, target), gradient_maps(default_lm, tokens, target)
    sums = parts.gradient_x_input.sum(axis=0)
    assert np.abs(sums - whole.gradient_x_input).max() <= 1e-4 * np.abs(whole.gradient_x_input).max()
    assert parts.target_log_probs.sum() == pytest.approx(whole.value, abs=1e-3)
    assert whole.value == pytest.approx(-17.90, abs=0.05)


def test_a_target_and_a_longer_foil_are_contrasted_whole(default_lm: LanguageModel) -> None:
    text = "她们是飞行员还是制片人"
    tokens, target = asked(default_lm, text, "？", special_tokens=False)
    _, foil = asked(default_lm, text, "吗？", special_tokens=False)
    assert (len(tokens), len(target), len(foil)) == (19, 2, 4)
    found = gradient_maps(default_lm, tokens, target, foil)
    assert found.value == pytest.approx(-6.08 + 7.44, abs=0.05)
    assert found.diverges_at is not None
    sides = [gradient_maps(default_lm, tokens, side).gradient_x_input for side in (target, foil)]
    largest = np.abs(sides).max()
    assert np.abs(found.gradient_x_input - (sides[0] - sides[1])).max() <= 1e-4 * largest


def test_one_answer_letter_is_attributed(default_lm: LanguageModel) -> None:
    text = "Which is a fruit?\nA. Stone\nB. Pear\nAnswer:"
    tokens, target = asked(default_lm, text, " B", special_tokens=False)
    assert len(target) == 1
    parts = per_target_token(default_lm, tokens, target)
    assert parts.gradient_x_input.shape == (1, 16)
    assert parts.target_log_probs[0] == pytest.approx(-8.47, abs=0.05)


def test_the_default_model_is_as_it_was(default_lm: LanguageModel) -> None:
    tokens, target = asked(default_lm, CAPITAL, " Paris")
    _, foil = asked(default_lm, CAPITAL, " Lyon")
    rows = [(tokens.ids, target.ids)]
    before = score(default_lm, rows)[0]
    gradient_maps(default_lm, tokens, target, foil)
    leave_one_out(default_lm, tokens, target, foil, by="replacement")
    integrated_gradients(default_lm, tokens, target, foil, budget=17)
    assert np.array_equal(score(default_lm, rows)[0], before)
