"""Text and token ids: what the model reads is what was typed, and every token knows its place."""

import re
from functools import lru_cache

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from analysis.encoding import (
    Encoder,
    EncodingError,
    encode,
    encode_target,
    ids_after,
    ids_alone,
    render,
    target_from_ids,
)
from analysis.prompts import Message, Prompt
from analysis.results import Tokens
from tests import tiny

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=40).filter(str.strip)
KINDS = ("plain", "bos", "trimmed", "eos", "metaspace", "unigram")

TRIMMING = tiny.TEMPLATE.replace("{{ m['content'] }}", "{{ m['content'] | trim }}")
NO_SYSTEM = "{% if messages[0]['role'] == 'system' %}{{ raise_exception('no system role') }}{% endif %}" + tiny.TEMPLATE
DEFAULT_SYSTEM = "{% if messages[0]['role'] != 'system' %}<|start|>system\nBe kind.<|end|>\n{% endif %}" + tiny.TEMPLATE
TWICE = "{% for m in messages %}[{{ m['content'] }}|{{ m['content'] }}]{% endfor %}"
SYSTEM_LAST = "{{ messages[1]['content'] }} :: {{ messages[0]['content'] }}"
SHOUTING = "{% for m in messages %}<|start|>{{ m['content'] | upper }}{% endfor %}"
CONTENT_DEPENDENT = "{% for m in messages %}{% if 'Paris' in m['content'] %}!{% endif %}{{ m['content'] }}{% endfor %}"
EMPTY_LEFT_OUT = "{% for m in messages %}{% if m['content'] %}<{{ m['content'] }}>{% endif %}{% endfor %}"


@lru_cache
def encoder(kind: str = "plain", template: str | None = tiny.TEMPLATE, vocabulary: int | None = None) -> Encoder:
    made = {
        "plain": lambda: tiny.tokenizer(template=template),
        "bos": lambda: tiny.tokenizer(bos=True, template=template),
        "trimmed": lambda: tiny.tokenizer(bos=True, trimmed=True, template=template),
        "eos": lambda: tiny.tokenizer(bos=True, eos=True, template=template),
        "metaspace": lambda: tiny.metaspace_tokenizer(template=template),
        "unigram": tiny.unigram_tokenizer,
    }[kind]()
    return Encoder("Tiny", made, frozenset({0}), vocabulary)


def pieces_text(tokens: Tokens) -> str:
    """The text under the tokens, each stretch once."""
    spans = sorted({span for span in tokens.spans if span[0] < span[1]})
    return "".join(tokens.text[start:end] for start, end in spans)


def of_role(tokens: Tokens, role: str) -> str:
    spans = sorted({span for span, own in zip(tokens.spans, tokens.roles, strict=True) if own == role})
    return "".join(tokens.text[start:end] for start, end in spans)


def chat(text: str, **kwargs: object) -> Prompt:
    return Prompt(text, mode="chat", control_tokens=False, **kwargs)  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", KINDS)
@given(text=TEXTS)
@example("  The capital\t of\r\nFrance \u00a0 is ")
@example("日本語のテスト 👩‍👩‍👧 e\u0301 \u200b ")
@example("<s><|end|><|start|> x")
@example("▁")
@example("▁x ▁▁")
def test_the_text_is_kept_and_every_character_lies_under_a_token(kind: str, text: str) -> None:
    tokens = encode(encoder(kind), Prompt(text))
    assert tokens.text == text
    assert len(tokens.ids) == len(tokens.pieces) == len(tokens.spans) == len(tokens.roles) == len(tokens.control)
    assert list(tokens.spans) == sorted(tokens.spans)
    if kind != "unigram":  # whose unknown letters share a span with their neighbours
        ends = [end for _, end in dict.fromkeys(span for span in tokens.spans if span[0] < span[1])]
        starts = [start for start, _ in dict.fromkeys(span for span in tokens.spans if span[0] < span[1])]
        assert starts == [0, *ends[:-1]]
    assert {index for span in tokens.spans for index in range(*span)} == set(range(len(text)))


