"""The built-in examples are sets that the editor would accept, and each can show what it is for."""

from pathlib import Path

import pytest

import analysis.examples
from analysis.examples import EXAMPLES
from analysis.links import from_link, to_link_fragment
from analysis.prompt_files import dump_json, load_json
from analysis.prompts import CONTROL_KINDS, KINDS
from analysis.text import boundary_note, describe
from analysis.validation import problems

every_example = pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.key)


def test_there_are_enough_and_the_first_is_the_capital_of_france():
    assert len(EXAMPLES) >= 14
    assert EXAMPLES[0].prompt_set.reference == "The capital of France is"
    assert EXAMPLES[0].prompt_set.target == " Paris"


def test_every_file_is_in_the_menu():
    files = {path.stem for path in Path(analysis.examples.__file__).parent.glob("*.json")}
    assert files == {example.key for example in EXAMPLES}


def test_titles_and_texts_about_them_are_not_repeated():
    assert len({example.title for example in EXAMPLES}) == len(EXAMPLES)
    assert len({example.shows for example in EXAMPLES}) == len(EXAMPLES)


@every_example
def test_an_example_has_no_problem(example):
    assert problems(example.prompt_set) == ()


@every_example
def test_an_example_comes_back_from_file_and_link(example):
    assert load_json(dump_json(example.prompt_set), "example") == example.prompt_set
    assert from_link(to_link_fragment(example.prompt_set)) == example.prompt_set


@every_example
def test_a_file_is_as_the_editor_would_save_it(example):
    path = Path(analysis.examples.__file__).parent / f"{example.key}.json"
    assert path.read_text(encoding="utf-8") == dump_json(example.prompt_set)


@every_example
def test_an_example_has_kinds_labels_a_target_and_an_expected_answer(example):
    prompt_set = example.prompt_set
    assert prompt_set.name == example.title
    assert prompt_set.expected
    assert prompt_set.target
    assert example.shows.endswith(".")
    assert 3 <= len(prompt_set.variants) <= 8
    assert all(variant.kind in KINDS for variant in prompt_set.variants)
    assert len({variant.label for variant in prompt_set.variants}) == len(prompt_set.variants)


@every_example
def test_no_two_rows_of_an_example_are_the_same_prompt(example):
    prompts = [row.prompt for row in example.prompt_set.rows()]
    assert len(set(prompts)) == len(prompts)


@every_example
def test_a_target_of_a_completion_begins_with_a_blank_unless_the_prompt_is_open(example):
    for row in example.prompt_set.rows():
        if row.prompt.mode == "completion":
            assert row.target.startswith(" ") != row.prompt.text.endswith("(")


@every_example
def test_a_row_with_its_own_target_has_its_own_expected_answer(example):
    for variant in example.prompt_set.variants:
        if variant.target and variant.target.strip() != example.prompt_set.target.strip():
            assert variant.expected != example.prompt_set.expected
            assert variant.expected


def test_together_they_show_what_the_project_is_about():
    sets = [example.prompt_set for example in EXAMPLES]
    variants = [variant for prompt_set in sets for variant in prompt_set.variants]
    assert {prompt_set.mode for prompt_set in sets} == {"completion", "chat"}
    assert any(variant.kind in CONTROL_KINDS for variant in variants)
    assert any(variant.kind == "system prompt" for variant in variants)
    assert any(variant.kind == "language" for variant in variants)
    assert any(prompt_set.candidates for prompt_set in sets)
    assert any(variant.target for variant in variants)


def test_only_the_examples_about_blanks_and_characters_hold_unseen_ones():
    unseen = {
        example.key
        for example in EXAMPLES
        for row in example.prompt_set.rows()
        if describe(row.prompt.text) or boundary_note(row.prompt.text)
    }
    assert unseen == {"invisible", "code"}
