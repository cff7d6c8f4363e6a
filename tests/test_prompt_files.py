"""Prompt sets as JSON: nothing is lost on the way out and in, and every fault is named with its place."""

import codecs
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.limits import MAX_PROMPT_CHARACTERS, MAX_VARIANTS
from analysis.prompt_files import decode, dump_json, from_document, load_json, parse_json, to_document
from analysis.prompts import INHERIT, Message, PromptSet, Variant
from analysis.validation import PromptSetError, check, problems
from tests.strategies import prompt_sets

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.sampled_from(["", "a", "chat", "\n"]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["text", "role", "a\nb"]), inner, max_size=3)
    ),
)


def fault(text, source="SET.json"):
    """The sentence with which a file is refused."""
    with pytest.raises(PromptSetError) as caught:
        load_json(text, source)
    sentence = str(caught.value)
    assert sentence.startswith(f"{source}: ")
    assert "\n" not in sentence
    return sentence


def sentence_or_none(text):
    """The sentence with which a file is refused, if it is."""
    try:
        load_json(text, "SET.json")
    except PromptSetError as error:
        return str(error)
    return None


def is_refused_in_one_sentence_or_read(text):
    sentence = sentence_or_none(text)
    return sentence is None or (sentence.startswith("SET.json: ") and "\n" not in sentence)


def fault_with(**settings):
    return fault(json.dumps({"version": 1, "reference": "a", **settings}))


# Round trip


@given(prompt_sets)
def test_a_saved_set_opens_as_it_was(prompt_set):
    assert load_json(dump_json(prompt_set), "SET.json") == prompt_set


@given(prompt_sets)
def test_a_saved_set_opens_as_it_was_from_bytes_in_any_encoding_that_says_what_it_is(prompt_set):
    text = dump_json(prompt_set)
    for data in (text.encode(), codecs.BOM_UTF8 + text.encode(), text.encode("utf-16")):
        assert load_json(data, "SET.json") == prompt_set


@given(prompt_sets)
def test_leaving_out_defaults_changes_nothing(prompt_set):
    brief = to_document(prompt_set, brief=True)
    assert from_document(brief, "SET.json") == prompt_set
    assert brief.items() <= {**to_document(prompt_set), **{"variants": brief.get("variants")}}.items()


@given(prompt_sets)
def test_writing_what_was_read_gives_the_same_file(prompt_set):
    text = dump_json(prompt_set)
    assert dump_json(load_json(text, "SET.json")) == text


def test_the_smallest_file_has_a_version_and_a_reference():
    assert load_json('{"version": 1, "reference": "a"}', "SET.json") == PromptSet("a")
    assert to_document(PromptSet("a"), brief=True) == {"version": 1, "reference": "a"}


def test_the_format_of_the_design_is_read_and_written():
    text = """{"version": 1, "name": "Capital of France", "model": "default", "mode": "completion", "system": null,
     "special_tokens": true, "target": " Paris", "foil": null, "candidates": null, "expected": "Paris",
     "response_tokens": 20, "turns": [],
     "reference": "The capital of France is",
     "variants": [{"text": "France's capital city is", "kind": "paraphrase", "label": "possessive"}]}"""
    prompt_set = load_json(text, "SET.json")
    assert prompt_set.variants == (Variant("France's capital city is", "paraphrase", "possessive"),)
    assert to_document(prompt_set) == json.loads(text)


def test_an_absent_system_is_the_sets_null_is_the_templates_and_empty_is_an_empty_turn():
    rows = [{"text": "b"}, {"text": "b", "system": None}, {"text": "b", "system": ""}]
    text = json.dumps({"version": 1, "reference": "a", "variants": rows})
    variants = load_json(text, "SET.json").variants
    assert [variant.system for variant in variants] == [INHERIT, None, ""]


def test_targets_may_be_token_ids():
    prompt_set = load_json('{"version": 1, "reference": "a", "target": [5, 0], "foil": [7]}', "SET.json")
    assert (prompt_set.target, prompt_set.foil) == ((5, 0), (7,))


def test_text_is_kept_to_the_last_blank_and_newline():
    text = "  a\r\n\tb\u00a0\u200b\ufeff\u2028\x00\x1b \n\n"
    prompt_set = PromptSet(text, (Variant(text), Variant(""), Variant(" \n")))
    assert load_json(dump_json(prompt_set).encode(), "SET.json") == prompt_set


def test_letters_stay_readable_in_the_file_and_what_cannot_be_seen_is_escaped():
    text = dump_json(PromptSet("日本語 é 👩🏼\u200d🦳\u200b\u00a0\U000e0041"))
    assert "日本語 é 👩🏼" in text
    assert "\\u200b\\u00a0\\udb40\\udc41" in text