@pytest.mark.parametrize("kind", ["plain", "bos", "trimmed", "eos", "metaspace"])
@given(text=TEXTS)
def test_the_ids_decode_to_the_text(kind: str, text: str) -> None:
    assume(kind != "metaspace" or "▁" not in text)  # which these tokenizers read as a blank
    tokens = encode(encoder(kind), Prompt(text, special_tokens=False))
    decoded = encoder(kind).decode(tokens.ids)
    assert decoded == (text if kind != "metaspace" or text.startswith((" ", "<s>", "<|")) else " " + text)


@given(TEXTS)
def test_a_piece_that_is_not_a_part_of_a_character_is_its_text(text: str) -> None:
    tokens = encode(encoder(), Prompt(text))
    for piece, span, index in zip(tokens.pieces, tokens.spans, tokens.ids, strict=True):
        if tokens.spans.count(span) == 1:
            assert piece == text[slice(*span)]
        else:
            assert "\ufffd" in piece
            assert piece == encoder().piece(index)


@given(TEXTS)
def test_names_of_tokens_put_together_spell_the_text_and_its_bytes(text: str) -> None:
    ids = encode(encoder(), Prompt(text)).ids
    spelled = b""
    for index in ids:
        for raw, plain in re.findall("⟨bytes ([0-9A-F ]+)⟩|(.)", encoder().name_of(index), re.DOTALL):
            spelled += bytes.fromhex(raw) if raw else plain.encode()
    assert spelled == text.encode()


def test_parts_of_a_character_are_named_in_a_target_and_counted_once_in_a_group() -> None:
    target = target_from_ids(encoder(), encode(encoder(), Prompt("a日")).ids, chosen=True)
    assert target.names == ("a", "日 (1 of 3)", "日 (2 of 3)", "日 (3 of 3)")
    assert "\ufffd" not in "".join(map(encoder().name_of, target.ids))


def test_parts_of_one_character_have_its_span_in_common() -> None:
    tokens = encode(encoder(), Prompt("é日👍"))
    assert tokens.spans == ((0, 1),) * 2 + ((1, 2),) * 3 + ((2, 3),) * 4
    assert set(tokens.pieces) == {"\ufffd"}


def test_blanks_belong_to_their_tokens_whatever_the_tokenizer_reports() -> None:
    text = "The  capital of France "
    trimmed, whole = encode(encoder("trimmed"), Prompt(text)), encode(encoder("bos"), Prompt(text))
    assert trimmed == whole
    assert "added" not in trimmed.roles[1:]
    assert " capital" in trimmed.pieces


def test_a_blank_that_the_tokenizer_puts_before_the_text_is_not_the_first_letter() -> None:
    tokens = encode(encoder("metaspace"), Prompt("日x"))
    assert tokens.pieces[:2] == ("<s>", " ")
    assert tokens.roles[:3] == ("added", "added", "text")
    assert pieces_text(tokens) == "日x"


@pytest.mark.parametrize("kind", ["bos", "trimmed", "metaspace"])
def test_the_tokenizers_bos_comes_once(kind: str) -> None:
    made = encoder(kind)
    assert made.bos_id is not None
    for text in ("The capital", "<s>The capital"):
        tokens = encode(made, Prompt(text))
        assert tokens.ids.count(made.bos_id) == 1
        assert (tokens.ids[0], tokens.pieces[0], tokens.control[0]) == (made.bos_id, "<s>", True)
    assert encode(made, Prompt("The capital")).roles[0] == "added"
    assert encode(made, Prompt("<s>The capital")).roles[0] == "text"  # typed, so shown as typed
    assert made.bos_id not in encode(made, Prompt("The capital", special_tokens=False)).ids
    assert encode(made, Prompt("<s><s>The")).ids.count(made.bos_id) == 2  # what was typed stays


