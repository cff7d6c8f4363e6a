"""Whatever users type is shown literally and completely, wherever it appears, and nothing of it is carried out."""

import csv
import html
import io
import json
import re

import pytest
from playwright.sync_api import Page, expect

from analysis.charts.words import brief
from analysis.prompt_files import dump_json
from analysis.prompts import PromptSet, Variant
from analysis.text import visible
from analysis.tokens import shown
from tests.browser import dashboard
from tests.browser.conftest import wait_until_idle
from tests.browser.hostile_texts import HOSTILE

TEXTS = list(HOSTILE.values())
# Every text is a prompt, a label and a kind, and most are candidates.
ALL = PromptSet(
    TEXTS[0],
    tuple(Variant(text, label=text, kind=text) for text in TEXTS[1:]),
    name=HOSTILE["bold"],
    target=HOSTILE["formula"],
    foil=HOSTILE["colour"],
    expected=HOSTILE["bold"],
    candidates=tuple(text for text in TEXTS if len(text.encode()) < 30),
    response_tokens=1,
)
NAMES = ["reference", *TEXTS[1:]]
BY_NAME = pytest.mark.parametrize("index", range(len(TEXTS)), ids=list(HOSTILE))


@pytest.fixture(scope="module")
def explore(tiny_app, open_shared_page) -> Page:
    page = open_shared_page(dashboard.link(tiny_app, ALL))
    page.get_by_text(f"Show all {len(TEXTS)} rows", exact=True).click()
    wait_until_idle(page)
    return page


@pytest.fixture(scope="module")
def attribution(tiny_app, open_shared_page) -> Page:
    return open_shared_page(dashboard.link(tiny_app, ALL, "attribution"))


def interpreted(page: Page) -> list[str]:
    """The elements of a page that come from the texts."""
    made = "img[src=x], .katex, [href*='b.c'], :is([data-testid=stText], .token-strip) :is(script, img, b, strong, em, s, a, code)"
    return page.locator(made).evaluate_all("found => found.map(element => element.outerHTML)")


def svg_texts(page: Page, key: str) -> list[str]:
    return page.locator(f".st-key-{key} svg text").evaluate_all("found => found.map(text => text.textContent)")


def in_charts(text: str, columns: int = 24) -> str:
    """How charts shorten a text."""
    return html.unescape(brief(text, columns))


# --- Explore


def test_nothing_on_the_page_is_interpreted(explore):
    assert interpreted(explore) == []


@BY_NAME
def test_a_strip_put_together_is_the_prompt(explore, index):
    strip = dashboard.row(explore, index).get_by_role("listbox")
    assert "".join(dashboard.cells(strip)) == TEXTS[index]


@BY_NAME
def test_a_row_shows_its_label_and_kind(explore, index):
    name = shown(TEXTS[index])
    head = dashboard.row(explore, index).get_by_test_id("stText").first.text_content()
    assert head.startswith(f"{name} · {name} · " if index else "reference · ")


def test_the_editor_holds_every_text_as_it_is(explore):
    assert dashboard.field(explore, "Reference prompt").input_value() == TEXTS[0]
    assert [dashboard.rewording(explore, k).input_value() for k in range(1, len(TEXTS))] == TEXTS[1:]
    assert dashboard.field(explore, "Target").input_value() == ALL.target


def test_the_finding_names_the_target_and_the_expected_answer(explore):
    expect(dashboard.finding(explore)).to_contain_text(f'"{visible(ALL.target)}"')
    expect(dashboard.finding(explore)).to_contain_text(visible(ALL.expected)[:20])


def test_the_address_holds_the_set(explore):
    assert dashboard.set_in_address(explore) == ALL


@pytest.mark.parametrize("chart", ["deltas", "next-tokens", "candidates"])
def test_the_rows_of_a_chart_have_their_names(explore, chart):
    found = svg_texts(explore, chart)
    for name in NAMES:
        assert any(text.endswith(in_charts(name)) for text in found), name


def test_the_title_and_the_legend_of_a_chart_name_the_target(explore):
    found = svg_texts(explore, "deltas")
    assert f"Δ log p({ALL.target}) by wording" in found
    assert {f"raises p({ALL.target})", f"lowers p({ALL.target})"} & set(found)


def test_the_plane_names_its_wordings(explore):
    found = " ".join(svg_texts(explore, "plane"))
    for mark in ("<img src=x", "**bold**", ":red[x]", "日本語", "&lt;b"):
        assert mark in found


def test_the_columns_of_the_candidates_are_literal(explore):
    found = svg_texts(explore, "candidates")
    for text in ALL.candidates:
        assert in_charts(text, 14) in found


