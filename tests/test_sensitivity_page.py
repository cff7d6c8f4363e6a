"""The Sensitivity page without a browser: what it says, what it asks of the model, and what is asked on demand."""

from dataclasses import replace

import pytest

from analysis.prompts import PromptSet, Variant
from analysis.significance_results import FEWEST
from pages.shared import models, sampled
from tests.in_app import EXPLORE, SENSITIVITY, SMALL, charts, click, finding, run, said, texts, wording

FULL = replace(
    SMALL,
    expected="Paris",
    candidates=(" Paris", " Rome"),
    variants=(*SMALL.variants, Variant("The capital of Spain is", kind="negative control", label="Spain")),
)


def test_the_page_runs_by_itself_and_again_from_what_is_cached(open_app):
    app = open_app(None, SENSITIVITY)
    first = texts(app)
    assert "wordings" in finding(app)
    assert "POSIX" in finding(app)
    assert texts(run(app)) == first
    titles = " ".join(charts(app))
    for part in ("Answers to", "of every pair", "from best to worst", "Wordings for a mean", "What each edit does"):
        assert part in titles, part


def test_through_the_entry_file_it_says_the_same(open_app):
    alone = open_app(FULL, SENSITIVITY)
    app = open_app(FULL)
    app.switch_page(SENSITIVITY)
    assert finding(run(app)) == finding(alone)


def test_one_prompt_alone_asks_for_a_paraphrase(open_app):
    app = open_app(PromptSet("The capital of France is", response_tokens=1), SENSITIVITY)
    assert "Add a paraphrase" in finding(app)
    assert charts(app) == []


def test_a_failed_rewording_is_left_out(open_app):
    app = open_app(replace(FULL, variants=(Variant(""), *FULL.variants)), SENSITIVITY)
    assert charts(app)
    assert "wordings" in finding(app)


def test_every_metric_stands_in_the_table_with_its_source(open_app):
    app = open_app(FULL, SENSITIVITY)
    table = next(frame.value for frame in app.dataframe if "metric" in frame.value.columns)
    names = " ".join(table["metric"])
    for name in ("flip rate", "POSIX", "PromptSensiScore", "spread", "sensitivity", "JSD", "combined", "all right"):
        assert name in names, name
    assert (table["definition"].str.len() > 0).all()
    assert (table["lowest"].str.len() > 0).all()
    assert (table["highest"].str.len() > 0).all()


def test_how_answers_are_compared_can_be_chosen_and_is_said(open_app):
    app = open_app(FULL, SENSITIVITY)
    app.button_group("right by").set_value("exact")
    run(app)
    table = next(frame.value for frame in app.dataframe if "metric" in frame.value.columns)
    right = table.set_index("metric").loc["right answers", "definition"]
    assert "exactly" in right


@pytest.mark.parametrize("matrix", ["JSD", "answers"])
def test_every_matrix_can_be_looked_at(open_app, matrix):
    app = open_app(FULL, SENSITIVITY)
    app.button_group("matrix").set_value(matrix)
    run(app)
    assert any("every pair" in title or "every wording" in title or "JSD" in title for title in charts(app))


def test_samples_are_drawn_on_demand_and_kept(open_app):
    app = open_app(FULL, SENSITIVITY)
    assert not any("Right answers at temperature" in title for title in charts(app))
    app.number_input("samples").set_value(2)
    click(run(app), "ask samples")
    assert said(app, "At temperature 0.7")
    assert any("Right answers at temperature" in title for title in charts(app))
    assert any("Right answers at temperature" in title for title in charts(run(app)))


def test_without_an_expected_answer_sampling_says_what_is_missing(open_app):
    assert said(open_app(SMALL, SENSITIVITY), "which answer is expected")


def test_an_effect_is_compared_with_noise_on_demand(open_app):
    app = open_app(FULL, SENSITIVITY)
    app.number_input("baselines").set_value(FEWEST)
    click(run(app), "ask noise")
    assert any("among rewordings of its size" in title for title in charts(app))
    before = len(charts(app))
    app.button_group("noise effect").set_value("|Δ| of the target")
    assert len(charts(run(app))) == before  # another effect of the same runs