def test_a_bos_spelled_as_plain_text_does_not_stand_for_the_real_one() -> None:
    tokens = encode(encoder("bos"), Prompt("<s>The", control_tokens=False))
    assert tokens.ids[0] == encoder("bos").bos_id
    assert pieces_text(tokens) == "<s>The"
    assert tokens.ids.count(encoder("bos").bos_id) == 1  # type: ignore[arg-type]


def test_a_chat_prompt_gets_no_special_tokens_but_the_templates() -> None:
    tokens = encode(encoder("bos"), chat("Hi"))
    assert encoder("bos").bos_id not in tokens.ids
    assert "added" not in tokens.roles
    with_bos = encoder("bos", "{{ bos_token }}" + tiny.TEMPLATE)
    assert encode(with_bos, chat("Hi")).ids.count(with_bos.bos_id) == 1  # type: ignore[arg-type]


def test_an_end_token_that_the_tokenizer_adds_stands_last_and_leaves_the_seam_alone() -> None:
    made = encoder("eos")
    prompt = Prompt("The capital of France is")
    tokens = encode(made, prompt)
    assert tokens.pieces[-1] == "<|end|>"
    assert (tokens.roles[-1], tokens.spans[-1]) == ("added", (24, 24))
    target = encode_target(made, prompt, tokens, " Paris")
    assert target.joined
    assert target == encode_target(encoder("bos"), prompt, encode(encoder("bos"), prompt), " Paris")


# --- control tokens ---------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_text_that_spells_a_control_token_is_that_token_or_plain_text_as_asked(kind: str) -> None:
    made = encoder(kind)
    name = "<s>" if kind == "unigram" else "<|end|>"
    honoured = encode(made, Prompt(f"a{name} b"))
    plain = encode(made, Prompt(f"a{name} b", control_tokens=False))
    assert made.control[name] in honoured.ids
    assert honoured.pieces[honoured.ids.index(made.control[name])] == name
    assert made.control[name] not in plain.ids[:-1]  # "eos" adds one at the end
    assert pieces_text(honoured) == pieces_text(plain) == f"a{name} b"
    assert [c for c, role in zip(plain.control, plain.roles, strict=True) if role == "text"] == [False] * (
        plain.roles.count("text")
    )


def test_plain_text_elsewhere_is_read_as_ever() -> None:
    """The way around look-alikes splits everything else as the tokenizer itself does."""
    text = "The capital of France é 日 "
    for kind in ("plain", "bos", "metaspace"):
        alone = encode(encoder(kind), Prompt(text, special_tokens=False))
        beside = encode(encoder(kind), Prompt(text + "<|end|>", special_tokens=False, control_tokens=False))
        assert beside.ids[: len(alone) - 1] == alone.ids[:-1]


def added(*tokens: tuple[str, bool]) -> Encoder:
    """An encoder whose tokenizer has further added tokens: (text, declared special)."""
    from tokenizers import AddedToken

    made = tiny.tokenizer(bos=True)
    made.backend_tokenizer.add_tokens([AddedToken(text, special=special) for text, special in tokens])
    return Encoder("Tiny", made, frozenset())


def test_added_tokens_count_as_control_tokens_though_they_are_not_declared_special() -> None:
    made = added(("<think>", False), ("<｜User｜>", False), ("<repo_name>", True))
    for name in ("<think>", "<｜User｜>", "<repo_name>"):
        assert made.control_spans(f"a {name} b") == [(2, 2 + len(name))]
        assert made.control[name] in encode(made, Prompt(f"a {name}")).ids
        assert made.control[name] not in encode(made, Prompt(f"a {name}", control_tokens=False)).ids


def test_newlines_blanks_and_html_that_a_vocabulary_adds_are_ordinary_text() -> None:
    """Gemma's newlines and tags are added tokens; they must be neither flagged nor taken apart."""
    made = added(("\n", False), ("\n\n", False), ("▁▁", False), ("<b>", False), ("</table>", False), ("<mark>", True))
    text = "one\n\ntwo\n<b>three</table> <mark>"
    assert made.control_spans(text) == [(len(text) - 6, len(text))]
    tokens = encode(made, Prompt(text, control_tokens=False))
    assert {"\n\n", "\n", "<b>", "</table>"} <= set(tokens.pieces)
    assert not any(tokens.control[1:])
    assert pieces_text(tokens) == text


