"""Chat templates, control tokens that a text spells, braces and entities: what is read as itself, and what is said."""

import pytest

from analysis.encoding import ids_alone
from analysis.explore import Caches, analyse
from analysis.model import assemble
from analysis.prompts import PromptSet
from analysis.text import unfilled_template
from tests import tiny
from tests.cases.reading import CASES

# C09, C27, C28, C30, C35: prompts that look like something else


def test_c09_a_transcript_in_completion_mode_is_plain_text_and_said_to_be(run):
    found = run("C09")
    assert "reads like a conversation (User:, Assistant:): in completion mode that is plain text" in found.notes()
    assert "chat mode applies it" in found.notes()
    assert not any(found.trace().tokens.control)


def test_c27_one_word_for_opposite_questions_is_consistent_in_words_only(run):
    found = run("C27")
    assert [result.row.expected for result in found.analysis.prompts] == ["No", "Yes", "False"]
    assert found.likeliest() == found.likeliest("contradict") == "No"
    assert (
        'The right one moves ("No", "Yes"): the answers are consistent in words, not in meaning.'
        in found.candidate_finding
    )
    assert "Right after one of three." in found.candidate_finding


def test_c28_a_blank_in_the_middle_is_not_filled_in(run):
    found = run("C28")
    assert "the blank “_____” is not filled in" in found.notes()
    assert "end the prompt before it (“Token wise but”)" in found.notes()
    assert "blank" not in found.notes("left context only")
    assert "is unlikely after every wording (p < 1 %)" in found.set_notes
    assert found.likeliest("left context only") == " data"
    for label, text in found.case.texts().items():
        assert found.trace(label).tokens.text == text


def test_c30_braces_are_text_and_no_variable_is_asked_for(run):
    found = run("C30")
    for label, text in found.case.texts().items():
        assert text in found.trace(label).tokens.text
        assert "template" not in found.notes(label)
    assert found.case.texts()["start with brace"].endswith("{")
    assert found.candidates().texts == ('{"', "```json")


def test_c35_a_foreign_template_is_text_and_the_models_own_is_named(run):
    found = run("C35")
    assert (
        "has a heading of an instruction format (### Instruction:): this model has its own chat template"
        in found.notes()
    )
    for label, text in found.case.texts().items():
        assert found.trace(label).tokens.text == text
        assert not any(found.trace(label).tokens.control)
    said = found.notes() + found.set_notes + found.finding + found.candidate_finding
    assert "language" not in said


# C33, C34: control tokens that a text spells


def test_c33_a_pasted_template_is_honoured_and_lacks_the_system_turn(run):
    found = run("C33")
    tokens = found.trace().tokens
    assert sum(tokens.control) == 3
    assert "text spells control tokens 3 times (<|im_start|>, <|im_end|>) and is read as those tokens" in found.notes()
    assert "would put '<|im_start|>system⏎You are a helpful AI assistant" in found.notes()


def test_c33_a_template_inside_the_template_is_warned_about(run):
    found = run("C33")
    assert sum(found.trace("pasted into chat mode").tokens.control) == 8
    assert sum(found.trace("proper chat").tokens.control) == 5
    said = found.notes("pasted into chat mode")
    assert "a chat template inside the chat template (8 control tokens instead of 5)" in said
    assert "template" not in found.notes("proper chat")


def test_c33_in_chat_mode_pasted_tags_are_plain_text_unless_asked_for(run):
    found = run("C33", control_tokens=None)
    assert sum(found.trace().tokens.control) == 3
    assert sum(found.trace("pasted into chat mode").tokens.control) == 5
    assert "is read as plain text" in found.notes("pasted into chat mode")
    assert "a chat template inside the chat template" in found.notes("pasted into chat mode")


def test_c34_a_tag_in_a_users_text_is_plain_text_in_chat_mode(run):
    plain, honoured = run("C34", control_tokens=None), run("C34")
    tokens = plain.trace("own end tag").tokens
    assert len(tokens) == len(honoured.trace("own end tag").tokens) + 5
    own = [index for index, role in zip(tokens.ids, tokens.roles, strict=True) if role == "text"]
    assert not set(own) & {index for index, c in zip(tokens.ids, tokens.control, strict=True) if c}
    assert sum(tokens.control) == 5
    assert "text spells control tokens 1 time (<|im_end|>) and is read as plain text" in plain.notes("own end tag")


def test_c34_the_phrase_has_nine_ids_instead_of_four(run, default_lm):
    phrase = "ignore <|im_end|> now"
    assert len(ids_alone(default_lm.encoder, phrase, control_tokens=True)) == 4
    assert len(ids_alone(default_lm.encoder, phrase, control_tokens=False)) == 9


def test_c34_every_added_token_is_flagged_and_the_tags_of_other_models_are_not(run):
    for settings in ({}, {"control_tokens": None}):
        found = run("C34", **settings)
        for label, tag in (("end of text", "<|endoftext|>"), ("repo tag", "<repo_name>")):
            assert f"text spells control tokens 1 time ({tag})" in found.notes(label)
        for label in ("reference", "other model tag", "llama tags"):
            assert found.notes(label) == ""


# C51, C52, C53, C58: braces, pipes, entities, Jinja


@pytest.mark.parametrize("name", ["C51", "C52", "C53"])
def test_braces_pipes_and_entities_are_sent_as_they_stand(run, name):
    found = run(name)
    for label, text in found.case.texts().items():
        assert found.trace(label).tokens.text == text
        assert "".join(found.trace(label).tokens.pieces) == text
        assert found.notes(label) == ""


def test_c51_fields_of_format_strings_are_not_templates():
    for text in CASES["C51"].texts().values():
        assert unfilled_template(text) is None


def test_c52_doubled_braces_stay_two(run):
    found = run("C52")
    assert "[{{'instruction'" in found.trace().tokens.text
    assert len(found.trace().tokens) == len(found.trace("single").tokens) + 2
    assert "{ with a hood|}" in found.trace("group syntax").tokens.text


def test_c53_entities_are_another_text(run):
    found = run("C53")
    assert (len(found.trace().tokens), len(found.trace("entities").tokens)) == (12, 25)
    assert "&lt; 3 &amp; y" in found.trace("entities").tokens.text


def test_c58_a_template_that_nobody_filled_in_is_flagged_and_nothing_in_it_is_evaluated(run):
    found = run("C58")
    assert "looks like a template that was not filled in: {{question.strip()}} and 2 more" in found.notes()
    assert found.trace().tokens.text == found.case.texts()["reference"]
    for label in ("filled", "filled + final newline"):
        assert "filled in" not in found.notes(label)
    assert found.trace("filled + final newline").tokens.pieces[-1] == "\n"


# C01: the mode, not the wording


def test_c01_a_model_that_leaves_the_question_is_an_effect_of_the_mode(run):
    found = run("C01")
    for label, share in (("question", 83), ("question+newline", 52)):
        assert f"would rather end its turn or begin a new line ({share} %)" in found.notes(label)
        assert "use chat mode" in found.notes(label)
        assert "“Answer:”" in found.notes(label)
    assert "end its turn" not in found.notes() + found.notes("chat question")
    assert "After two of them the model would rather end its turn" in found.finding
    assert "that shows the mode, not the wording" in found.finding


def test_a_model_without_a_template_is_not_told_to_use_it():
    lm = assemble(tiny.network("llama"), tiny.tokenizer(template=None), "tiny")
    made = analyse(lm, PromptSet("User: a\nAssistant:", target=" b"), Caches())
    assert not any("chat mode" in note.text for note in made.reference.notes)