def test_all_wordings_can_be_tested_at_once(open_app):
    app = open_app(FULL, SENSITIVITY)
    app.number_input("baselines").set_value(FEWEST)
    app.toggle("noise of all").set_value(True)
    assert "each of 3 wordings" in run(app).button("ask noise").label
    click(app, "ask noise")
    assert any("among rewordings of its size" in title for title in charts(app))


def test_the_edits_are_those_of_the_selected_wording(open_app):
    app = open_app(FULL, SENSITIVITY)
    wording(app).set_value(3)
    run(app)
    assert said(app, "France", "Spain")
    wording(app).set_value(2)
    assert not said(run(app), "Spain", "nats of Δ")


def test_what_differs_in_more_than_its_text_says_why_edits_cannot_be_told(open_app):
    other = Variant("France's", target=" Rome")
    app = open_app(replace(FULL, variants=(other, *FULL.variants)), SENSITIVITY)
    wording(app).set_value(1)
    assert said(run(app), "target of its own")


def test_the_selected_wording_is_the_one_of_every_page(open_app):
    app = open_app(FULL)
    app.switch_page(SENSITIVITY)
    wording(run(app)).set_value(2)
    run(app)
    app.switch_page(EXPLORE)
    assert wording(run(app)).value == 2


def test_a_second_model_is_set_beside_the_first(open_app, tiny_model_folder, monkeypatch):
    monkeypatch.setenv("PSL_ALLOW_LOCAL_MODELS", "1")
    app = open_app(FULL, SENSITIVITY)
    assert said(app, "Choose a second model")
    app.session_state["second model picker"] = True
    run(app)
    app.selectbox("second model choice").set_value("another model")
    run(app)
    app.text_input("second model source").set_value(str(tiny_model_folder))
    click(run(app), "second load model")
    assert any("two models" in title.lower() or "Δ on" in title for title in charts(app))
    tables = [frame.value for frame in app.dataframe if "model" in frame.value.columns]
    assert len(tables[0]) == 2
    assert said(run(app), "wordings")


def test_a_second_model_that_does_not_load_leaves_the_page(open_app):
    app = open_app(FULL, SENSITIVITY)
    app.session_state["second model picker"] = True
    run(app)
    app.selectbox("second model choice").set_value("another model")
    run(app)
    app.text_input("second model source").set_value("nobody/**no** such")
    click(run(app), "second load model")
    assert said(app, "The model was not loaded", "nobody/**no** such")
    assert "wordings" in finding(app)


def test_a_second_model_of_the_same_name_has_columns_of_its_own(open_app):
    app = open_app(FULL, SENSITIVITY)
    app.session_state["second model spec"] = models.first_spec()
    run(app)
    rows = next(frame.value for frame in app.dataframe if "wording" in frame.value.columns)
    assert len(rows.columns) == 5


def test_rewordings_that_are_all_off_or_cannot_be_analysed_are_named_as_such(open_app):
    off = replace(FULL, variants=tuple(replace(variant, enabled=False) for variant in FULL.variants))
    assert "switched off" in finding(open_app(off, SENSITIVITY))
    assert "None of the rewordings" in finding(open_app(replace(FULL, variants=(Variant(""),)), SENSITIVITY))


def test_each_stopped_work_stays_stopped_until_it_is_asked_for_again(open_app):
    app = open_app(FULL, SENSITIVITY)
    wanted = (FULL, 0.7, 10, 0)
    sampling = (sampled.WHAT, (models.preload().lm.key, FULL, wanted))
    app.session_state[f"asked: {sampled.WHAT}"] = wanted
    app.session_state["stopped"] = {sampling, ("other work", "of another page")}
    assert said(run(app), "Stopped: sampling answers.")
    click(app, f"continue {sampled.WHAT}")
    assert any("Right answers at temperature" in title for title in charts(app))
    assert app.session_state["stopped"] == {("other work", "of another page")}
