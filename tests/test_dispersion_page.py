"""The Dispersion page without a browser: what it says, and that it asks the model for nothing it need not."""

from dataclasses import replace

import pytest

from analysis import forward
from analysis.examples import EXAMPLES
from analysis.prompt_files import dump_json
from analysis.prompts import PromptSet, Variant
from tests.in_app import DISPERSION, EXPLORE, SMALL, charts, click, finding, opened, run, said, texts, wording

CONTROL = replace(SMALL, variants=(*SMALL.variants, Variant("Rome is", kind="negative control", label="Rome")))


def test_the_page_runs_by_itself_and_again_from_what_is_cached(open_app):
    app = open_app(None, DISPERSION)
    first = texts(app)
    assert "apart at the head" in finding(app)
    assert "certified: between" in finding(app)
    run(app)
    assert texts(app) == first
    titles = " ".join(charts(app))
    for part in (
        "Distances by layer",
        "Gradient and displacement",
        "Bound",
        "Certified range",
        "Patch",
        "States",
        "Pairs",
    ):
        assert part in titles, part


def test_after_explore_the_page_runs_no_pass_but_the_patches(open_app, monkeypatch):
    app = open_app(CONTROL)
    asked = []
    plain = forward.states

    def states(*args, **kwargs):
        asked.append(kwargs)
        return plain(*args, **kwargs)

    monkeypatch.setattr(forward, "states", states)
    monkeypatch.setattr("pages.shared.patches.LIVE_STATES", 0)
    app.switch_page(DISPERSION)
    assert len(charts(run(app))) > 5
    assert asked == []
    click(app, "ask patches")
    assert asked
    count = len(asked)
    run(app)
    assert len(asked) == count


def test_one_prompt_alone_asks_for_a_paraphrase(open_app):
    app = open_app(PromptSet("The capital of France is", response_tokens=1), DISPERSION)
    assert "Add a paraphrase" in finding(app)
    assert charts(app) == []


def test_a_failed_rewording_is_left_out_and_explained(open_app):
    app = open_app(replace(SMALL, variants=(Variant(""), *SMALL.variants)), DISPERSION)
    assert "rewordings' states" in finding(app)
    assert said(app, "rewording 1 is empty and left out")
    assert charts(app)


def test_the_selected_wording_is_the_one_of_every_page(open_app):
    app = open_app(CONTROL)
    app.switch_page(DISPERSION)
    wording(run(app)).set_value(1)
    assert said(run(app), "with the states of", "rewording 1")
    app.switch_page(EXPLORE)
    assert wording(run(app)).value == 1


def test_another_prompt_can_take_the_states(open_app):
    app = open_app(CONTROL, DISPERSION)
    app.selectbox("patch in").set_value(1)
    wording(app).set_value(2)
    assert said(run(app), "rewording 1 with the states of a question")


def test_each_token_of_a_target_has_its_own_numbers(open_app):
    app = open_app(replace(SMALL, target=" Paris is"), DISPERSION)
    first = finding(app)
    app.selectbox("target token").set_value(1)
    assert finding(run(app)) != first
    assert "␣is" in finding(app)
    assert charts(app)


def test_states_that_are_equal_at_the_start_are_explained(open_app):
    app = open_app(replace(SMALL, mode="chat"), DISPERSION)
    assert "equal where they enter the first block" in finding(app)
    assert said(app, "Δh is 0 at layer 0", "same token of the template")


def test_rows_with_their_own_target_have_no_bound_and_say_so(open_app):
    app = open_app(replace(SMALL, variants=(*SMALL.variants, Variant("Rome is", target=" one"))), DISPERSION)
    wording(app).set_value(3)
    assert said(run(app), "has no bound against the reference")
    app.button_group("bound pairs").set_value("all pairs")
    assert any("Bound" in title for title in charts(run(app)))


def test_every_choice_of_the_charts_draws(open_app):
    app = open_app(CONTROL, DISPERSION)
    for key, choice in [
        ("by layer view", "relative"),
        ("by layer view", "cosine"),
        ("bound pairs", "all pairs"),
        ("plane kind", "MDS raw"),
        ("plane kind", "MDS cosine"),
        ("pairs view", "cosine"),
    ]:
        app.button_group(key).set_value(choice)
        run(app)
    for key in ("by layer log", "factors log", "bound log", "certified linear"):
        app.toggle(key).set_value(not app.toggle(key).value)
        run(app)
    app.slider("pairs layer").set_value(0)
    assert any("layer 0" in title for title in charts(run(app)))


def test_other_intents_are_a_measure(open_app):
    app = open_app(SMALL, DISPERSION)
    assert said(app, "Choose sets")
    app.multiselect("contrast sets").set_value([EXAMPLES[3].key])
    assert said(run(app), "times as far apart as from the other sets")
    for view in ("relative", "cosine"):
        app.button_group("contrast view").set_value(view)
        assert said(run(app), f"({view})")


@pytest.mark.parametrize("good", [True, False])
def test_a_saved_set_serves_as_another_intent(open_app, good):
    app = open_app(SMALL, DISPERSION)
    data = dump_json(PromptSet("one two three")).encode() if good else b'{"version": 1}'
    app.file_uploader("contrast file").upload("**mine**.json", data, "application/json")
    run(app)
    assert said(app, "times as far apart as from the other sets") == good
    assert said(app, "**mine**.json")
    if good:
        click(app, "leave out **mine**.json")
        assert said(app, "Choose sets")


def test_a_small_network_is_trained_when_asked_for(open_app):
    app = open_app(SMALL, DISPERSION)
    click(app, "train digits")
    assert said(app, "images of one digit", "after it")
    before = charts(app)
    app.select_slider("digits epoch").set_value(0)
    assert charts(run(app)) != before
    assert any("A small network" in head.value for head in app.subheader)


def test_a_soft_capped_head_certifies_nothing(tmp_path, monkeypatch):
    from tests import tiny

    model = tiny.network("gemma2")
    model.save_pretrained(tmp_path)
    tiny.tokenizer().save_pretrained(tmp_path)
    monkeypatch.setenv("PSL_MODEL", str(tmp_path))
    app = opened(SMALL, DISPERSION)
    assert said(app, "Certified ranges are not valid here")
    assert "certified" not in finding(app)
    assert any("Patch" in title for title in charts(app))


def test_the_same_set_is_no_other_intent(open_app):
    app = open_app(SMALL, DISPERSION)
    app.file_uploader("contrast file").upload("same.json", dump_json(SMALL).encode(), "application/json")
    assert said(run(app), "hold the same prompts")


def test_equal_states_are_not_called_near(open_app):
    app = open_app(replace(SMALL, mode="chat"), DISPERSION)
    other = PromptSet("one two three", mode="chat")
    app.file_uploader("contrast file").upload("chat.json", dump_json(other).encode(), "application/json")
    assert said(run(app), "at layer 0 all states are equal")
