"""Laws of every chart: literal text, separate positions, pinned scales, stable colours, finite numbers."""

import csv
import html
import io
import itertools
import json
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import plotly
import plotly.graph_objects as go
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.agreement import token_effects_pair
from analysis.attribution_results import Agreement, DeletionCurve, TargetTokenMaps
from analysis.charts import attribution, candidates, deltas, labels, next_tokens, states, words
from analysis.charts.look import LOWERS, RAISES, Look, blend, colour, config, data_of, describe, symbol, text_on
from analysis.diff import token_alignment
from analysis.dispersion import dispersion, planes
from analysis.prompts import PromptSet, Variant
from analysis.results import Analysis, CandidateScores, ModelCard, Note, PromptResult, Target, Tokens, Trace
from analysis.tokens import cells, graphemes, shown

LOOKS = [Look(dark, presenter) for dark in (False, True) for presenter in (False, True)]
NASTY = [
    "<b>bold</b> & <s>struck</s> </s>",
    "costs $20, was $15",
    "%{x} %{meta.description} %{customdata[0]}",
    "first\nsecond  \tthird ",
    "<script>alert(1)</script><img src=x onerror=alert(1)>",
    "&lt;b&gt; &#36; &amp;",
    "日本語のテスト 👩‍👩‍👧 שלום",
    "zero​width",
    "x" * 200,
    "",
]
CARD = ModelCard("tiny", "", "llama", 1, 3, 8, 50, 256, "float32", "cpu", 1, 0.01, True)


def frozen(values: np.ndarray) -> np.ndarray:
    """Builders must not write into what they are given."""
    values = np.asarray(values, dtype=np.float32)
    values.setflags(write=False)
    return values


def tokens(text: str) -> Tokens:
    """One token per character."""
    count = len(text)
    ids = tuple(ord(c) % 50 for c in text)
    spans = tuple((i, i + 1) for i in range(count))
    return Tokens(text, ids, tuple(text), spans, ("text",) * count, (False,) * count)


def trace(text: str, seed: int, target: Target, layers: int = 4) -> Trace:
    random = np.random.default_rng(seed)
    logits = random.normal(size=50)
    read = tokens(text or "?")
    log_probs = logits - np.log(np.exp(logits).sum())
    return Trace(
        tokens=read,
        target=target,
        target_log_probs=frozen([log_probs[i] for i in target.ids]),
        next_log_probs=frozen(log_probs),
        hidden=frozen(random.normal(size=(len(target), layers, 8))),
        gradient=None,
        saliency=frozen(random.random(len(read))),
        gradient_x_input=frozen(random.normal(size=len(read))),
    )


def target(*pieces: str) -> Target:
    return Target("".join(pieces), tuple(range(len(pieces))), pieces, True)


def analysed(prompt_set: PromptSet, aim: Target, deltas_given: dict[int, float] | None = None) -> Analysis:
    """A set with random traces; the deltas in nats follow from them, or are as given by row."""
    results: list[PromptResult] = []
    for row in prompt_set.rows():
        found = trace(row.prompt.text, 100 + row.index, target(row.target) if row.own_target else aim)
        reference = results[0].trace if results else found
        delta = found.log_prob - reference.log_prob
        if deltas_given is not None:
            delta = deltas_given.get(row.index, 0.0)
        results.append(PromptResult(row, found, delta, None))
    return Analysis(prompt_set, CARD, aim, tuple(results))


def nasty_set() -> PromptSet:
    variants = [Variant(text, label=text[:200]) for text in NASTY]
    variants[1] = replace(variants[1], kind="negative control")
    variants[2] = replace(variants[2], target="%{y}<i>")
    return PromptSet(NASTY[0], tuple(variants), expected="<b>")


def nasty() -> Analysis:
    made = analysed(nasty_set(), target("<b>", "$x$"))
    failed = PromptResult(made.prompts[-1].row, None, None, None, (Note("error", "row <b>10</b> has $0 tokens"),))
    twin = replace(made.prompts[5], duplicate_of=1)
    return replace(made, prompts=(*made.prompts[:5], twin, *made.prompts[6:-1], failed))


