"""Blanks and newlines: what they do to the tokens, and what is said about them."""

import numpy as np
import pytest

from analysis.candidates import merged_forms
from analysis.charts.deltas import delta_bars
from analysis.charts.look import Look
from analysis.diff import word_diff
from analysis.explore import top_tokens
from analysis.tokens import shown


def gained(run, label):
    """By how much each target token is likelier after a row than after the reference, in nats."""
    return run.trace(label).target_log_probs - run.trace().target_log_probs


# C02, C03: a space at the end


def test_c02_a_space_at_the_end_is_one_token_more_and_is_warned_about(run):
    found = run("C02")
    ids = found.trace().tokens.ids
    assert found.trace("trailing space").tokens.ids[:-1] == ids
    assert found.trace("trailing space").tokens.pieces[-1] == " "
    assert "ends in white space (space)" in found.notes("trailing space")
    assert "white space" not in found.notes()


def test_c02_a_target_without_its_blank_joins_the_space(run):
    found = run("C02", target="and")
    assert "prompt and 'and' join across the seam in '␣and'" in found.notes("trailing space")
    assert "'␣and' is 7.4 nats likelier than 'and'" in found.set_notes  # -5.31 against -12.74
    assert 'Written after "trailing space", "and" is split into other tokens' in run("C02").candidate_finding


def test_c02_runs_without_an_expected_answer(run):
    found = run("C02", target=None)
    assert not found.analysis.target.chosen
    assert found.analysis.target.text == " who"
    assert "changes the likeliest next token" in found.finding


def test_c03_the_space_is_kept_and_the_form_that_fits_is_named(run):
    for label in ("trailing space", "two spaces"):
        found = run("C03")
        assert found.trace(label).tokens.text == found.case.texts()[label]
        assert "ends in white space" in found.notes(label)
        assert "'to' is the target that goes on without a second one" in found.notes(label)
    bare = run("C03", target="to")
    assert "'␣to' is 14.5 nats likelier than 'to'" in bare.set_notes  # -1.93 against -16.40
    assert "join across the seam in '␣to'" in bare.notes("trailing space")


# C04, C05, C09: how the cue ends


def test_c04_the_best_form_changes_with_the_ending_and_the_answer_does_not(run):
    found = run("C04")
    assert found.likeliest() == " A"
    assert found.likeliest("newline") == "A"
    for label in ("reference", "space", "newline"):
        assert found.log_prob(" A", label) > found.log_prob(" B", label)
        assert found.log_prob("A", label) > found.log_prob("B", label)
    assert "the answer stays, the confidence moves" in found.candidate_finding
    assert "'A' is 7.7 nats likelier than '␣A'" in found.notes("newline")  # -2.30 against -9.95


def test_c05_full_width_signs_and_blanks_are_named_by_code_point(run):
    found = run("C05")
    assert "U+FF1A FULLWIDTH COLON after characters 2, 26" in found.notes()
    assert "U+FF1A FULLWIDTH COLON after character 2\n" in found.notes("ascii colon") + "\n"
    assert "U+3000 IDEOGRAPHIC SPACE" in found.notes("ideographic space")
    assert "'␣B' is 6.7 nats likelier than 'B'" in found.notes("space")  # -8.06 against -14.71


def test_c05_a_blank_of_a_language_without_spaces_is_not_called_wrong(run):
    notes = run("C05").notes("ideographic space")
    assert "ends in white space (U+3000 IDEOGRAPHIC SPACE), which is easily overlooked" in notes
    assert "rarely" not in notes


def test_c09_both_forms_of_the_target_are_named_where_the_cue_ends_otherwise(run):
    found = run("C09")
    assert "'Apple' is 8.3 nats likelier than '␣Apple'" in found.notes("newline")  # -4.15 against -12.47
    assert "'Apple' is the target that goes on" in found.notes("space")


# C06, C07: examples and the last item


def test_c06_the_doubled_blank_is_seen_and_the_loss_is_on_the_digit_or_on_the_blank(run):
    found = run("C06")
    assert shown(found.trace("double blank in demos").tokens.text).count("Answer:··") == 2
    assert found.trace().target.pieces == (" ", "4", "3")
    assert np.argmin(gained(found, "double blank in demos")) == 1
    assert np.argmin(gained(found, "no blank in demos")) == 0


def test_c06_other_separators_in_the_examples_are_pointed_out(run):
    found = run("C06")
    assert "the examples have 2 spaces, the last item and the target 1 space" in found.notes("double blank in demos")
    assert "the examples have nothing, the last item and the target 1 space" in found.notes("no blank in demos")
    for label in ("reference", "zero-shot"):
        assert "the examples" not in found.notes(label)


def test_c07_one_missing_blank_is_all_that_is_marked(run):
    texts = run("C07").case.texts()
    a, b = texts["reference"], texts["one demo unspaced"]
    changed = [hunk for hunk in word_diff(a, b) if hunk.op != "equal"]
    assert [a[hunk.a_start : hunk.a_end] for hunk in changed] == [" "]
    assert [b[hunk.b_start : hunk.b_end] for hunk in changed] == [""]
    assert "the examples differ" in run("C07").notes("one demo unspaced")


def test_c07_probability_moves_between_forms_of_one_answer(run):
    found = run("C07")
    for text in ("A", "B"):
        assert found.log_prob(text, "one demo unspaced") - found.log_prob(text) > 8
    before, after = (merged_forms(found.candidates(label)) for label in ("reference", "one demo unspaced"))
    assert before.texts == after.texts == ("a", "b")
    moved = after.sums - before.sums
    assert np.abs(moved).max() < 0.5 < abs(found.row("one demo unspaced").delta)


# C12: hardly anything


def test_c12_an_effect_that_hardly_matters_is_called_so_and_drawn_so(run):
    found = run("C12")
    assert len(found.trace("double blank").tokens) == len(found.trace().tokens) + 1
    assert "2 spaces in a row after character 64" in found.notes("double blank")
    assert "hardly moves" in found.finding
    assert "its log-prob hardly moves" in found.candidate_finding
    low, high = delta_bars(found.analysis, Look()).layout.xaxis.range
    assert low < -0.4
    assert high > 0.4


# C14, C15: code


def test_c14_after_the_space_digits_lead(run, default_lm):
    found = run("C14")
    assert found.log_prob(" sorted") - max(found.candidates("trailing space").sums) > 3
    (first, _), *_ = top_tokens(found.trace("trailing space"))
    assert default_lm.encoder.piece(first).isdigit()
    assert shown(found.trace().tokens.text).count("`") == 2


def test_c15_each_ending_is_a_prompt_of_its_own(run):
    found = run("C15")
    assert [result.duplicate_of for result in found.analysis.prompts] == [None] * 4
    assert len({result.trace.tokens.ids for result in found.analysis.prompts}) == 4
    assert shown(found.trace().tokens.text) == "# write a function that doubles x⏎"
    assert shown(found.trace("indented blank line").tokens.text).endswith("⏎····")
    assert "ends in white space (newline and 4 × space)" in found.notes("indented blank line")


def test_c15_a_target_may_begin_with_a_newline(run):
    found = run("C15", target="\ndef double(x):")
    assert found.trace("trimmed").target.text == "\ndef double(x):"
    assert len(found.trace("trimmed").target) == 6
    assert found.trace("trimmed").log_prob == pytest.approx(-8.48, abs=0.05)
