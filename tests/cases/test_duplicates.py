"""Equal prompts and differences that are noise."""

from dataclasses import replace

import numpy as np
import pytest

from analysis import findings
from analysis.charts.deltas import delta_bars
from analysis.charts.look import Look
from analysis.dispersion import dispersion, planes
from analysis.explore import Caches, analyse, answers_of, candidate_scores
from analysis.prompts import PromptSet, Variant
from analysis.report import to_csv, to_json
from analysis.responses import response_scores
from analysis.sensitivity import sensitivity
from analysis.taylor import pairs


def test_c63_equal_prompts_differ_by_exactly_nothing_and_are_named(run):
    found = run("C63")
    assert [result.delta for result in found.analysis.prompts] == [0.0, 0.0, 0.0]
    assert [result.duplicate_of for result in found.analysis.prompts] == [None, 0, 0]
    for label in ("identical", "identical again"):
        assert "same tokens as the reference: analysed once, Δ between them is exactly 0" in found.notes(label)
    assert found.finding.startswith('Two rewordings leave log p("␣Paris") exactly where it is')


def test_c63_spread_and_posix_of_equal_prompts_are_nothing(run, default_lm, caches):
    analysis = replace(run("C63").analysis, prompt_set=run("C63").case.prompt_set(response_tokens=3))
    answers = answers_of(default_lm, analysis, caches)
    assert answers[0].ids == answers[1].ids == answers[2].ids
    posix = response_scores(default_lm, analysis, answers, caches.scores).posix
    figures = sensitivity(analysis, answers, posix=posix)
    assert (figures.spread, figures.posix, figures.flip_rate) == (0.0, 0.0, 0.0)
    assert figures.same_answer is True


def test_c63_nothing_is_divided_by_nothing(run):
    analysis = run("C63").analysis
    traces = [result.trace for result in analysis.prompts]
    for distances in (dispersion(traces).to_reference, dispersion(traces).pairwise):
        assert not distances.raw.any()
        assert not distances.relative.any()
    assert all(np.isfinite(plane.xy).all() for plane in planes(traces))
    for pair in pairs(analysis):
        assert pair.jsd == 0.0
        assert pair.delta == 0.0
    assert "NaN" not in to_json(analysis, str) + to_csv(analysis)
    assert delta_bars(analysis, Look()).data


def test_equal_ids_are_equal_prompts_however_they_came_about(default_lm, caches):
    chat = PromptSet("Hi", mode="chat", target="Hello", control_tokens=True)
    rendered = analyse(default_lm, chat, caches, attributions=False).reference.trace.tokens.text
    both = replace(chat, variants=(Variant(rendered, mode="completion", label="typed"), Variant("Hi", label="again")))
    made = analyse(default_lm, both, caches, attributions=False)
    assert [result.duplicate_of for result in made.prompts] == [None, 0, 0]
    assert [result.delta for result in made.prompts] == [0.0, 0.0, 0.0]


def test_a_duplicate_of_a_rewording_names_it_by_its_label(default_lm, caches):
    variants = (Variant("It is", label="short"), Variant("It is", label="same"), Variant("It  is", label="wide"))
    made = analyse(default_lm, PromptSet("The answer is", variants, target=" yes"), caches, attributions=False)
    assert [result.duplicate_of for result in made.prompts] == [None, None, 1, None]
    assert made.prompts[2].notes[0].text.startswith("same tokens as “short”")


def test_equal_tokens_with_other_targets_are_no_duplicates(run):
    assert [result.duplicate_of for result in run("C11").analysis.prompts] == [None, None, None]


def test_candidates_after_equal_prompts_have_equal_scores(run):
    scores = run("C63").scores
    assert len({tuple(map(tuple, one.log_probs)) for one in scores}) == 1


def test_the_noise_floor_is_measured_and_small(default_lm):
    assert 0 < default_lm.card.noise_floor < 1e-3


def test_a_difference_below_the_noise_floor_is_said_to_be_noise(default_lm, caches, run):
    loud = replace(default_lm, card=replace(default_lm.card, noise_floor=0.05))
    made = analyse(loud, run("C12").case.prompt_set(), caches, attributions=False)
    assert 0 < abs(made.prompts[1].delta) < 0.05
    assert any("below the numeric noise floor of 0.05 nats" in note.text for note in made.prompts[1].notes)
    equal = analyse(loud, run("C63").case.prompt_set(), caches, attributions=False)
    assert not any("noise" in note.text for result in equal.prompts for note in result.notes)


def test_a_second_run_gives_the_same_numbers(default_lm, run):
    first, again = run("C63").analysis, analyse(default_lm, run("C63").case.prompt_set(), Caches(), attributions=False)
    assert again.reference.trace.log_prob == pytest.approx(first.reference.trace.log_prob, abs=1e-5)
    assert findings.explore(again) == findings.explore(first)
    assert candidate_scores(default_lm, again, Caches())[0].sums == pytest.approx(run("C63").scores[0].sums, abs=1e-5)