def many(count: int, deltas_given: dict[int, float] | None = None) -> Analysis:
    variants = tuple(Variant(f"wording {k}") for k in range(count))
    return analysed(PromptSet("reference text", variants), target(" Paris"), deltas_given)


def traced(analysis: Analysis) -> list[PromptResult]:
    return [result for result in analysis.prompts if result.trace]


def plane_of(analysis: Analysis, look: Look, layer: int = 2) -> go.Figure:
    results = traced(analysis)
    return states.plane(planes([r.trace for r in results if r.trace])[layer], results, layer, 3, look)


def distances_of(analysis: Analysis, look: Look, view: states.View = "raw", log: bool = False) -> go.Figure:
    results = traced(analysis)
    return states.distance_by_layer(dispersion([r.trace for r in results if r.trace]), results, look, view, log)


def next_of(analysis: Analysis, look: Look) -> go.Figure:
    pieces = dict(enumerate([*NASTY, "<b>", "�", "�"]))
    listed = [(token, pieces.get(token, f"piece {token}")) for token in next_tokens.leading_tokens(analysis, 12)]
    return next_tokens.next_tokens(analysis, listed, look)


def candidates_of(analysis: Analysis, look: Look, per_token: bool = False) -> go.Figure:
    texts = ("<b>", "$x$ and $y$", " Yes", "Yes")
    scores = [
        CandidateScores(texts, tuple((float(-k - place), -1.0) for place in range(len(texts))))
        if result.trace
        else None
        for k, result in enumerate(analysis.prompts)
    ]
    return candidates.candidates(analysis, scores, look, per_token)


def curve() -> DeletionCurve:
    text, random = NASTY[0][:20], np.random.default_rng(0)
    steps = np.arange(20)
    return DeletionCurve(
        tokens(text),
        target("<b>"),
        target("$x$"),
        (True,) + (False,) * 19,
        tuple(range(1, 20)),
        steps,
        frozen(-steps.astype(float)),
        frozen(random.normal(size=(10, 20))),
    )


def pair_of(look: Look, a: str = "<b>a</b>", b: str = "<b>$</b>") -> go.Figure:
    first, second = tokens(a), tokens(b)
    random = np.random.default_rng(1)
    effects = token_effects_pair(random.normal(size=len(a)), random.normal(size=len(b)), token_alignment(first, second))
    return attribution.pair_change(effects, first, second, look, 3)


def matrix_of(look: Look, view: str = "signed") -> go.Figure:
    text, aim = NASTY[0][:12], target("<b>", "$x$", "</s>")
    random = np.random.default_rng(2)
    maps = TargetTokenMaps(
        tokens(text), aim, frozen([-1, -2, -3]), frozen(random.random((3, 12))), frozen(random.normal(size=(3, 12)))
    )
    return attribution.target_matrix(maps, look, view)  # type: ignore[arg-type]


def bars_of(text: str, scores: np.ndarray, look: Look = LOOKS[0], **options: object) -> go.Figure:
    return attribution.token_bars(cells(tokens(text)), frozen(scores), look, **options)  # type: ignore[arg-type]


def every_chart(look: Look) -> Iterator[tuple[str, go.Figure]]:
    analysis = nasty()
    yield "deltas", deltas.delta_bars(analysis, look, selected=3)
    yield "next tokens", next_of(analysis, look)
    yield "candidates", candidates_of(analysis, look)
    yield "candidates per token", candidates_of(analysis, look, True)
    yield "plane", plane_of(analysis, look)
    yield "distance", distances_of(analysis, look)
    yield "distance, log", distances_of(analysis, look, "cosine", True)
    text = "".join(NASTY)[:60]
    scores = np.random.default_rng(3).normal(size=60)
    yield "tokens", bars_of(text, scores, look, target="<b>$x$", foil="%{x}")
    yield "tokens, magnitude", bars_of(text, np.abs(scores), look, view="magnitude")
    yield "matrix", matrix_of(look)
    yield "matrix, magnitude", matrix_of(look, "magnitude")
    yield "agreement", attribution.agreement(Agreement("deletion", 9, None, -0.4), look)
    yield "curve", attribution.deletion_curve(curve(), look)
    yield "pair", pair_of(look)


