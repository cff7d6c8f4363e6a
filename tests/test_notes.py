"""What is said about rows and sets: one sentence where it applies, silence where it does not."""

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
import torch

from analysis.encoding import encode
from analysis.explore import Caches, analyse
from analysis.model import LanguageModel, assemble
from analysis.prompts import Message, Prompt, PromptSet, Variant
from analysis.results import Analysis, Note
from tests import plain, tiny


@cache
def loaded(kind: str = "plain") -> LanguageModel:
    if kind == "plain":
        return plain.loaded()
    tokenizers = {
        "no template": lambda: tiny.tokenizer(template=None),
        "eos": lambda: tiny.tokenizer(bos=True, eos=True),
        "trimming": lambda: tiny.tokenizer(template=tiny.TEMPLATE.replace("m['content']", "m['content'] | trim")),
        "metaspace": tiny.metaspace_tokenizer,
    }
    return assemble(tiny.network("llama", scale=8.0), tokenizers[kind](), "tiny")


@cache
def certain_of(piece: str) -> LanguageModel:
    """A model that expects one token, whatever it reads: its head has a bias for it."""
    tokenizer = tiny.tokenizer()
    network = tiny.network("phi")
    with torch.no_grad():
        network.lm_head.bias.zero_()
        network.lm_head.bias[tokenizer.convert_tokens_to_ids(piece)] = 20.0
    return assemble(network, tokenizer, "tiny")


def analysed(
    reference: str | PromptSet, *variants: Variant, lm: LanguageModel | None = None, **fields: Any
) -> Analysis:
    asked = reference if isinstance(reference, PromptSet) else PromptSet(reference, variants, **fields)
    return analyse(lm or loaded(), asked, Caches())


def said(analysis: Analysis, row: int = 0) -> list[str]:
    """The sentences about the row at a place in the results."""
    return [note.text for note in analysis.prompts[row].notes]


def about(analysis: Analysis, words: str, row: int = 0) -> list[Note]:
    return [note for note in analysis.prompts[row].notes if words in note.text]


PLAIN = "The capital of France is"


def test_a_plain_set_has_nothing_to_be_said_about_its_rows() -> None:
    found = analysed(PLAIN, Variant("What is the capital of France?"), target=" Paris")
    assert said(found) == said(found, 1) == []


def test_every_note_is_one_plain_sentence() -> None:
    texts = [PLAIN + " ", "a\u200bb", "{{ x }}", "<|end|>", "User: hi\nAssistant:", "x ____ y", "the capit", "one  two"]
    variants = [Variant(text) for text in texts] + [Variant(text, mode="chat", prefill=" ") for text in texts]
    found = analysed(PLAIN, *variants, target="al is")
    for result in found.prompts:
        for note in (*result.notes, *found.notes):
            assert note.level in ("info", "warning", "error")
            assert note.text
            assert "\n" not in note.text
            assert not note.text.endswith(".")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (PLAIN + " ", "ends in white space (space)"),
        (PLAIN + "  ", "ends in white space (2 × space)"),
        (PLAIN + "\t", "ends in white space (tab)"),
        ("答案：\u3000", "U+3000 IDEOGRAPHIC SPACE"),
    ],
)
def test_white_space_at_the_end_is_warned_of_and_kept(text: str, words: str) -> None:
    found = analysed(text, target="Paris")
    assert about(found, words)[0].level == "warning"
    assert found.reference.trace is not None
    assert found.reference.trace.tokens.text == text


def test_a_newline_at_the_end_and_white_space_in_chat_mode_are_no_matter() -> None:
    assert not about(analysed(PLAIN + "\n", target="Paris"), "ends in white space")
    assert not about(analysed(PLAIN + " ", target="Paris", mode="chat"), "ends in white space")


def test_a_prompt_that_ends_inside_a_token_is_warned_of_with_the_token() -> None:
    found = analysed("What is the capit", target="al")
    note = about(found, "the prompt ends inside a token")[0]
    assert note.level == "warning"
    assert "'␣capital'" in note.text
    assert any("join into other tokens when encoded together" in note.text for note in found.notes)