def test_a_control_token_outside_the_models_own_vocabulary_keeps_its_id_beside_look_alikes() -> None:
    """Ids that the tokenizer counts on after its vocabulary are others while stand-ins are in place."""
    made = added(("\n\n", False), ("<think>", False), ("<｜User｜>", False))
    made.tokenizer.chat_template = "<pad>{{ messages[0]['content'] }}<｜User｜>\n\n."
    tokens = encode(made, chat("x <think> <pad>"))
    pad, user = made.control["<pad>"], made.control["<｜User｜>"]
    assert [index for index in tokens.ids if made.is_control(index)] == [pad, user]
    assert tokens.text == "<pad>x <think> <pad><｜User｜>\n\n."
    assert tokens.pieces[-2] == "\n\n"
    assert tokens.ids[-2] == made.full.token_to_id("\n\n")


def test_a_template_keeps_its_control_tokens_while_the_users_look_alikes_are_text() -> None:
    made = encoder()
    tokens = encode(made, chat("a<|end|>b<|start|>", turns=(Message("user", "<|end|>"),), system="<|start|>"))
    marks = [(piece, role) for piece, role, c in zip(tokens.pieces, tokens.roles, tokens.control, strict=True) if c]
    assert marks == [("<|start|>", "template"), ("<|end|>", "template")] * 3 + [("<|start|>", "template")]
    assert of_role(tokens, "text") == "a<|end|>b<|start|>"


@pytest.mark.parametrize("start", [0xF0000, 0xF8000, 0x100000, 0x108000])
def test_private_characters_of_the_user_never_stand_for_a_control_token(start: int) -> None:
    for kind in ("plain", "metaspace"):
        made = encoder(kind)
        forged = "".join(chr(start + number) + "\U0010fffd" * 8 for number in range(len(made.control)))
        tokens = encode(made, chat(f"a{forged}b <|end|>"))
        assert {role for c, role in zip(tokens.control, tokens.roles, strict=True) if c} == {"template"}
        assert of_role(tokens, "text") == f"a{forged}b <|end|>"


def test_private_characters_of_every_kind_beside_look_alikes_are_one_sentence() -> None:
    every = "".join(map(chr, (0xF0000, 0xF8000, 0x100000, 0x108000)))
    assert of_role(encode(encoder(), chat(every)), "text") == every
    with pytest.raises(EncodingError, match="private code points of every kind"):
        encode(encoder(), chat(every + "<|end|>"))


# --- chat -------------------------------------------------------------------------------------------


@given(text=TEXTS, system=st.none() | TEXTS, turns=st.lists(TEXTS, max_size=3), prefill=st.just("") | TEXTS)
@example("{{ messages }}", "<|start|>system\n", ["user", "assistant"], "<|end|>")
@example("user", "system", ["user\n"], "assistant\n")
@example("\ue0000\ue0001", "\ue000", ["\ue001"], "\ue0f80\ue0f9")
def test_a_chat_prompt_holds_every_message_once_in_its_own_role(
    text: str, system: str | None, turns: list[str], prefill: str
) -> None:
    prompt = chat(text, system=system, turns=tuple(Message("user", turn) for turn in turns), prefill=prefill)
    rendered = render(encoder(), prompt)
    stretches = [(rendered.text[start:end], role) for start, end, role in rendered.stretches]
    wanted = [(system, "system")] if system else []
    wanted += [*((turn, "turn") for turn in turns), (text, "text")] + ([(prefill, "prefill")] if prefill else [])
    assert [(part, role) for part, role in stretches if role != "template"] == wanted
    assert "".join(part for part, _ in stretches) == rendered.text == encode(encoder(), prompt).text
    assert not rendered.trimmed