CHARTS = dict(every_chart(LOOKS[0]))
every = pytest.mark.parametrize("chart", CHARTS.values(), ids=CHARTS.keys())


def strings(node: object, name: str = "") -> Iterator[tuple[str, str]]:
    """Every string of a figure with the name of the property that it is in; the meta, which is not drawn, left out."""
    if isinstance(node, dict):
        for key, value in node.items():
            if key != "meta" and key != "template":
                yield from strings(value, key)
    elif isinstance(node, list):
        for value in node:
            yield from strings(value, name)
    elif isinstance(node, str):
        yield name, node


DRAWN = ("text", "ticktext", "hovertext", "name")
OWN_MARKUP = re.compile(r'<br>|</?[bi]>|<span style="color:#[0-9a-f]{6}">|</span>')


def drawn(chart: go.Figure) -> list[str]:
    return [text for name, text in strings(json.loads(chart.to_json())) if name in DRAWN]


def as_read(text: str) -> str:
    """What Plotly draws of a text, without the marks that keep right-to-left text together."""
    return without_isolates(html.unescape(OWN_MARKUP.sub("", text)))


def without_isolates(text: str) -> str:
    return re.sub("[\u2068\u2069]", "", text)


# --- every chart


@every
def test_no_text_of_a_user_is_read_as_markup(chart):
    for text in drawn(chart):
        rest = OWN_MARKUP.sub("", text)
        assert "<" not in rest
        assert ">" not in rest
        assert "$" not in rest
        assert "%{" not in text
        assert re.findall(r"&(?!lt;|gt;|amp;|#36;|#37;)", rest) == []


@every
def test_text_is_never_in_a_template(chart):
    names = {name for name, _ in strings(json.loads(chart.to_json()))}
    assert not names & {"hovertemplate", "texttemplate"}


@every
def test_a_figure_is_plain_json_without_nan(chart):
    def refuse(name: str) -> None:
        raise AssertionError(name)

    json.loads(chart.to_json(), parse_constant=refuse)
    assert not {"NaN", "nan", "Infinity"} & {text for _, text in strings(json.loads(chart.to_json()))}


@every
def test_a_figure_is_described_in_one_sentence(chart):
    sentence = describe(chart)
    assert sentence.endswith(".")
    assert "\n" not in sentence
    assert "<span" not in sentence
    assert "&lt;" not in sentence


@every
def test_the_data_is_a_table_of_full_rows(chart):
    header, *rows = csv.reader(io.StringIO(data_of(chart), newline=""))
    assert len(header) > 1
    assert rows
    assert {len(row) for row in rows} == {len(header)}


@every
def test_axes_and_titles_are_named(chart):
    assert chart.layout.title.text.startswith("<b>")
    assert chart.layout.height > 100
    assert chart.layout.hovermode is None  # the template's: the nearest point
    assert chart.layout.template.layout.hovermode == "closest"


@pytest.mark.parametrize("look", LOOKS)
def test_every_look_draws_the_same_data(look):
    for name, chart in every_chart(look):
        assert data_of(chart) == data_of(CHARTS[name])


def test_the_data_keeps_texts_as_they_were():
    rows = list(csv.DictReader(io.StringIO(data_of(CHARTS["deltas"]), newline="")))
    assert [row["text"] for row in rows] == [NASTY[0], *NASTY]
    assert rows[2]["label"] == NASTY[1]
    assert rows[-1]["log_prob_nats"] == ""


def test_hovers_have_the_whole_text_and_name():
    hovers = CHARTS["deltas"].data[-1].hovertext
    for hover, text in zip(hovers[1:], NASTY, strict=True):
        assert as_read(hover).replace("⏎", "").endswith(shown(text).replace("⏎", ""))


@pytest.mark.parametrize("module", [deltas, next_tokens, candidates, states, attribution])
def test_explanations_say_what_is_asked_how_it_is_computed_and_how_it_misleads(module):
    texts_found = [value for name, value in vars(module).items() if name.startswith("HOW_TO_READ")]
    assert texts_found
    for text in texts_found:
        heads = re.findall(r"^\*\*(.+?)\.\*\*", text, re.MULTILINE)
        assert heads == ["Question", "Formula", "Reading it", "How it can mislead", "Source"]