@BY_NAME
def test_a_hover_shows_the_whole_text(explore, index):
    plot = explore.locator(".st-key-deltas .nsewdrag").first
    plot.scroll_into_view_if_needed()
    box = plot.bounding_box()
    explore.mouse.move(box["x"] + 5 + index % 2, box["y"] + box["height"] * (index + 0.5) / len(TEXTS))
    lines = explore.locator(".st-key-deltas .hoverlayer text tspan.line")
    name = shown(NAMES[index])
    expect(lines.first).to_have_text(re.compile(f"^\u2068?{re.escape(name.split('⏎')[0])}"))
    assert shown(TEXTS[index]) in re.sub("[\u2068\u2069]", "", "".join(lines.all_text_contents()))


def test_a_tooltip_of_a_strip_shows_its_piece(explore):
    dashboard.row(explore, 0).get_by_role("option").first.hover()
    expect(explore.locator(".token-strip .tip:popover-open .title")).to_have_text("<")


def test_the_options_of_the_wordings_are_literal(explore):
    assert dashboard.open_options(explore, "Wording").all_text_contents() == [shown(name) for name in NAMES[1:]]
    explore.keyboard.press("Escape")


def test_charts_describe_themselves_literally(explore):
    described = explore.locator(".st-key-deltas").evaluate("chart => chart.innerHTML")
    assert html.escape(ALL.target) in described


def test_exports_hold_every_text_as_it_is(explore, open_page, tmp_path):
    dashboard.open_popover(explore, "export")
    result = json.loads(dashboard.download(explore, re.compile("JSON")).path().read_text(encoding="utf-8"))
    assert [prompt["text"] for prompt in result["prompts"]] == TEXTS
    assert [prompt["label"] for prompt in result["prompts"]] == NAMES
    data = dashboard.download(explore, re.compile("A row per prompt")).path().read_bytes().decode("utf-8-sig")
    assert [row["text"] for row in csv.DictReader(io.StringIO(data, newline=""))] == TEXTS
    path = tmp_path / "report.html"
    dashboard.download(explore, re.compile("Report")).save_as(path)
    dashboard.close_popover(explore)
    report = open_page()
    report.goto(path.as_uri())
    content = report.locator("body").text_content()
    for text in TEXTS:
        assert any(form in content for form in (text, shown(text), visible(text)))
    assert interpreted(report) == []


def test_a_saved_file_opens_as_the_same_set(explore):
    dashboard.open_popover(explore, "share")
    saved = dashboard.download(explore, re.compile("Save as file"))
    assert re.fullmatch(r"[\w-]+\.json", saved.suggested_filename)
    assert saved.path().read_text(encoding="utf-8") == dump_json(ALL)
    dashboard.close_popover(explore)


@pytest.mark.parametrize("key", ["script", "image", "bold", "formula", "colour", "joined emoji", "right to left"])
def test_the_name_of_a_bad_file_is_literal(explore, key):
    name = HOSTILE[key].replace("/", "∕") + ".json"  # a path's last part is its name
    dashboard.upload(explore, name, b"{")
    expect(explore.locator(".st-key-said").get_by_test_id("stText")).to_contain_text(visible(name)[:50])
    assert interpreted(explore) == []
    assert dashboard.set_in_address(explore) == ALL
    dashboard.close_popover(explore)


def test_the_name_of_a_model_is_literal(explore):
    expect(explore.locator(".st-key-model-card").get_by_text("**tiny**_x", exact=True).first).to_be_visible()


# --- Attribution


def test_attribution_is_literal_too(attribution):
    assert interpreted(attribution) == []
    expect(dashboard.finding(attribution)).to_contain_text(ALL.target)
    expect(attribution.get_by_text(f"raises p({ALL.target}) against p({ALL.foil})", exact=True).first).to_be_visible()
    assert dashboard.open_options(attribution, "Wording").all_text_contents() == [shown(name) for name in NAMES]
    attribution.keyboard.press("Escape")


@pytest.mark.parametrize("key", ["bold", "end of sequence", "joined emoji", "right to left", "invisible", "line break"])
def test_every_wording_is_drawn_character_for_character(attribution, key):
    text = HOSTILE[key]
    dashboard.choose(attribution, "Wording", re.compile(f"^{re.escape(shown(text))}$"))
    strip = attribution.get_by_role("listbox", name="Tokens of the wording", exact=True)
    assert "".join(dashboard.cells(strip)) == text
    assert len(svg_texts(attribution, "token-scores")) > 2
    assert interpreted(attribution) == []
