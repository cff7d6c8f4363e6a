"""A set in an address: nothing is lost, and a hostile address costs nothing."""

import base64
import json
import re
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.limits import MAX_LINK_CHARACTERS, MAX_UPLOAD_BYTES
from analysis.links import LinkTooLong, from_link, to_link_fragment
from analysis.prompts import PromptSet, Variant
from analysis.validation import PromptSetError
from tests.strategies import prompt_sets


def packed(data):
    return base64.urlsafe_b64encode(zlib.compress(data, 9)).decode().rstrip("=")


def fault(fragment):
    with pytest.raises(PromptSetError) as caught:
        from_link(fragment)
    return str(caught.value)


@given(prompt_sets)
def test_a_shared_set_opens_as_it_was(prompt_set):
    assert from_link(to_link_fragment(prompt_set)) == prompt_set


@given(prompt_sets)
def test_a_fragment_needs_no_escaping_in_an_address(prompt_set):
    assert re.fullmatch(r"[A-Za-z0-9_-]+", to_link_fragment(prompt_set))


def test_a_link_may_have_white_space_around_it():
    assert from_link(f" {to_link_fragment(PromptSet('a'))}\n") == PromptSet("a")


def test_a_set_that_does_not_fit_is_refused_with_size_and_limit():
    noise = "".join(chr(0x4E00 + (n * n * 7919) % 20_000) for n in range(5_000))
    with pytest.raises(LinkTooLong, match=r"1\d \d{3} characters; links have at most 8 000.*download the file instead"):
        to_link_fragment(PromptSet(noise))


def test_a_set_that_packs_well_but_is_larger_than_a_file_may_be_is_refused():
    variants = tuple(Variant(f"{number}" + "a" * 59_000) for number in range(60))
    with pytest.raises(LinkTooLong):
        to_link_fragment(PromptSet("a", variants))


def test_a_link_over_the_limit_is_refused_before_it_is_unpacked():
    assert "8 001 characters; links have at most 8 000" in fault("a" * (MAX_LINK_CHARACTERS + 1))


def test_a_decompression_bomb_is_not_unpacked():
    bomb = packed(b'"' + b" " * (3 * MAX_UPLOAD_BYTES // 2))
    assert len(bomb) <= MAX_LINK_CHARACTERS
    assert "unpacks to more than 2 097 152 bytes" in fault(bomb)


@given(st.text(max_size=60))
def test_any_text_gives_one_sentence(fragment):
    assert fault(fragment).startswith("the link: ")


@given(prompt_sets, st.data())
def test_a_link_that_lost_its_end_is_damaged(prompt_set, data):
    fragment = to_link_fragment(prompt_set)
    assert "is incomplete" in fault(fragment[: data.draw(st.integers(0, len(fragment) - 2))])


def test_a_changed_character_is_noticed():
    fragment = to_link_fragment(PromptSet("The capital of France is"))
    place = len(fragment) // 2
    changed = fragment[:place] + ("a" if fragment[place] != "a" else "b") + fragment[place + 1 :]
    assert fault(changed).startswith("the link: ")


def test_what_follows_the_packed_set_is_damage():
    data = zlib.compress(b'{"version":1,"reference":"a"}') + b"more"
    assert "is incomplete" in fault(base64.urlsafe_b64encode(data).decode().rstrip("="))


def test_a_link_is_held_to_the_rules_of_files():
    def of(**document):
        return packed(json.dumps({"version": 1, "reference": "a", **document}).encode())

    assert "an unknown key" in fault(of(script="b"))
    assert "reference is empty" in fault(of(reference=""))
    assert "reference has 60 001 characters" in fault(of(reference="a" * 60_001))
    assert "not valid JSON" in fault(packed(b"hello"))
    assert "is incomplete" in fault(packed(b"\xff\xfe"))