def test_every_format_of_picture_can_be_had():
    assert config("svg", "deltas")["toImageButtonOptions"]["format"] == "svg"
    assert config()["toImageButtonOptions"]["format"] == "png"


def test_plotly_draws_labels_and_hovers_literally(chromium):
    library = Path(plotly.__file__).parent / "package_data" / "plotly.min.js"
    page = chromium.new_page(viewport={"width": 1200, "height": 700})
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.set_content("<!doctype html><div id=chart></div>")
    page.add_script_tag(path=library)
    for name in ("deltas", "next tokens", "candidates", "plane", "tokens", "pair"):
        chart = CHARTS[name]
        page.evaluate(
            "text => { const f = JSON.parse(text); return Plotly.newPlot('chart', f.data, f.layout) }",
            chart.to_json(),
        )
        read = {without_isolates(text) for text in page.evaluate(READ, "#chart text")}
        axes = [axis for name, axis in chart.to_dict()["layout"].items() if "axis" in name]
        labels_given = [label for axis in axes for label in axis.get("ticktext", ())]
        assert {as_read(label) for label in [*labels_given, chart.layout.title.text]} - {""} <= read, name
        curve_number, hovers = next((n, p.hovertext) for n, p in enumerate(chart.data) if p.hovertext is not None)
        for place, hover in enumerate(hovers[:4]):
            point = {"curveNumber": curve_number, "pointNumber": place}
            page.wait_for_function(HOVERED, arg=[point, as_read(hover)], timeout=10_000)
    page.close()
    assert said == []


# Plotly answers hovers a moment later, so the question is asked until the answer is right.
HOVERED = """([point, wanted]) => {
    Plotly.Fx.hover('chart', [point]);
    const texts = [...document.querySelectorAll('#chart .hoverlayer .hovertext text')].map(text => text.textContent);
    return texts.join('').replace(/[\\u2068\\u2069]/g, '') === wanted;
}"""
READ = "where => [...document.querySelectorAll(where)].map(text => text.textContent)"


# --- colours


def test_no_two_rows_of_a_full_set_look_the_same():
    for look in LOOKS:
        assert len({(colour(index, look), symbol(index)) for index in range(65)}) == 65


def test_rows_keep_their_colours_when_a_neighbour_is_switched_off():
    whole = PromptSet("reference", tuple(Variant(f"wording {k}") for k in range(12)))
    without = replace(whole, variants=(replace(whole.variants[0], enabled=False), *whole.variants[1:]))
    for draw in (plane_of, distances_of):
        looks = []
        for prompt_set in (whole, without):
            chart = draw(analysed(prompt_set, target(" Paris")), LOOKS[0])
            looks.append(row_colours(chart))
        assert looks[1] == {index: shade for index, shade in looks[0].items() if index != 1}
    assert deltas_labels(whole).keys() - {1} == deltas_labels(without).keys()
    assert all(deltas_labels(whole)[index] == label for index, label in deltas_labels(without).items())


def row_colours(chart: go.Figure) -> dict[int, str]:
    found = {}
    for part in chart.data:
        if part.customdata is None:
            continue
        for place, data in enumerate(part.customdata):
            shades = part.marker.color
            found[data[0]] = shades if isinstance(shades, str) else shades[place]
    return found


def deltas_labels(prompt_set: PromptSet) -> dict[int, str]:
    chart = deltas.delta_bars(analysed(prompt_set, target(" Paris")), LOOKS[0])
    indices = [data[0] for data in chart.data[-1].customdata]
    return dict(zip(indices, chart.layout.yaxis.ticktext, strict=True))


