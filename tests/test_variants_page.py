"""The Variants page without a browser: what it proposes, what the user decides, and what reaches the set."""

from dataclasses import replace

import pytest

from analysis import default_model
from analysis.limits import MAX_VARIANTS
from analysis.prompts import PromptSet, Variant
from analysis.text import grouped
from tests.in_app import EXPLORE, SMALL, VARIANTS, charts, click, finding, open_popover, prompt_set, run, said, texts

CHOICE = PromptSet(
    "Which animal lays eggs?\nA) cat\nB) hen\nC) cow\nAnswer:", target=" B", expected="B", response_tokens=1
)


@pytest.fixture(autouse=True)
def no_sentence_model(monkeypatch):
    """The machine may have it in its cache; these tests are about the page without it."""
    monkeypatch.setattr(default_model, "cached", lambda *args, **options: None)


def choose(app, *kinds, count=2, seed=0):
    app.button_group("kinds").set_value(list(kinds))
    app.number_input("of each kind").set_value(count)
    app.number_input("variants seed").set_value(seed)
    return run(app)


def rows(app):
    """The first line of every proposal."""
    ends = ("added", "left out", "edited by you", "in the set")
    return [text for text in texts(app) if "→" in text or text.endswith(ends)]


def test_the_page_runs_by_itself_and_again_alike(open_app):
    app = open_app(None, VARIANTS)
    first = texts(app)
    assert "pass the hard checks" in finding(app)
    assert rows(app)
    assert texts(run(app)) == first


def test_through_the_entry_file_it_proposes_the_same(open_app):
    alone = open_app(SMALL, VARIANTS)
    app = open_app(SMALL)
    app.switch_page(VARIANTS)
    assert rows(run(app)) == rows(alone)


def test_an_empty_reference_asks_for_a_prompt(open_app):
    app = open_app(SMALL, VARIANTS)
    next(area for area in app.text_area if area.label == "Reference prompt").set_value("  ")
    run(app)
    assert "type a prompt" in finding(app)
    assert rows(app) == []


def test_kept_proposals_are_in_the_set_once_and_say_so(open_app):
    app = open_app(SMALL)
    app.switch_page(VARIANTS)
    app = choose(run(app), "casing", "typo")
    proposed = rows(app)
    click(app, "keep proposals")
    kept = prompt_set(app).variants[len(SMALL.variants) :]
    assert len(kept) == len(proposed) == 4
    assert [variant.kind for variant in kept] == ["casing", "casing", "typo", "typo"]
    assert len({variant.label for variant in kept}) == 4
    assert said(app, "4 added to the set")
    assert [row for row in rows(app) if row.endswith("; in the set")] == [f"{row}; in the set" for row in proposed]
    assert app.button("keep proposals").disabled
    assert "4 are in the set" in finding(app)
    app.switch_page(EXPLORE)
    assert said(run(app), "casing 1")


def test_what_is_not_chosen_stays_out_of_the_set(open_app):
    app = choose(open_app(SMALL, VARIANTS), "casing")
    click(app, "choose none")
    assert app.button("keep proposals").disabled
    next(box for box in app.checkbox if box.label == "Keep").check()
    run(app)
    click(app, "keep proposals")
    assert len(prompt_set(app).variants) == len(SMALL.variants) + 1


def test_a_control_fails_its_check_and_the_verdict_wins(open_app):
    app = choose(open_app(SMALL, VARIANTS), "entity swap", count=1)
    assert said(app, "names:")
    assert "control" in finding(app)
    next(box for box in app.selectbox if box.options[0] == "as the checks say").set_value("same meaning")
    run(app)
    click(app, "keep proposals")
    (variant,) = prompt_set(app).variants[len(SMALL.variants) :]
    assert variant.kind == "negative control"
    assert variant.same_meaning is True
    assert not prompt_set(app).rows()[-1].is_control


def test_a_proposal_can_be_edited_and_is_checked_anew(open_app):
    app = choose(open_app(SMALL, VARIANTS), "casing", count=1)
    keep = next(box for box in app.checkbox if box.label == "Keep")
    open_popover(app, keep.key.replace("keep", "edit", 1))
    next(area for area in app.text_area if area.label == "Text of this rewording").set_value("The capital of Spain is")
    run(app)
    assert said(app, "edited by you")
    assert said(app, "names:")
    click(app, "choose all")
    click(app, "keep proposals")
    assert prompt_set(app).variants[-1].text == "The capital of Spain is"
    assert app.button("keep proposals").disabled  # nothing is left that the set does not hold