def test_a_target_that_splits_otherwise_after_a_variant_is_said() -> None:
    """The same ids are scored everywhere, also where the text would be cut otherwise."""
    lm = loaded()
    ids = encode(lm.encoder, Prompt(" Paris")).ids
    assert len(ids) == 1
    letters = tuple(
        index for letter in (" ", "P", "aris") for index in encode(lm.encoder, Prompt("x" + letter)).ids[1:]
    )
    found = analysed(PLAIN, target=letters)
    assert about(found, "splits into other tokens than the ones scored")[0].level == "info"
    assert not about(analysed(PLAIN, target=ids), "splits into other tokens")


@pytest.mark.parametrize("kind", ["plain", "metaspace"])
def test_a_target_that_no_text_spells_is_not_compared_with_text(kind: str) -> None:
    lm = loaded(kind)
    half = encode(lm.encoder, Prompt("xé", special_tokens=False)).ids[-1:]
    for target in (half, (415,)):
        found = analysed(PLAIN, target=target, lm=lm)
        assert not about(found, "splits into")
        assert not about(found, "inside a token")


def test_text_that_spells_control_tokens_is_flagged_either_way() -> None:
    as_tokens = analysed("a <|end|> b <|end|> <|start|>", target=" x")
    assert about(as_tokens, "spells control tokens 3 times (<|end|>, <|start|>) and is read as those tokens")
    as_text = analysed("a <|end|>", target=" x", control_tokens=False)
    assert about(as_text, "spells control tokens 1 time (<|end|>) and is read as plain text")[0].level == "info"
    assert not about(analysed("a <end> <|begin|> [INST] </s>", target=" x"), "control tokens")
    in_turn = analysed("a", target=" x", mode="chat", turns=(Message("user", "<s>"),))
    assert about(in_turn, "spells control tokens 1 time (<s>)")


def test_a_template_inside_the_template_is_warned_of() -> None:
    pasted = "<|start|>user\nHi<|end|>\n<|start|>assistant\n"
    assert about(analysed(pasted, target="x", mode="chat"), "a chat template inside the chat template")
    assert not about(analysed(pasted, target="x"), "inside the chat template")


def test_a_template_that_strips_is_said_to() -> None:
    lm = loaded("trimming")
    assert about(analysed(" Hi ", target="x", mode="chat", lm=lm), "strips white space around the messages")
    assert not about(analysed("Hi", target="x", mode="chat", lm=lm), "strips white space")
    assert not about(analysed(" Hi ", target="x", mode="chat"), "strips white space")


def test_a_tokenizer_that_ends_the_prompt_is_warned_of() -> None:
    lm = loaded("eos")
    assert about(analysed(PLAIN, target=" Paris", lm=lm), "the tokenizer puts <|end|> after the prompt")
    assert not about(analysed(PLAIN, target=" Paris", special_tokens=False, lm=lm), "after the prompt")
    assert not about(analysed(PLAIN, target=" Paris", lm=lm), "ends inside a token")
    assert not about(analysed(PLAIN, target=" Paris", mode="chat", lm=lm), "the tokenizer puts")


@pytest.mark.parametrize("piece", ["<|end|>", "Ċ"])
def test_a_model_that_would_rather_leave_is_named_with_what_to_do(piece: str) -> None:
    lm = certain_of(piece)
    found = analysed(PLAIN, Variant("Question: what? Answer:"), Variant(PLAIN, mode="chat"), target=" Paris", lm=lm)
    note = about(found, "would rather end its turn or begin a new line (100 %)")[0]
    assert "end the prompt in a cue" in note.text
    assert "chat mode" in note.text
    assert about(found, "as after the reference", 1)
    assert not about(found, "would rather end", 2)  # in chat mode an end is an answer
    assert not about(analysed(PLAIN, target="<|end|>", lm=certain_of("<|end|>")), "would rather end")
    assert not about(analysed(PLAIN, target=" Paris", lm=certain_of("ĠParis")), "would rather end")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("User: Name a fruit.\nAssistant:", "reads like a conversation (User:, Assistant:)"),
        ("### Instruction:\nSay yes\n\n### Response:\n", "has a heading of an instruction format (### Instruction:)"),
    ],
)
def test_another_format_is_named_only_where_the_model_has_one_of_its_own(text: str, words: str) -> None:
    assert about(analysed(text, target="x"), words)
    assert not about(analysed(text, target="x", mode="chat"), words)
    assert not about(analysed(text, target="x", lm=loaded("no template")), words)
    assert not about(analysed(text, Variant(text + " "), target="x"), words, 1)  # said of the reference already


