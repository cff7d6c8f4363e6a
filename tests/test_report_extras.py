"""What the Dispersion page computes is in the JSON result, under the names that the README gives."""

import json

import pytest

from analysis.contrast import contrast
from analysis.explore import Caches, analyse
from analysis.model import LanguageModel, assemble
from analysis.patching import against_reference
from analysis.prompts import PromptSet, Variant
from analysis.report import to_json
from analysis.report_extras import extras
from analysis.report_figures import report_figures
from analysis.results import Analysis
from tests import tiny

SET = PromptSet(
    "The capital of France is",
    (
        Variant("France's capital is"),
        Variant("one two", target=" Rome"),
        Variant("Rome is", kind="negative control"),
        Variant(""),
    ),
    target=" Paris is",
)


@pytest.fixture(scope="module")
def lm() -> LanguageModel:
    return assemble(tiny.network("llama"), tiny.tokenizer(), "tiny")


@pytest.fixture(scope="module")
def analysis(lm: LanguageModel) -> Analysis:
    return analyse(lm, SET, Caches())


def test_patches_are_given_by_pair_and_target_token_and_end_at_the_change(lm, analysis):
    patches = against_reference(lm, analysis)
    assert list(patches) == [(0, 1), (0, 3)]  # one row has another target, one is empty
    result = json.loads(to_json(analysis, lm.encoder.piece, extras=extras(analysis, patches)))
    pairs = {(pair["a"], pair["b"]): pair for pair in result["pairs"]}
    assert [(one["a"], one["b"], one["target_token"]) for one in result["patches"]] == [
        (0, 1, 0),
        (0, 1, 1),
        (0, 3, 0),
        (0, 3, 1),
    ]
    for one in result["patches"]:
        delta = pairs[one["a"], one["b"]]["per_target"][one["target_token"]]["delta_log_prob"]
        assert len(one["effect"]) == result["model"]["layers"] + 1
        assert one["effect"][-1] == pytest.approx(delta, abs=1e-4)


def test_a_reference_that_failed_has_no_curves(lm):
    assert against_reference(lm, analyse(lm, PromptSet("", (Variant("one"),)), Caches())) == {}


def test_distances_leave_controls_out(lm, analysis):
    found = extras(analysis)["dispersion"]
    assert found["prompts"] == 3
    assert {len(found[name][view]) for name in ("to_reference", "pairwise", "to_centroid") for view in found[name]} == {
        lm.network.layers + 1
    }


def test_a_contrast_is_written_as_it_is(analysis):
    traces = [result.trace for result in analysis.prompts if result.trace]
    found = contrast(traces[:2], traces[2:])
    written = extras(analysis, contrast=found)["contrast"]
    assert written["pairs_between"] == found.pairs
    assert written["within"]["raw"] == pytest.approx(found.within.raw, rel=1e-8)


def test_what_was_not_computed_is_null(lm):
    alone = analyse(lm, PromptSet("one two"), Caches())
    assert extras(alone) == {"dispersion": None, "patches": None, "contrast": None}


def test_the_second_order_estimate_stays_below_the_first(lm, analysis):
    for pair in json.loads(to_json(analysis, lm.encoder.piece))["pairs"]:
        known = pair["upper"] is not None
        assert (pair["second_order"] is not None) == known
        assert not known or pair["second_order"] <= pair["upper"]


def test_the_report_leaves_controls_out_of_its_means(lm, analysis):
    figures = dict(report_figures(analysis, lm.encoder.name_of))
    labels = set(figures["How far the states are apart"].layout.meta["table"]["label"])
    assert labels == {"reference", "rewording 1", "rewording 2"}
    assert "1 pair" in figures["What the bound allows"].layout.title.text.replace("1 pairs", "1 pair")
    assert set(figures["What is certain"].layout.meta["table"]["label"]) >= {"rewording 1", "rewording 3"}