def test_options_in_another_order_bring_their_right_answer(open_app):
    app = choose(open_app(CHOICE, VARIANTS), "option order", count=3)
    click(app, "keep proposals")
    for variant in prompt_set(app).variants:
        letter = variant.expected or "B"
        assert f"{letter}) hen" in variant.text
        assert (variant.target or " B") == f" {letter}"


def test_shortfalls_are_stated(open_app):
    app = choose(open_app(SMALL, VARIANTS), "contraction", "numerals")
    assert said(app, "contraction: 0 of 2.")
    assert said(app, "numerals: 0 of 2.")
    assert "No rewording" in finding(app)
    app = choose(app, "contraction", "numerals", "clause order", "option order")
    assert not said(app, "0 of 2.")
    app.toggle("shortfalls").set_value(True)
    assert said(run(app), "option order: 0 of 2.")


def test_a_full_set_says_how_many_were_added(open_app):
    full = replace(SMALL, variants=tuple(Variant(f"wording {n}") for n in range(MAX_VARIANTS - 1)))
    app = choose(open_app(full, VARIANTS), "casing")
    click(app, "keep proposals")
    assert len(prompt_set(app).variants) == MAX_VARIANTS
    assert said(app, f"at most {MAX_VARIANTS}", "1 were added")


def test_without_a_sentence_model_the_page_says_so(open_app):
    app = open_app(SMALL, VARIANTS)
    assert said(app, "hard checks alone")
    assert not any(text.startswith("similarity") for text in texts(app))


def test_the_model_is_asked_for_paraphrases_on_demand(open_app):
    app = choose(open_app(SMALL, VARIANTS), "self-paraphrase", count=1)
    assert rows(app) == []
    click(app, "ask paraphrases")
    assert rows(app) or said(app, "self-paraphrase: 0 of 1.")


def test_kinds_are_run_for_one_prompt_and_pooled(open_app):
    app = open_app(SMALL, VARIANTS)
    app.number_input("kinds count").set_value(1)
    click(run(app), "ask kinds")
    assert said(app, "One prompt cannot rank kinds")
    assert any("by kind of rewording" in title for title in charts(app))
    app.multiselect("pooled sets").set_value(["antonym"])
    click(run(app), "ask kinds")
    assert said(app, "two prompts")


def test_no_text_is_proposed_twice_by_two_rules(open_app):
    labelled = replace(SMALL, reference="Question: Which animal barks?\nAnswer:")
    app = choose(open_app(labelled, VARIANTS), "casing", "final punctuation", "whitespace", "format", count=12)
    click(app, "keep proposals")
    kept = [variant.text for variant in prompt_set(app).variants]
    assert len(kept) == len(set(kept)) > 12


def test_of_a_long_prompt_the_part_with_the_edits_is_shown(open_app):
    # The tiny model reads fewer tokens than this: the page says so, and proposes all the same.
    long = replace(SMALL, reference="The cat sat on the mat. " * 200 + "Please describe the famous capital of France.")
    app = choose(open_app(long, VARIANTS), "typo", count=1)
    assert said(app, "The reference has", "reads at most")
    assert said(app, "Characters", f"of {grouped(len(long.reference))}")
    assert rows(app)


def test_nothing_chosen_and_paraphrases_not_asked_for_are_no_failure(open_app):
    app = choose(open_app(SMALL, VARIANTS))
    assert finding(app).startswith("Choose kinds")
    assert "has not been asked" in finding(choose(app, "self-paraphrase"))


def test_what_was_chosen_is_there_again_after_another_page(open_app):
    app = open_app(SMALL)
    app.switch_page(VARIANTS)
    app = choose(run(app), "typo", count=1)
    app.multiselect("pooled sets").set_value(["antonym"])
    before = rows(run(app))
    app.switch_page(EXPLORE)
    run(app)
    app.switch_page(VARIANTS)
    assert rows(run(app)) == before
    assert app.multiselect("pooled sets").value == ["antonym"]
