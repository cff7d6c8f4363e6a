"""Charts of the network that learns digits: what is drawn, at which scale, and that it can be read."""

import csv
import io
import json
import re
from itertools import pairwise
from pathlib import Path

import numpy as np
import plotly
import plotly.graph_objects as go
import pytest

from analysis.charts import clustering as charts
from analysis.charts.look import Look, data_of, describe
from analysis.clustering import Clustering

LOOKS = [Look(dark, presenter) for dark in (False, True) for presenter in (False, True)]
LAYERS = ("pixels", "hidden 1", "hidden 2", "hidden 3", "logits")


def frozen(values: np.ndarray) -> np.ndarray:
    """Builders must not write into what they are given."""
    values.setflags(write=False)
    return values


def made(epochs: tuple[int, ...] = (0, 1, 2, 5), seed: int = 0) -> Clustering:
    random = np.random.default_rng(seed)
    different = random.uniform(0.5, 1.5, size=(len(epochs), len(LAYERS)))
    same = different * random.uniform(0.3, 0.9, size=different.shape)
    return Clustering(epochs, LAYERS, frozen(random.random(len(epochs))), frozen(same), frozen(different), 179_101)


FOUND = made()
FIGURES = {
    "trained": lambda look: charts.clustering(FOUND, 5, look),
    "untrained": lambda look: charts.clustering(FOUND, 0, look),
    "history": lambda look: charts.clustering_history(FOUND, look),
    "nothing trained": lambda look: charts.clustering_history(made((0,)), look),
}
every = pytest.mark.parametrize("draw", FIGURES.values(), ids=FIGURES.keys())


def rows_of(chart: go.Figure) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(data_of(chart), newline="")))


def traces_of(chart: go.Figure) -> dict[str, go.Scatter]:
    return {trace.name: trace for trace in chart.data}


# --- every chart


@every
@pytest.mark.parametrize("look", LOOKS)
def test_a_figure_is_plain_json_without_nan(draw, look):
    def refuse(name: str) -> None:
        raise AssertionError(name)

    text = draw(look).to_json()
    json.loads(text, parse_constant=refuse)
    assert not re.search(r"\bnan\b|Infinity", text, re.IGNORECASE)


@every
def test_every_look_draws_the_same_data_in_its_own_colours(draw):
    charts_drawn = [draw(look) for look in LOOKS]
    assert len({data_of(chart) for chart in charts_drawn}) == 1
    light, _, dark, _ = charts_drawn
    assert light.layout.template.layout.paper_bgcolor != dark.layout.template.layout.paper_bgcolor
    for one, other in zip(light.data, dark.data, strict=True):
        assert list(one.y) == list(other.y)
        assert one.line.color != other.line.color or one.name.startswith("different")  # a rose that suits both


@every
def test_the_data_is_a_table_of_full_rows(draw):
    columns = draw(LOOKS[0]).layout.meta["table"]
    assert len({len(column) for column in columns.values()}) == 1
    for row in rows_of(draw(LOOKS[0])):
        assert float(row["ratio"]) == pytest.approx(float(row["same_digit"]) / float(row["different_digits"]))
        assert "" not in row.values()


@every
def test_a_figure_is_described_in_one_sentence(draw):
    sentence = describe(draw(LOOKS[0]))
    assert sentence.endswith(".")
    assert "\n" not in sentence
    assert "<" not in sentence


@every
def test_every_point_has_a_hover_and_names_its_layer(draw):
    for trace in draw(LOOKS[0]).data:
        assert len(trace.x) == len(trace.y) == len(trace.hovertext) == len(trace.customdata)
        for hover, data in zip(trace.hovertext, trace.customdata, strict=True):
            assert LAYERS[data[0]] in hover


def test_explanations_say_what_is_asked_how_it_is_computed_and_how_it_misleads():
    for text in (charts.HOW_TO_READ, charts.HOW_TO_READ_HISTORY):
        heads = re.findall(r"^\*\*(.+?)\.\*\*", text, re.MULTILINE)
        assert heads == ["Question", "Formula", "Reading it", "How it can mislead", "Source"]
        assert "arXiv 2604.18389" in text


# --- by layer


@pytest.mark.parametrize("epoch", FOUND.epochs)
def test_the_lines_are_the_distances_of_the_chosen_epoch(epoch):
    at = FOUND.epochs.index(epoch)
    lines = traces_of(charts.clustering(FOUND, epoch, LOOKS[0]))
    np.testing.assert_array_equal(lines["same digit"].y, FOUND.same[at])
    np.testing.assert_array_equal(lines["different digits"].y, FOUND.different[at])