def test_roles_follow_the_messages_to_the_tokens() -> None:
    prompt = chat("What?", system="Be brief.", turns=(Message("user", "Hi"), Message("assistant", "Yes")), prefill="It")
    tokens = encode(encoder(), prompt)
    for role, content in (("system", "Be brief."), ("turn", "HiYes"), ("text", "What?"), ("prefill", "It")):
        assert of_role(tokens, role) == content
    assert tokens.text.endswith("<|start|>assistant\nIt")
    assert of_role(tokens, "template").startswith("<|start|>system\n")


def test_no_system_prompt_leaves_the_templates_own_and_an_empty_one_replaces_it() -> None:
    made = encoder(template=DEFAULT_SYSTEM)
    absent, empty, own = (encode(made, chat("Hi", system=system)) for system in (None, "", "Be rude."))
    assert "Be kind." in absent.text
    assert "system" not in absent.roles
    assert "Be kind." not in empty.text
    assert empty.text.startswith("<|start|>system\n<|end|>")
    assert of_role(own, "system") == "Be rude."


def test_a_template_that_strips_messages_is_said_to() -> None:
    made = encoder(template=TRIMMING)
    rendered = render(made, chat("  Hi \n", turns=(Message("user", "no blanks"),)))
    assert rendered.trimmed
    assert [rendered.text[a:b] for a, b, role in rendered.stretches if role == "text"] == ["Hi"]
    assert [rendered.text[a:b] for a, b, role in rendered.stretches if role == "turn"] == ["no blanks"]
    assert not render(made, chat("Hi")).trimmed


def test_a_template_that_strips_one_message_only_is_followed() -> None:
    template = "{{ messages[0]['content'] }}|{{ messages[1]['content'] | trim }}|"
    rendered = render(encoder(template=template), chat(" b ", system=" a "))
    assert [(rendered.text[a:b], role) for a, b, role in rendered.stretches if role != "template"] == [
        (" a ", "system"),
        ("b", "text"),
    ]
    assert rendered.trimmed


def test_a_message_that_stands_twice_in_the_template_is_the_users_both_times() -> None:
    rendered = render(encoder(template=TWICE), chat("[|]"))
    assert [(rendered.text[a:b], role) for a, b, role in rendered.stretches] == [
        ("[", "template"),
        ("[|]", "text"),
        ("|", "template"),
        ("[|]", "text"),
        ("]", "template"),
    ]


def test_messages_are_found_in_whatever_order_a_template_puts_them() -> None:
    rendered = render(encoder(template=SYSTEM_LAST), chat("a", system="a :: a"))
    assert [(rendered.text[a:b], role) for a, b, role in rendered.stretches if role != "template"] == [
        ("a", "text"),
        ("a :: a", "system"),
    ]


def test_a_template_that_reads_the_messages_is_followed() -> None:
    made = encoder(template=CONTENT_DEPENDENT)
    rendered = render(made, chat("Is it Paris?", turns=(Message("user", "Rome?"),)))
    assert rendered.text == "Rome?!Is it Paris?"
    assert [(rendered.text[a:b], role) for a, b, role in rendered.stretches] == [
        ("Rome?", "turn"),
        ("!", "template"),
        ("Is it Paris?", "text"),
    ]
    empty = render(encoder(template=EMPTY_LEFT_OUT), chat("Hi", system=""))
    assert empty.text == "<Hi>"


def test_a_template_that_rewrites_the_messages_still_gives_its_text() -> None:
    tokens = encode(encoder(template=SHOUTING), chat("hi", turns=(Message("user", "OK"),)))
    assert tokens.text == "<|start|>OK<|start|>HI"
    assert of_role(tokens, "turn") == "OK"
    assert set(tokens.roles) == {"turn", "template"}