def contrast(one: str, other: str) -> float:
    def luminance(name: str) -> float:
        channels = [int(name[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
        return float(np.dot(linear, (0.2126, 0.7152, 0.0722)))

    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def test_text_can_be_read_on_paper_and_on_every_cell():
    for look in LOOKS:
        assert contrast(look.ink, look.paper) > 7
        assert contrast(look.muted, look.paper) > 4.5
        for scale in (look.sequential, look.diverging):
            for value in np.linspace(0, 1, 41):
                ground = "#{:02x}{:02x}{:02x}".format(*blend(value, scale))
                assert contrast(text_on(value, scale), ground) >= 4.0


# --- deltas


def test_a_bar_is_as_long_as_its_delta_and_starts_at_zero():
    given_deltas = {1: -3.9, 2: 0.15, 3: -0.64}
    chart = deltas.delta_bars(many(3, given_deltas), LOOKS[0])
    drawn_bars = chart.data[0]
    assert list(drawn_bars.x) == [0.0, -3.9, 0.15, -0.64]
    assert drawn_bars.base is None
    assert list(drawn_bars.marker.color[1:]) == [LOWERS, RAISES, LOWERS]
    assert chart.layout.yaxis2.ticktext[1:] == ("−3.90", "+0.15", "−0.64")


@pytest.mark.parametrize("rows", [0, 1, 2, 64])
def test_rows_have_positions_of_their_own_in_the_sets_order(rows):
    chart = deltas.delta_bars(many(rows), LOOKS[0])
    assert list(chart.data[0].y) == list(range(rows + 1))
    assert [data[0] for data in chart.data[-1].customdata] == list(range(rows + 1))
    assert len(chart.layout.yaxis.ticktext) == rows + 1
    assert chart.layout.yaxis.range[0] > chart.layout.yaxis.range[1]  # the first row is at the top


@pytest.mark.parametrize("effect", [0.0, 0.03, -0.03, 0.2])
def test_small_effects_are_drawn_small(effect):
    chart = deltas.delta_bars(many(2, {1: effect, 2: effect}), LOOKS[0])
    low, high = chart.layout.xaxis.range
    assert low <= -0.5
    assert high >= 0.5
    assert high - low < 1.2


def test_effects_below_the_noise_floor_are_grey():
    chart = deltas.delta_bars(many(2, {1: 0.009, 2: 0.011}), LOOKS[0])
    assert list(chart.data[0].marker.color[1:]) == [LOOKS[0].grey, RAISES]
    assert "within numeric noise" in [part.name for part in chart.data]


def test_what_is_no_comparable_paraphrase_is_hatched():
    chart = CHARTS["deltas"]
    hatched = {place for place, shape in enumerate(chart.data[0].marker.pattern.shape) if shape}
    assert hatched == {2, 3, 5}  # the control, the one with its own target, the duplicate
    assert {"control: other meaning", "on its own target", "duplicate"} <= {part.name for part in chart.data}


def test_a_failed_row_says_why_and_has_no_bar():
    chart = CHARTS["deltas"]
    assert chart.data[0].x[-1] == 0
    assert chart.layout.yaxis2.ticktext[-1] == "no result"
    assert "row <b>10</b> has $0 tokens" in as_read(chart.data[-1].hovertext[-1])


# --- tables of cells


def marks(chart: go.Figure) -> list[tuple[float, float, str, tuple]]:
    """Every cell as (column, row, text, customdata)."""
    return [
        (x, y, text, tuple(data))
        for part in chart.data
        if part.name == "cells"
        for x, y, text, data in zip(part.x, part.y, part.text, part.customdata, strict=True)
    ]


def test_tokens_that_look_alike_keep_their_own_columns():
    analysis = many(2)
    listed = [(3, "�"), (4, "�"), (5, " Paris"), (6, "Paris"), (7, ""), (8, "")]
    chart = next_tokens.next_tokens(analysis, listed, LOOKS[0])
    assert len(set(chart.layout.xaxis.ticktext)) == 7
    assert {data[1] for _, _, _, data in marks(chart)} == {3, 4, 5, 6, 7, 8, None}
    assert len({(x, y) for x, y, _, _ in marks(chart)}) == 3 * 7


def test_a_wordings_probabilities_and_the_rest_make_one():
    analysis = many(3)
    chart = next_of(analysis, LOOKS[0])
    rows = csv.DictReader(io.StringIO(data_of(chart), newline=""))
    sums: dict[str, float] = {}
    for row in rows:
        sums[row["row"]] = sums.get(row["row"], 0.0) + np.exp(float(row["log_prob_nats"]))
    rest = {
        str(data[0]): hover
        for part in chart.data
        if part.name == "cells"
        for data, hover in zip(part.customdata, part.hovertext, strict=True)
        if data[1] is None
    }
    for index, total in sums.items():
        assert f"{100 * (1 - total):.1f} %" in rest[index]


def test_the_leading_tokens_hold_the_target_and_every_rows_likeliest():
    analysis = many(5)
    chosen = next_tokens.leading_tokens(analysis, 10)
    assert len(chosen) == len(set(chosen)) == 10
    assert 0 in chosen  # the target
    assert {int(r.trace.next_log_probs.argmax()) for r in traced(analysis) if r.trace} <= set(chosen)


def test_probabilities_are_coloured_on_the_whole_scale():
    heat = CHARTS["next tokens"].data[0]
    assert (heat.zmin, heat.zmax) == (0, 1)
    assert [heat.colorscale[0][1], heat.colorscale[-1][1]] == [LOOKS[0].neutral, RAISES]


def test_the_likeliest_answer_is_bold_and_the_expected_one_framed():
    analysis = analysed(PromptSet("q", (Variant("r", expected="B"),), expected="A"), target(" A"))
    scores = [CandidateScores((" A", " B"), ((-1.0,), (-2.0,))), CandidateScores((" A", " B"), ((-1.0,), (-2.0,)))]
    chart = candidates.candidates(analysis, scores, LOOKS[0])
    assert [text for _, _, text, _ in sorted(marks(chart))] == ["<b>−1.00</b>", "<b>−1.00</b>", "−2.00", "−2.00"]
    frames = {(shape.x0 + 0.5, shape.y0 + 0.5) for shape in chart.layout.shapes}
    assert frames == {(0, 0), (1, 1)}
    assert [note.text for note in chart.layout.annotations] == ["right", "wrong"]


def test_wordings_with_answers_of_their_own_get_columns_of_their_own():
    analysis = many(1)
    scores = [CandidateScores((" A", " A", " B"), ((-1.0,), (-1.5,), (-2.0,))), CandidateScores(("A",), ((-1.0,),))]
    chart = candidates.candidates(analysis, scores, LOOKS[0])
    assert len(chart.layout.xaxis.ticktext) == 4  # a candidate given twice stays two
    assert sum(data[1] is None for _, _, _, data in marks(chart)) == 4


# --- states


def test_states_are_drawn_where_they_are_with_one_unit_on_both_axes():
    analysis = many(6)
    results = traced(analysis)
    found = planes([r.trace for r in results if r.trace])[1]
    chart = states.plane(found, results, 1, 3, LOOKS[0])
    points = chart.data[-1]
    np.testing.assert_array_equal(np.stack([points.x, points.y], axis=1), found.xy)
    assert chart.layout.yaxis.scaleanchor == "x"
    assert chart.layout.yaxis.scaleratio == 1
    assert "reference" in points.text


def test_names_cover_neither_each_other_nor_the_marks_of_others():
    random = np.random.default_rng(5)
    for count in (2, 12, 65):
        xy = random.normal(size=(count, 2))
        extent = tuple(np.ptp(xy, axis=0) * 1.24)
        placed = labels.placed_labels(xy, [f"wording {k}" for k in range(count)], extent, LOOKS[0])
        scale = min(labels.NOMINAL[0] / extent[0], labels.NOMINAL[1] / extent[1])
        boxes = []
        for place, (text, side) in enumerate(placed):
            if text:
                x, y = xy[place] * scale
                across, up = labels.SIDES[side]
                wide, high = 0.56 * 13 * len(text), 1.1 * 13
                half = LOOKS[0].point / 2 + 2
                left, low = x + (across - 1) / 2 * wide + across * half, y + (up - 1) / 2 * high + up * half
                boxes.append((left, low, left + wide, low + high))
        assert boxes
        for a, b in itertools.combinations(boxes, 2):
            assert a[2] <= b[0] or b[2] <= a[0] or a[3] <= b[1] or b[3] <= a[1]


def test_equal_states_are_one_spot_with_one_name():
    analysis = many(3)
    first = analysis.prompts[0].trace
    equal = replace(analysis, prompts=tuple(replace(result, trace=first) for result in analysis.prompts))
    chart = plane_of(equal, LOOKS[0])
    assert [text for text in chart.data[-1].text if text] == ["reference + 3"]
    assert "all equal" in describe(chart)


def test_distances_start_at_zero_and_have_a_line_per_wording_and_one_for_the_mean():
    chart = distances_of(many(4), LOOKS[0])
    assert chart.layout.yaxis.range[0] == 0
    assert [part.name for part in chart.data] == [*(f"rewording {k}" for k in range(1, 5)), "mean"]
    mean = np.mean([part.y for part in chart.data[:-1]], axis=0)
    np.testing.assert_allclose(chart.data[-1].y, mean, rtol=1e-6)


def test_zeros_have_no_place_on_a_logarithmic_scale():
    analysis = many(2)
    first = analysis.prompts[0].trace
    assert first is not None
    equal = replace(analysis, prompts=tuple(replace(result, trace=first) for result in analysis.prompts))
    for part in distances_of(equal, LOOKS[0], "raw", True).data:
        assert set(part.y) == {None}


def test_one_prompt_has_no_lines():
    assert distances_of(many(0), LOOKS[0]).data == ()


@given(st.lists(st.floats(0, 300), max_size=15))
def test_names_at_line_ends_keep_their_order_and_distance(wanted):
    moved = labels.spread(wanted, 16, 300)
    order = sorted(range(len(wanted)), key=lambda place: wanted[place])
    for a, b in itertools.pairwise(order):
        assert moved[b] - moved[a] >= 16 - 1e-6
    assert all(-1e-6 <= place <= 300 + 1e-6 for place in moved)


def test_names_that_do_not_meet_stay_where_they_are():
    assert labels.spread([10, 50, 200], 16, 300) == [10, 50, 200]


# --- attributions


def test_equal_tokens_are_never_one_bar():
    chart = bars_of("aaaa", np.array([1.0, 2.0, 3.0, 4.0]))
    assert list(chart.data[0].x) == [1, 2, 3, 4]
    assert list(chart.data[0].y) == [0, 1, 2, 3]
    assert len(set(chart.layout.yaxis.ticktext)) == 4


def test_position_zero_is_grey_and_does_not_set_the_scale():
    chart = bars_of("abc", np.array([100.0, 1.0, -1.0]))
    assert list(chart.data[0].marker.color) == [LOOKS[0].grey, RAISES, LOWERS]
    assert max(map(abs, chart.layout.xaxis.range)) < 2


def test_a_map_of_small_scores_stays_small():
    low, high = bars_of("abc", np.array([0.0, 1e-4, -1e-4])).layout.xaxis.range
    assert high - low >= 0.05


def test_compared_charts_share_a_scale():
    spans = [bars_of("abc", scores, scale=4.0).layout.xaxis.range for scores in (np.ones(3), -2 * np.ones(3))]
    assert spans[0] == spans[1] == (-4.12, 4.12)


def test_of_a_long_prompt_the_largest_scores_are_drawn_and_the_rest_is_summed():
    scores = np.random.default_rng(4).normal(size=500)
    chart = bars_of("ab" * 250, scores)
    assert len(chart.data[0].x) == 81
    assert sum(chart.data[0].x) == pytest.approx(scores.sum(), abs=1e-4)
    kept = [data[0] for data in chart.data[-1].customdata[:-1]]
    assert kept == sorted(kept)
    assert set(kept) == set(np.argsort(-np.abs(scores))[:80].tolist())
    assert "the 80 largest of 500" in chart.layout.title.text


def test_what_could_not_be_computed_is_not_zero():
    chart = bars_of("abc", np.array([1.0, np.nan, -1.0]))
    assert [number.strip("\N{FIGURE SPACE}") for number in chart.layout.yaxis2.ticktext] == [
        "+1.00",
        "unknown",
        "−1.00",
    ]
    assert "could not be computed" in chart.data[-1].hovertext[1]


def test_a_map_that_did_not_converge_is_hatched_and_says_so():
    chart = bars_of("abc", np.ones(3), converged=False)
    assert set(chart.data[0].marker.pattern.shape) == {"/"}
    assert "not converged" in chart.layout.title.text


def test_scores_that_are_all_equal_are_drawn():
    for scores in (np.zeros(4), np.ones(4), -np.ones(4)):
        low, high = bars_of("abcd", scores).layout.xaxis.range
        assert low < 0 < high


def test_legends_say_what_is_raised_and_lowered():
    names = [part.name for part in CHARTS["tokens"].data]
    assert as_read(names[1]) == "raises p(<b>$x$) against p(%{x})"
    assert as_read(names[2]) == "lowers p(<b>$x$) against p(%{x})"


def test_a_matrix_is_neutral_at_zero_and_its_rows_sum_to_the_whole_targets_scores():
    chart = CHARTS["matrix"]
    assert chart.data[0].colorscale[1] == (0.5, LOOKS[0].neutral)
    whole = {data[0]: float(text.replace("−", "-")) for _, _, text, data in marks(chart) if data[1] is None}
    sums: dict[int, float] = dict.fromkeys(whole, 0.0)
    for row in csv.DictReader(io.StringIO(data_of(chart), newline="")):
        sums[int(row["position"])] += float(row["score"])
    assert whole == pytest.approx(sums, abs=0.0051)


def test_agreement_is_drawn_between_minus_one_and_one():
    chart = CHARTS["agreement"]
    assert chart.layout.xaxis.range == (-1, 1)
    assert list(chart.layout.yaxis2.ticktext) == ["−0.40", "too few"]


def test_a_deletion_curve_lies_in_the_band_of_its_own_orders():
    found = curve()
    band, mean, own = CHARTS["curve"].data
    steps = len(found.removed)
    assert all(
        low <= middle <= high
        for low, middle, high in zip(reversed(band.y[steps:]), mean.y, band.y[:steps], strict=True)
    )
    np.testing.assert_allclose(own.y, found.curve)


def test_aligned_tokens_have_both_marks_and_the_others_one():
    chart = pair_of(LOOKS[0], "abcd", "axcd")
    reference, variant = (
        next(part for part in chart.data if part.name == name) for name in ("reference", "this wording")
    )
    assert [list(data) for data in chart.data[-1].customdata] == [[0, 0], [1, None], [None, 1], [2, 2], [3, 3]]
    assert list(reference.y) == [0, 1, 3, 4]
    assert list(variant.y) == [0, 2, 3, 4]
    assert list(chart.layout.yaxis2.ticktext[1:3]) == ["gone", "new"]


# --- text and numbers

texts = st.text(max_size=80) | st.sampled_from(NASTY)


@given(texts)
def test_escaped_text_reads_as_what_is_shown(text):
    assert as_read(words.escaped(text)) == shown(text)


@given(texts, st.integers(4, 30))
def test_a_brief_text_is_short_and_cuts_no_character(text, columns):
    found = as_read(words.brief(text, columns))
    assert words.width(found) <= columns or found == shown(text)
    if found != shown(text):
        assert found.endswith("…")
        assert graphemes(shown(text))[: len(graphemes(found[:-1]))] == graphemes(found[:-1])


@given(texts)
def test_a_wrapped_text_loses_nothing(text):
    lines = words.wrapped(text).split("<br>")
    assert "".join(map(as_read, lines)) == shown(text)
    assert all(words.width(as_read(line)) <= words.LINE + 2 for line in lines)


def test_a_very_long_text_is_cut_in_hovers_and_says_so():
    assert words.wrapped("word " * 12_000).endswith("(60 000 characters)")


def test_numbers_have_a_minus_sign_and_no_signed_zero():
    assert [words.signed(value) for value in (-3.904, 0.151, -0.001, 0.0)] == ["−3.90", "+0.15", "0.00", "0.00"]
    assert words.column(["−3.90", "+12.50", "no result"]) == ["\N{FIGURE SPACE}−3.90", "+12.50", "no result"]


def test_wide_characters_take_two_columns():
    assert words.width("日本a") == 5
    assert words.width(unicodedata.normalize("NFD", "é")) == 1