def test_the_untrained_network_stands_faintly_behind_a_trained_one_and_only_there():
    lines = traces_of(charts.clustering(FOUND, 2, LOOKS[0]))
    assert list(lines) == ["same digit, untrained", "different digits, untrained", "same digit", "different digits"]
    np.testing.assert_array_equal(lines["same digit, untrained"].y, FOUND.same[0])
    np.testing.assert_array_equal(lines["different digits, untrained"].y, FOUND.different[0])
    assert lines["same digit, untrained"].opacity < lines["same digit"].opacity
    assert lines["same digit, untrained"].line.width < lines["same digit"].line.width
    assert list(traces_of(charts.clustering(FOUND, 0, LOOKS[0]))) == ["same digit", "different digits"]


def test_the_scale_is_the_same_for_all_epochs_starts_at_zero_and_holds_them_all():
    ranges = {charts.clustering(FOUND, epoch, LOOKS[0]).layout.yaxis.range for epoch in FOUND.epochs}
    (only,) = ranges
    assert only[0] == 0
    assert only[1] > max(FOUND.same.max(), FOUND.different.max())


def test_the_ratio_stands_under_each_layer():
    labels = charts.clustering(FOUND, 5, LOOKS[0]).layout.xaxis.ticktext
    for label, ratio in zip(labels, FOUND.same[-1] / FOUND.different[-1], strict=True):
        assert label.endswith(f"<br><b>{ratio:.2f}</b>")


def test_lines_are_named_where_they_end():
    chart = charts.clustering(FOUND, 5, LOOKS[0])
    named = {re.sub("<br>|<.*?>|●", " ", note.text).strip(): note.y for note in chart.layout.annotations}
    assert named["same digit"] == FOUND.same[-1, -1]
    assert named["different digits"] == FOUND.different[-1, -1]
    assert "untrained" in named


def test_the_accuracy_on_test_images_is_told():
    chart = charts.clustering(FOUND, 5, LOOKS[0])
    assert f"{100 * FOUND.accuracy[-1]:.0f} % of the test images" in chart.layout.title.subtitle.text
    assert "179 101 pairs" in describe(chart)


# --- by epoch


def test_a_line_per_layer_shows_its_ratio_at_every_epoch():
    lines = traces_of(charts.clustering_history(FOUND, LOOKS[0]))
    assert tuple(lines) == LAYERS
    for layer, line in enumerate(lines.values()):
        assert tuple(line.x) == FOUND.epochs
        np.testing.assert_allclose(line.y, FOUND.same[:, layer] / FOUND.different[:, layer])
        assert [tuple(data) for data in line.customdata] == [(layer, epoch) for epoch in FOUND.epochs]
    assert len({line.line.color for line in lines.values()}) == len(LAYERS)


def test_the_data_of_the_history_is_every_epoch_and_layer():
    rows = rows_of(charts.clustering_history(FOUND, LOOKS[0]))
    assert [(int(row["epoch"]), row["layer_name"]) for row in rows] == [
        (e, name) for e in FOUND.epochs for name in LAYERS
    ]
    np.testing.assert_allclose([float(row["same_digit"]) for row in rows], FOUND.same.ravel(), rtol=1e-6)


def test_one_is_marked_as_no_clusters():
    chart = charts.clustering_history(FOUND, LOOKS[0])
    assert [(shape.y0, shape.y1) for shape in chart.layout.shapes] == [(1, 1)]
    assert chart.layout.yaxis.range[0] == 0
    assert chart.layout.yaxis.range[1] > 1


# --- in a browser


def test_texts_are_whole_and_apart_on_a_narrow_screen(chromium):
    library = Path(plotly.__file__).parent / "package_data" / "plotly.min.js"
    page = chromium.new_page(viewport={"width": 420, "height": 700})
    page.set_content("<!doctype html><body style='margin: 0'><div id=chart></div>")
    page.add_script_tag(path=library)
    for look in LOOKS:
        for name, draw in FIGURES.items():
            page.evaluate(
                "text => { const f = JSON.parse(text); return Plotly.newPlot('chart', f.data, f.layout) }",
                draw(look).to_json(),
            )
            for left, right in page.evaluate(SIDES, "#chart text"):
                assert left >= 0, name
                assert right <= 420, name
            ticks = sorted(page.evaluate(SIDES, "#chart .xtick text"))
            assert len(ticks) > 1 or name == "nothing trained"
            assert all(a[1] <= b[0] for a, b in pairwise(ticks)), name
    page.close()


SIDES = """where => [...document.querySelectorAll(where)].map(text => text.getBoundingClientRect())
    .filter(box => box.width).map(box => [box.left, box.right])"""