def test_a_message_with_every_private_character_is_found_in_the_template() -> None:
    every = "".join(map(chr, range(0xE000, 0xF900)))
    tokens = encode(encoder(), chat(every, system="b"))
    assert (of_role(tokens, "text"), of_role(tokens, "system")) == (every, "b")


def test_what_a_template_refuses_is_one_sentence() -> None:
    made = encoder(template=NO_SYSTEM)
    assert encode(made, chat("Hi")).text
    with pytest.raises(EncodingError, match=r"^the chat template of Tiny refuses this conversation: no system role$"):
        encode(made, chat("Hi", system="Be kind."))


def test_chat_mode_needs_a_template() -> None:
    with pytest.raises(
        EncodingError, match=r"^Tiny has no chat template; use completion mode, or load an instruct model$"
    ):
        encode(encoder(template=None), chat("Hi"))


# --- text that cannot be encoded --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("prompt", "message"),
    [
        (Prompt(""), "the prompt is empty"),
        (Prompt(" \n\t"), r"only white space \(3 characters\)"),
        (chat(""), "the prompt is empty"),
        (Prompt("ab\ud83dc"), r"the prompt has half a surrogate pair \(U\+D83D\) at character 3"),
        (chat("a", system="\udc00"), r"the system prompt has half a surrogate pair \(U\+DC00\) at character 1"),
        (chat("a", prefill="x\udfff"), "the prefill has half a surrogate pair"),
        (
            chat("a", turns=(Message("user", "b"), Message("assistant", "\ud800"))),
            "the earlier message 2 has half a surrogate pair",
        ),
    ],
)
def test_text_that_cannot_be_read_is_one_sentence(prompt: Prompt, message: str) -> None:
    with pytest.raises(EncodingError, match=message) as raised:
        encode(encoder(), prompt)
    assert "\n" not in str(raised.value)
    str(raised.value).encode()


def test_a_token_that_the_model_has_no_embedding_for_is_named() -> None:
    """A tokenizer may have more tokens than its model: a pad token added later, for one."""
    pad = encoder().control["<pad>"]
    made = encoder(vocabulary=pad)
    with pytest.raises(
        EncodingError, match=f"'<pad>', token {pad}, which Tiny does not know: its ids end at {pad - 1}"
    ):
        encode(made, Prompt("a<pad>"))
    assert encode(made, Prompt("a<pad>", control_tokens=False)).ids


# --- targets ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["plain", "bos", "trimmed", "eos", "metaspace"])
@given(text=TEXTS, target=TEXTS)
def test_a_targets_ids_spell_the_target(kind: str, text: str, target: str) -> None:
    assume(kind != "metaspace" or "▁" not in text + target)
    made, prompt = encoder(kind), Prompt(text)
    tokens = encode(made, prompt)
    rest = ids_after(made, prompt, tokens, target)
    if len(rest or ()) > 32 or (not rest and len(ids_alone(made, target)) > 32):
        with pytest.raises(EncodingError, match="at most 32"):
            encode_target(made, prompt, tokens, target)
        return
    found = encode_target(made, prompt, tokens, target)
    assert (found.text, found.chosen, found.joined) == (target, True, bool(rest))
    assert found.ids == (rest or ids_alone(made, target))
    assert made.decode(found.ids) == target


def test_a_target_is_encoded_with_the_prompt_where_the_prompts_own_tokens_stay() -> None:
    prompt = Prompt("The capital of France is")
    tokens = encode(encoder(), prompt)
    target = encode_target(encoder(), prompt, tokens, " Paris is")
    assert target.pieces == (" Paris", " is")
    assert target.joined
    assert tokens.ids + target.ids == encode(encoder(), Prompt(prompt.text + " Paris is")).ids


@pytest.mark.parametrize("kind", ["plain", "metaspace"])
def test_a_target_that_would_join_the_prompts_last_token_is_encoded_alone(kind: str) -> None:
    prompt = Prompt("The capital of France is ")
    tokens = encode(encoder(kind), prompt)
    target = encode_target(encoder(kind), prompt, tokens, "Paris")
    assert not target.joined
    assert "".join(target.pieces) == "Paris"
    assert encode_target(encoder(kind), Prompt("x"), encode(encoder(kind), Prompt("x")), " Paris").joined


