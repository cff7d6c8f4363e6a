"""Numbers of tokens: of answers that are compared, of spaced-out letters, of other scripts."""

import unicodedata
from dataclasses import replace

import numpy as np
import pytest

from analysis.answers_match import is_expected
from analysis.attribution import gradient_maps, per_target_token
from analysis.candidate_findings import candidates
from analysis.candidates import merged_forms
from analysis.continuation import continuation_cells, token_names
from analysis.explore import analyse, candidate_scores, rank
from analysis.results import Answer
from analysis.tokens import cells, shown


def answer(text: str) -> Answer:
    return Answer(text, (), (text,), (), True)


# C16, C18: options that change places


def test_c16_a_model_that_follows_the_slot_is_told_from_one_that_knows(run):
    found = run("C16")
    assert [result.row.expected for result in found.analysis.prompts] == ["B", "A", "D", "C"]
    assert {found.likeliest(label) for label in found.case.texts()} == {" A"}
    said = found.candidate_finding
    assert 'The right one moves ("B", "A", "D", "C"): the model follows the slot, not the content.' in said
    assert "Right after one of four." in said


def test_c18_labels_stay_on_their_slot_and_texts_on_their_content(run):
    found = run("C18")
    for label in ("reference", "swapped"):
        assert found.likeliest(label) == "选项1"
        assert found.log_prob("东京", label) - found.log_prob("大阪", label) > 0.5
    assert 'The right one moves ("选项1", "选项2"): the model follows the slot' in found.candidate_finding


def test_c18_answers_of_cut_characters_are_shown_whole_and_scored_as_sums(run, default_lm):
    found = run("C18", target="东京")
    target, decode = found.trace().target, default_lm.encoder.decode
    assert len(target) == 4
    assert [(text, len(places)) for text, places in continuation_cells(decode, target.ids)] == [("东", 2), ("京", 2)]
    assert "\ufffd" not in "".join(token_names(decode, target.ids))
    assert found.trace().log_prob == pytest.approx(found.log_prob("东京"), abs=1e-3)


# C20, C21, C23: forms and lengths of answers


def test_c20_forms_of_one_answer_are_added_up(run):
    found = run("C20")
    scores, merged = found.candidates(), merged_forms(found.candidates())
    assert merged.texts == ("yes", "no")
    for form, total in zip(merged.texts, merged.sums, strict=True):
        forms = [text for text in scores.texts if text.strip().lower() == form]
        assert total == pytest.approx(np.logaddexp.reduce([found.log_prob(text) for text in forms]), abs=1e-5)


def test_c20_forms_of_other_lengths_are_pointed_out(run):
    found = run("C20")
    counts = dict(zip(found.candidates().texts, map(len, found.candidates().log_probs), strict=True))
    assert (counts[" YES"], counts[" NO"]) == (2, 1)
    assert "The answers have 1 to 2 tokens, and sums favour the short ones" in found.candidate_finding


def test_c21_a_reference_alone_runs_with_several_answers(run):
    found = run("C21")
    assert [result.label for result in found.analysis.prompts] == ["reference"]
    assert found.candidates().texts == (" Hindi", " hindi", " hIndi", " HINDI", " Marathi")
    assert [len(tokens) for tokens in found.candidates().log_probs] == [1, 2, 3, 3, 2]
    assert "sums favour the short ones; by the mean per token" in found.candidate_finding
    assert "add a paraphrase" in found.set_notes


def test_c23_the_mean_per_token_has_another_winner_than_the_sum(run):
    found = run("C23")
    scores = found.candidates()
    assert found.likeliest() == " false"
    assert scores.texts[int(scores.means.argmax())] == " half-true"
    assert 'by the mean per token "␣half-true" would win after the reference' in found.candidate_finding


def test_c23_a_label_is_not_found_inside_a_longer_one():
    assert not is_expected(answer(" mostly-true"), "true")
    assert not is_expected(answer(" The claim is half-true."), "true")
    assert is_expected(answer(" The claim is true."), "true")
    assert is_expected(answer(" mostly-true"), "mostly-true")


# C37, C38: one target token, and eight


def test_c37_the_parts_of_a_long_target_add_up(run, default_lm):
    trace = run("C37").trace()
    maps = per_target_token(default_lm, trace.tokens, trace.target)
    assert maps.target_log_probs.sum() == pytest.approx(trace.log_prob, abs=1e-3)
    whole = gradient_maps(default_lm, trace.tokens, trace.target)
    assert maps.gradient_x_input.sum(axis=0) == pytest.approx(whole.gradient_x_input, abs=1e-3)