def test_a_blank_to_fill_in_is_said_not_to_be_filled() -> None:
    assert about(analysed("Token wise but ____ foolish.", target="x"), "is not filled in")
    assert not about(analysed("Name: ________", target="x", mode="chat"), "is not filled in")
    assert not about(analysed("a snake_case_name is", target="x"), "is not filled in")


def test_templates_that_were_not_filled_and_characters_that_are_not_seen_are_named() -> None:
    assert about(analysed("Translate {{ text }}", target="x"), "looks like a template that was not filled in")
    assert not about(analysed('Reply with {"a": 1}', target="x"), "template")
    assert about(analysed("Fra\u200bnce", target="x"), "U+200B ZERO WIDTH SPACE after character 3")
    system = analysed("Hi", target="x", mode="chat", system="a\u00a0b")
    assert about(system, "system prompt: U+00A0 NO-BREAK SPACE")
    assert about(analysed("Hi", target="x", mode="chat", prefill="\u00a0x"), "prefill: U+00A0")


def test_controls_duplicates_and_own_targets_are_named() -> None:
    found = analysed(
        PLAIN, Variant(PLAIN), Variant("one", kind="negative control"), Variant("two", target=" x"), target=" y"
    )
    assert about(found, "same tokens as the reference", 1)
    assert about(found, "a control that changes the meaning", 2)
    assert about(found, "compared on its own target '␣x'", 3)


def test_differences_below_the_noise_floor_are_said_to_be() -> None:
    lm = loaded()
    quiet = analysed(PLAIN, Variant(PLAIN + "?"), target=" Paris", lm=lm)
    assert not about(quiet, "noise floor", 1)

    noisy = replace(lm, card=replace(lm.card, noise_floor=99.0))
    found = analysed(PLAIN, Variant(PLAIN + "?"), Variant(PLAIN), target=" Paris", lm=noisy)
    assert about(found, "Δ is below the numeric noise floor of 99 nats", 1)
    assert not about(found, "noise floor", 2)  # exactly 0 is no noise
    assert not about(found, "noise floor", 0)


def test_the_other_leading_blank_is_named_where_it_is_much_likelier() -> None:
    lm = certain_of("ĠParis")
    found = analysed(PLAIN, target="Paris", lm=lm)
    gain = [note.text for note in found.notes if "nats likelier than 'Paris'" in note.text]
    assert len(gain) == 1
    assert gain[0].startswith("after the reference, '␣Paris' is")
    assert not any("likelier" in note.text for note in analysed(PLAIN, target=" Paris", lm=lm).notes)
    assert not any("likelier" in note.text for note in analysed(PLAIN, lm=lm).notes)  # nobody typed it


def test_sets_are_told_of_unlikely_targets_unequal_lengths_and_lonely_references() -> None:
    lm = certain_of("ĠParis")
    unlikely = analysed(PLAIN, Variant("one"), target=" yes", lm=lm)
    assert any("' yes' is unlikely after every wording" in note.text.replace("␣", " ") for note in unlikely.notes)
    assert not any("unlikely" in note.text for note in analysed(PLAIN, Variant("one"), target=" Paris", lm=lm).notes)
    lengths = analysed(PLAIN, Variant("one", target=" Paris is"), target=" Paris")
    assert any("targets have different numbers of tokens" in note.text for note in lengths.notes)
    assert any("add a paraphrase" in note.text for note in analysed(PLAIN, target=" Paris").notes)
    assert not any("add a paraphrase" in note.text for note in lengths.notes)


def test_notes_change_no_number() -> None:
    """The same ids have the same trace, whatever is said about the text."""
    found = analysed("Paris ", Variant("Paris ", kind="typo"), target=" yes")
    traces = [result.trace for result in found.prompts]
    assert traces[0] is not None
    assert traces[1] is not None
    assert np.array_equal(traces[0].next_log_probs, traces[1].next_log_probs)