def test_a_blank_rewording_is_kept_and_reported():
    prompt_set = PromptSet("a", (Variant("b"), Variant(" \n"), Variant("", enabled=False)))
    assert load_json(dump_json(prompt_set), "SET.json") == prompt_set
    (problem,) = problems(prompt_set)
    assert (problem.place, problem.row, problem.blank) == ("variants[1].text", 2, True)
    assert problem.sentence == "rewording 2 is empty and left out"


# What is refused


@given(st.binary(max_size=40))
def test_any_bytes_give_a_set_or_one_sentence(data):
    assert is_refused_in_one_sentence_or_read(data)


@given(
    st.dictionaries(
        st.sampled_from(list(to_document(PromptSet("a", prefill="b", control_tokens=True)))), json_values, max_size=6
    )
)
def test_any_values_give_a_set_or_one_sentence(document):
    assert is_refused_in_one_sentence_or_read(json.dumps({"version": 1, "reference": "a", **document}))


@given(
    st.lists(st.dictionaries(st.sampled_from(["text", "kind", "label", "system", "target"]), json_values), max_size=3)
)
def test_any_variants_give_a_set_or_one_sentence(rows):
    assert is_refused_in_one_sentence_or_read(json.dumps({"version": 1, "reference": "a", "variants": rows}))


def test_unknown_keys_are_named_with_their_place():
    assert 'variants[2] has an unknown key "txt"; did you mean "text"?' in fault_with(
        variants=[{"text": "a"}, {"text": "b"}, {"txt": "c", "text": "c"}]
    )
    assert 'the set has an unknown key "varients"' in fault_with(varients=[])
    assert 'turns[0] has an unknown key "name"' in fault_with(turns=[{"role": "user", "content": "a", "name": "b"}])


def test_another_version_is_named_beside_the_one_that_is_read():
    for version in (3, "1", 1.0, True, None):
        sentence = fault_with(version=version)
        assert f"version {json.dumps(version)} is not known; this reads version 1" in sentence
    assert '"version" is missing' in fault('{"reference": "a"}')


def test_wrong_types_are_named_with_place_and_value():
    assert "reference must be text, it is 5" in fault_with(reference=5)
    assert "special_tokens must be true or false, it is 1" in fault_with(special_tokens=1)
    assert "response_tokens must be a whole number, it is 20.0" in fault_with(response_tokens=20.0)
    assert "response_tokens must be a whole number, it is true" in fault_with(response_tokens=True)
    assert "variants must be a list, it is an object" in fault_with(variants={"a": {"text": "b"}})
    assert 'variants[0] must be an object, it is "b"' in fault_with(variants=["b"])
    assert 'variants[0] has no "text"' in fault_with(variants=[{"kind": "typo"}])
    assert "target must be text, a list of token ids, or null, it is 3" in fault_with(target=3)
    assert "target[1] must be a whole number, it is true" in fault_with(target=[3, True])
    assert "candidates[1] must be text, it is null" in fault_with(candidates=["A", None])
    assert "variants[0].target[0] must be" in fault_with(variants=[{"text": "a", "target": ["b"]}])
    assert 'mode must be completion or chat, it is "base"' in fault_with(mode="base")
    assert "variants[0].mode must be" in fault_with(variants=[{"text": "a", "mode": ["chat"]}])
    assert "a prompt set is a JSON object, this is a list" in fault("[1]")


def test_limits_are_named_with_the_value():
    assert f"variants has 65 rewordings; at most {MAX_VARIANTS}" in fault_with(variants=[{"text": "b"}] * 65)
    assert "reference has 60 001 characters; at most 60 000" in fault_with(reference="a" * 60_001)
    assert "variants[0].text has 60 001 characters" in fault_with(variants=[{"text": "a" * 60_001}])
    for count in (0, 65, -1):
        assert f"response_tokens must be 1 to 64 tokens, it is {count}" in fault_with(response_tokens=count)
    assert "name has 201 characters; at most 200" in fault_with(name="a" * 201)
    assert "turns has 65 earlier messages; at most 64" in fault_with(turns=[{"role": "user", "content": "a"}] * 65)
    assert "candidates has 33 answers; at most 32" in fault_with(candidates=[str(n) for n in range(33)])
    assert "target has 33 tokens; at most 32" in fault_with(target=[1] * 33)
    assert "target holds -1, which is no token id" in fault_with(target=[-1])
    for key, value in (("target", [10**4000]), ("response_tokens", 10**4000)):
        assert len(fault_with(**{key: value})) < 200


def test_at_the_limit_a_set_is_read():
    prompt_set = PromptSet("a" * MAX_PROMPT_CHARACTERS, (Variant("b"),) * MAX_VARIANTS, response_tokens=64)
    assert load_json(dump_json(prompt_set), "SET.json") == prompt_set