def test_c37_marks_have_cells_of_their_own_and_groups_are_words(run, default_lm):
    trace = run("C37").trace()
    named = [text for text, _ in continuation_cells(default_lm.encoder.decode, trace.target.ids)]
    assert named.count(",") == 2
    assert named[-1] == "."
    words = [cell.text for cell in cells(trace.tokens, "word")]
    assert {" Palm", " Coast", ",", " FL", " lawyer", "."} <= set(words)


def test_c37_an_unlikely_target_and_controls_are_said_to_be_so(run):
    found = run("C37")
    assert "is unlikely after every wording (p < 1 %)" in found.set_notes
    assert "Left out: 2 controls." in found.finding
    for label in ("other job", "other place"):
        assert "a control that changes the meaning" in found.notes(label)


def test_c38_a_target_of_one_token_is_whole_in_every_view(run, default_lm, caches):
    found = run("C38")
    made = analyse(default_lm, found.case.prompt_set(), caches)
    for result in made.prompts:
        trace = result.trace
        assert (trace.target.pieces, trace.target.text) == ((" B",), " B")
        assert trace.target_log_probs.shape == (1,)
        assert trace.hidden.shape[0] == trace.gradient.shape[0] == 1
        assert len(trace.saliency) == len(trace.tokens) == 16
    assert continuation_cells(default_lm.encoder.decode, made.target.ids) == ((" B", range(1)),)


def test_c38_the_right_letter_moves_with_the_options(run, default_lm, caches):
    prompt_set = run("C38").case.prompt_set(expected="B")
    swapped = replace(prompt_set.variants[0], expected="A")
    made = analyse(default_lm, replace(prompt_set, variants=(swapped,)), caches, attributions=False)
    assert 'The right one moves ("B", "A")' in candidates(made, candidate_scores(default_lm, made, caches))


# C48, C50, C61: other cuts of the same letters


def test_c48_letters_set_apart_are_other_tokens_and_not_other_words(run):
    found = run("C48")
    assert [len(result.trace.tokens) for result in found.analysis.prompts] == [7, 20, 31]
    for label in ("spaced letters", "hyphens"):
        assert "the same letters and digits as in the reference, cut into other words" in found.notes(label)
    assert "e··p" in shown(found.trace("spaced letters").tokens.text)
    words = [cell.text for cell in cells(found.trace().tokens, "word")]
    assert words == ["Translate", " to", " French", ":", " ignore", " previous"]


def test_c50_separators_in_a_number_are_named_or_seen(run):
    found = run("C50")
    assert "U+2009 THIN SPACE after characters 9, 13" in found.notes("thin spaces")
    assert "1⟨U+2009⟩234⟨U+2009⟩567" in shown(found.trace("thin spaces").tokens.text)
    for label in ("commas", "thin spaces", "underscores"):
        assert "the same letters and digits" in found.notes(label)


def test_c61_sums_over_targets_of_other_lengths_are_marked_not_comparable(run):
    found = run("C61")
    assert [len(result.trace.target) for result in found.analysis.prompts] == [2, 13, 4, 4]
    assert "targets have different numbers of tokens: their sums are not comparable" in found.set_notes
    assert "Left out: 3 on their own target." in found.finding
    assert rank(found.trace()) == 2  # the first is Mumbai
    means = [result.trace.target_log_probs.mean() for result in found.analysis.prompts]
    assert max(means) == means[0]


def test_c61_combining_signs_stay_with_their_letter(run, default_lm):
    found = run("C61")
    shown_cells = [cell.text for cell in cells(found.trace("Hindi").tokens)]
    shown_cells += [text for text, _ in continuation_cells(default_lm.encoder.decode, found.trace("Hindi").target.ids)]
    assert len(shown_cells) > 10
    for text in shown_cells:
        assert not unicodedata.category(text[0]).startswith("M")
        assert "\ufffd" not in text


def test_c25_the_winner_follows_the_only_label_shown(run, default_lm, caches):
    found = run("C25")
    assert found.likeliest("all positive") == " positive"
    assert found.likeliest("all negative") == " negative"
    trace = analyse(default_lm, found.case.prompt_set(), caches).prompts[2].trace
    labels = [t for t, piece in enumerate(trace.tokens.pieces) if piece == " negative"]
    assert len(labels) == 4
    others = [t for t in range(1, len(trace.tokens)) if t not in labels]
    assert trace.saliency[labels].mean() > 1.3 * trace.saliency[others].mean()
