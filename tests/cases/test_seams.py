"""Where prompt and target meet: tokens that join, prompts that end inside one, and targets of other forms."""

from dataclasses import replace

import pytest

from analysis.attribution import gradient_maps
from analysis.encoding import encode, encode_target
from analysis.explore import Caches, analyse
from analysis.findings import compared
from analysis.prompts import Prompt, PromptSet, Variant


def test_c08_a_blank_prefill_replaces_the_templates_newline(run):
    found = run("C08")
    before, after = found.trace().tokens, found.trace("prefill one space").tokens
    assert len(before) == len(after) == 37
    assert before.ids[:-1] == after.ids[:-1]
    assert (before.ids[-1], after.ids[-1]) == (198, 3805)
    assert after.pieces[-1] == "\n "
    assert after.text == before.text + " "
    assert "'⏎' (id 198) becomes '⏎␣' (id 3805)" in found.notes("prefill one space")


def test_c08_a_prefill_stands_behind_the_template_and_is_marked_as_such(run):
    found = run("C08")
    stem = found.trace("prefill stem").tokens
    assert stem.text == found.trace().tokens.text + "The capital of France is"
    assert stem.roles[-5:] == ("prefill",) * 5
    assert stem.ids[:37] == found.trace().tokens.ids
    assert "joins the template's last token" not in found.notes("prefill stem")
    assert "join across the seam in '␣The'" in found.notes("prefill stem + space")
    assert "the prefill ends in white space (space)" in found.notes("prefill stem + space")


def test_c11_a_prompt_that_ends_inside_a_token_is_flagged(run):
    found = run("C11")
    note = "the prompt ends inside a token: written as one text, prompt and 'py as np' join across the seam in '␣numpy'"
    assert note in found.notes("half a module name")
    assert "ends inside a token" not in found.notes() + found.notes("path to the half")


@pytest.mark.parametrize(
    ("prompt", "target", "inside"),
    [("Der Kinder", "garten", True), ("Das Kranken", "haus", False), ("我喜欢机器", "学习", False)],
)
def test_c11_what_splits_alike_is_not_flagged(default_lm, caches, prompt, target, inside):
    made = analyse(default_lm, PromptSet(prompt, target=target), caches, attributions=False)
    flagged = any("ends inside a token" in note.text for note in made.reference.notes)
    assert flagged == inside == (not made.target.joined)


def test_c11_two_ways_to_one_text_are_not_compared(run):
    found = run("C11")
    by_half = found.log_prob(" num", "path to the half") + found.log_prob("py as np", "half a module name")
    assert found.log_prob(" numpy as np") - by_half == pytest.approx(-17.08 + 24.24, abs=0.15)
    assert "are the reference's text, cut elsewhere" in found.notes("half a module name")
    assert "cut elsewhere" not in found.notes("path to the half")
    assert compared(found.analysis) == []


def test_c19_each_wording_has_answers_of_its_own(run):
    found = run("C19")
    assert [found.likeliest(label) for label in ("reference", "open question", "letter + text")] == [
        " A",
        " Mars",
        " A. Venus",
    ]
    said = found.candidate_finding
    assert '"A" is the likeliest after the reference' in said
    assert '"Mars" after "open question"' in said
    assert "Right after one of three." in said


def test_c19_answers_of_several_tokens_have_a_sum_and_a_mean(run):
    scores = run("C19").candidates("letter + text")
    assert scores.means * 3 == pytest.approx(scores.sums)


def test_c22_a_bare_letter_suits_an_open_bracket(run):
    found = run("C22")
    assert "ends inside a token" not in found.notes()
    assert found.log_prob("B") - found.log_prob(" B") == pytest.approx(11.59 - 2.25, abs=0.1)
    assert "'B' is 9.3 nats likelier than '␣B'" in run("C22", target=" B").set_notes
    assert found.trace().tokens.text.endswith("Answer:\n(")


def test_c40_a_foil_of_another_length_is_contrasted_as_a_whole_and_says_where(run, default_lm):
    trace = run("C40").trace()
    prompt = Prompt(trace.tokens.text, special_tokens=False)
    foil = encode_target(default_lm.encoder, prompt, trace.tokens, "吗？")
    assert (len(trace.target), len(foil)) == (2, 4)
    maps = gradient_maps(default_lm, trace.tokens, trace.target, foil)
    assert maps.diverges_at == 0
    assert maps.value == pytest.approx(-6.08 + 7.44, abs=0.05)


def test_c50_a_shared_target_would_report_a_collapse_that_is_not_there(run, default_lm, caches):
    found = run("C50")
    assert found.likeliest() == " 1234568"
    assert found.likeliest("commas") == " 1,234,568"
    assert found.row("commas").delta < -5
    prompt_set = found.case.prompt_set()
    own = replace(prompt_set, variants=(replace(prompt_set.variants[0], target=" 1,234,568"),))
    made = analyse(default_lm, own, caches, attributions=False)
    assert made.prompts[1].trace.log_prob == pytest.approx(-5.07, abs=0.05)
    assert "compared on its own target '␣1,234,568'" in made.prompts[1].notes[0].text
    assert "targets have different numbers of tokens" in "".join(note.text for note in made.notes)


def test_the_same_target_ids_are_scored_after_every_wording(default_lm):
    made = analyse(
        default_lm,
        PromptSet(
            "The capital of France is",
            tuple(map(Variant, (" The answer is ", "Paris? Yes:\n", "It is"))),
            target=" Paris",
        ),
        Caches(),
        attributions=False,
    )
    assert len({result.trace.target.ids for result in made.prompts}) == 1
    for result in made.prompts:
        alone = encode(default_lm.encoder, result.row.prompt)
        assert result.trace.tokens.ids == alone.ids