def test_blank_references_and_answers_are_refused():
    for blank in ("", " \n", "\u00a0"):
        assert "reference is empty" in fault_with(reference=blank)
    assert "target is empty" in fault_with(target="")
    assert "target is empty" in fault_with(target=[])
    assert "foil is empty" in fault_with(foil="")
    assert "expected is empty" in fault_with(expected=" ")
    assert "candidates is empty" in fault_with(candidates=[])
    assert "candidates[1] is empty" in fault_with(candidates=["A", ""])
    assert "candidates[2] is the same as candidate 1" in fault_with(candidates=["A", "B", "A"])
    assert '"reference" is missing' in fault('{"version": 1}')


def test_roles_are_those_of_chat_templates():
    assert "turns[1].role has the role “robot”; the roles are user, assistant" in fault_with(
        turns=[{"role": "user", "content": "a"}, {"role": "robot", "content": "b"}]
    )
    assert 'turns[0] has no "content"' in fault_with(turns=[{"role": "user"}])


def test_what_json_forbids_or_would_lose_is_refused():
    assert "NaN is not a JSON number" in fault('{"version": 1, "reference": "a", "response_tokens": NaN}')
    assert 'the key "text" is given twice' in fault(
        '{"version": 1, "reference": "a", "variants": [{"text": "b", "text": "c"}]}'
    )
    assert "not valid JSON at line 2, column 1" in fault('{"version": 1,\n')
    assert "not valid JSON" in fault("")
    assert "nested too deeply" in fault("[" * 100_000)
    assert "too many digits" in fault('{"version": ' + "1" * 5000 + "}")


def test_half_a_surrogate_pair_is_refused_with_its_place():
    assert "reference holds U+D83D after character 1" in fault('{"version": 1, "reference": "a\\ud83d"}')
    assert "variants[0].label holds U+DC00" in fault_with(variants=[{"text": "a", "label": "\udc00"}])
    with pytest.raises(PromptSetError, match=r"U\+DC00"):
        dump_json(PromptSet("\udc00"))
    assert load_json('{"version": 1, "reference": "\\ud83d\\ude00"}', "SET.json").reference == "😀"


def test_other_encodings_are_refused_with_line_and_byte():
    assert "line 2 is not UTF-8 text (byte 0xE9)" in fault('{"version": 1,\n "reference": "\xe9"}'.encode("latin-1"))
    assert "starts like UTF-16" in fault(codecs.BOM_UTF16_LE + b"\x00\xd8\x00")
    assert decode("é".encode("utf-16"), "a") == "é"


def test_long_values_are_shortened_in_messages():
    assert len(fault_with(mode="x" * 10_000)) < 200
    assert len(fault_with(**{"y" * 10_000: 1})) < 400


# Problems of a set that is being edited


@given(prompt_sets)
def test_a_set_without_blank_rewordings_has_no_problem(prompt_set):
    assert all(problem.blank for problem in problems(prompt_set))


def test_problems_say_which_row_they_belong_to():
    prompt_set = PromptSet(
        " ",
        (Variant("b"), Variant("c" * 60_001), Variant("d", target="")),
        response_tokens=0,
        turns=(Message("robot", "e"),),
    )
    found = {problem.place: problem for problem in problems(prompt_set)}
    rows = {place: problem.row for place, problem in found.items()}
    assert rows == {
        "reference": 0,
        "variants[1].text": 2,
        "variants[2].target": 3,
        "response_tokens": None,
        "turns[0].role": None,
    }
    assert found["variants[1].text"].sentence == "rewording 2 has 60 001 characters; at most 60 000 are read"
    assert found["response_tokens"].sentence == "the answer's length must be 1 to 64 tokens, it is 0"


def test_check_raises_the_first_problem():
    check(PromptSet("a", (Variant("b"),)))
    with pytest.raises(PromptSetError, match="the reference is empty"):
        check(PromptSet("", (Variant(""),)))


def test_problems_agree_with_what_a_file_may_hold():
    for broken in (PromptSet("a", target=""), PromptSet("a", (Variant("b", kind=" "),)), PromptSet("a", model="")):
        (problem,) = problems(broken)
        with pytest.raises(PromptSetError) as caught:
            load_json(dump_json(broken), "SET.json")
        assert str(caught.value) == f"SET.json: {problem.place} {problem.fault}"


def test_parsing_keeps_the_order_and_values_of_plain_json():
    assert parse_json('\ufeff{"b": [1, 2.5, null], "a": "c"}', "x") == {"b": [1, 2.5, None], "a": "c"}


def test_the_users_verdict_wins_over_the_kind_and_is_saved():
    variants = (
        Variant("no", kind="negative control"),
        Variant("still the same", kind="negative control", same_meaning=True),
        Variant("something else", kind="paraphrase", same_meaning=False),
        Variant("the same"),
    )
    prompt_set = load_json(dump_json(PromptSet("yes", variants)), "set.json")
    assert [row.is_control for row in prompt_set.rows()[1:]] == [True, False, True, False]
    assert prompt_set.variants == variants