def test_a_target_may_join_the_prefill_or_the_template() -> None:
    prompt = chat("Hi", prefill=" ")
    target = encode_target(encoder(), prompt, encode(encoder(), prompt), "Paris")
    assert not target.joined
    prompt = chat("Hi")
    assert encode_target(encoder(), prompt, encode(encoder(), prompt), "Paris").joined


def test_a_target_by_ids_is_taken_as_it_is() -> None:
    prompt = Prompt("x")
    half = encode(encoder(), Prompt("é", special_tokens=False)).ids[:1]
    target = encode_target(encoder(), prompt, encode(encoder(), prompt), half)
    assert target.ids == half
    assert (target.text, target.pieces, target.chosen, target.joined) == ("\ufffd", ("\ufffd",), True, True)


def test_a_target_that_spells_a_control_token_follows_the_prompts_switch() -> None:
    for control_tokens, count in ((True, 1), (False, 7)):
        prompt = Prompt("x", control_tokens=control_tokens)
        target = encode_target(encoder(), prompt, encode(encoder(), prompt), "<|end|>")
        assert (len(target) == 1) == (count == 1)
        assert "".join(target.pieces) == target.text == "<|end|>"


@pytest.mark.parametrize(
    ("continuation", "message"),
    [
        ("", "the target is empty"),
        ("\ud800", "the target has half a surrogate pair at character 1"),
        ((), "the target gives no tokens"),
        ("x" * 33, "the target has 33 tokens; at most 32 can be scored"),
        (tuple(range(33)), "the target has 33 tokens; at most 32 can be scored"),
        ((420,), r"token id 420 is not in the vocabulary of Tiny \(0 to 419\)"),
        ((3, -1), r"token id -1 is not in the vocabulary of Tiny \(0 to 419\)"),
    ],
)
def test_a_target_that_cannot_be_scored_is_one_sentence(continuation: str | tuple[int, ...], message: str) -> None:
    made, prompt = encoder(vocabulary=420), Prompt("The")
    with pytest.raises(EncodingError, match=message):
        encode_target(made, prompt, encode(made, prompt), continuation)


def test_an_id_that_only_the_model_has_is_a_target_with_a_name() -> None:
    """Models are often a little larger than their tokenizers."""
    made = encoder(vocabulary=420)
    assert not made.knows(415)
    target = target_from_ids(made, (415, 67), chosen=False)
    assert (target.text, target.pieces) == ("[415]a", ("[415]", "a"))
    assert made.decode((67, 415, 416, 67)) == "a[415][416]a"


def test_ids_after_a_prompt_are_none_where_the_prompt_changes() -> None:
    prompt = Prompt("The capit")
    tokens = encode(encoder(), prompt)
    assert ids_after(encoder(), prompt, tokens, "al") is None
    assert ids_after(encoder(), prompt, tokens, " is") == (encoder().full.token_to_id("Ġis"),)


def test_a_text_alone_has_no_blank_before_it() -> None:
    made = encoder("metaspace")
    assert made.decode(ids_alone(made, "Paris")) == "Paris"
    assert made.decode(ids_alone(made, " Paris")) == " Paris"
    assert len(ids_alone(made, " Paris")) == 1


def test_decoding_gives_control_tokens_by_name_and_keeps_a_leading_blank() -> None:
    for kind in ("plain", "metaspace"):
        made = encoder(kind)
        ids = ids_alone(made, " Paris<|end|>")
        assert made.decode(ids) == " Paris<|end|>"
        assert [made.piece(index) for index in ids] == [" Paris", "<|end|>"]


def test_the_filler_is_pad_then_eos() -> None:
    assert encoder().filler_id == encoder().control["<pad>"]
    assert encoder("metaspace").filler_id == encoder("metaspace").control["<|end|>"]
