"""What is shown of a text: every character once and whole, nothing eaten, nothing hidden."""

import csv
import html
import io
import json

import pytest

from analysis.charts import words
from analysis.continuation import continuation_cells
from analysis.diff import word_diff
from analysis.direction import levels, right_to_left
from analysis.prompt_files import dump_json, load_json
from analysis.report import to_csv, to_json
from analysis.text import describe, invisible_characters, shortened
from analysis.tokens import cells, graphemes, plotly_text, shown, shown_parts
from tests.cases.reading import CASES, TABLED

every_case = pytest.mark.parametrize("case", TABLED, ids=lambda case: f"{case.name} {case.kind}")


@every_case
def test_cells_put_together_are_the_prompt_and_hold_whole_characters(run, case):
    found = run(case.name)
    for label in case.texts():
        tokens = found.trace(label).tokens
        made = cells(tokens)
        assert "".join(cell.text for cell in made) == tokens.text
        assert [t for cell in made for t in cell.tokens] == list(range(len(tokens)))
        assert "\ufffd" not in "".join(cell.text for cell in made)
        assert [sign for cell in made for sign in graphemes(cell.text)] == graphemes(tokens.text)


@every_case
def test_answers_are_shown_in_whole_characters(run, default_lm, case):
    for label in case.texts():
        target = run(case.name).trace(label).target
        made = continuation_cells(default_lm.encoder.decode, target.ids)
        assert "".join(text for text, _ in made) == target.text
        assert [sign for text, _ in made for sign in graphemes(text)] == graphemes(target.text)


@every_case
def test_what_two_wordings_differ_in_can_be_seen(case):
    seen = {(shown(text), describe(text)) for text in case.texts().values()}
    assert len(seen) == len(set(case.texts().values()))
    for text in case.texts().values():
        assert "".join(part for part, _ in shown_parts(text)) == text


@every_case
def test_texts_come_back_from_files_of_every_kind(run, case):
    found = run(case.name)
    texts = list(case.texts().values())
    assert load_json(dump_json(found.analysis.prompt_set), "set") == found.analysis.prompt_set
    rows = list(csv_rows(to_csv(found.analysis, candidates=found.scores)))
    assert [row["text"] for row in rows] == texts
    assert [row["target"] for row in rows] == [result.trace.target.text for result in found.analysis.prompts]
    document = json.loads(to_json(found.analysis, str, candidates=found.scores))
    assert [prompt["prompt"] for prompt in document["prompts"]] == texts


def csv_rows(text):
    return csv.DictReader(io.StringIO(text.removeprefix("\ufeff"), newline=""))


# C40, C44, C45: tokens that are parts of characters


def test_c40_nineteen_ids_are_eleven_characters(run, default_lm):
    tokens = run("C40").trace().tokens
    assert len(tokens) == 19
    assert sum("\ufffd" in default_lm.encoder.piece(index) for index in tokens.ids) == 15
    assert [len(graphemes(cell.text)) for cell in cells(tokens)] == [1] * 11


def test_c44_the_last_character_has_three_ids_and_one_cell(run):
    tokens = run("C44").trace().tokens
    made = cells(tokens)
    assert (len(tokens), len(made)) == (18, 11)
    assert (made[-1].text, len(made[-1].tokens)) == ("略", 3)


def test_c45_a_visible_sign_is_one_cell(run):
    found = run("C45")
    signs = {
        "reference": ["❤\ufe0f", "✉\ufe0f"],
        "joiner sequence": ["✈\ufe0f", "👩\U0001f3fc\u200d🦳"],
        "keycap and flag": ["2\ufe0f\u20e3", "🇫🇷"],
    }
    for label, expected in signs.items():
        texts = [cell.text.strip() for cell in cells(found.trace(label).tokens)]
        for sign in expected:
            assert texts.count(sign) == 1


def test_c45_a_difference_of_selectors_alone_is_named(run):
    found = run("C45")
    assert "U+FE0F VARIATION SELECTOR-16 inside an emoji after characters 1, 6" in found.notes()
    assert "U+FE0F" not in found.notes("no variation selectors")


@pytest.mark.parametrize("limit", range(4, 16))
def test_c45_no_label_cuts_a_sign(limit):
    for text in CASES["C45"].texts().values():
        for short in (shortened(text, limit), html.unescape(words.brief(text, limit))):
            whole = graphemes(text)
            kept = graphemes(short.removesuffix("…"))
            assert [shown(sign) for sign in kept] == [shown(sign) for sign in whole[: len(kept)]]


# C41, C53: text that pages and charts read as markup


def test_c41_everything_is_shown_character_by_character():
    for text in CASES["C41"].texts().values():
        assert shown(text) == text.replace("\n", "⏎")
        drawn = plotly_text(text)
        assert "$" not in drawn
        assert html.unescape(drawn) == text.replace("\n", "⏎")
    changed = [hunk for hunk in word_diff(*CASES["C41"].texts().values()) if hunk.op != "equal"]
    assert len(changed) == 1


def test_c53_entities_are_drawn_as_entities():
    for text in CASES["C53"].texts().values():
        assert html.unescape(plotly_text(text)) == text
        assert "<" not in plotly_text(text)


# C42, C43: look-alikes and characters that are not seen


def test_c42_apostrophes_are_named_and_the_continuation_takes_their_style(run):
    found = run("C42")
    assert [len(result.trace.tokens) for result in found.analysis.prompts] == [11, 12, 13]
    assert found.notes("U+2019") == "U+2019 RIGHT SINGLE QUOTATION MARK after character 18"
    assert found.notes("U+02BC") == "U+02BC MODIFIER LETTER APOSTROPHE after character 18"
    assert [found.likeliest(label) for label in found.case.texts()] == [' "', " “", ' "']


def test_c43_each_row_says_what_is_not_seen_and_where(run):
    found = run("C43")
    places = {
        "NBSP": "U+00A0 NO-BREAK SPACE after character 14",
        "ZWSP beside blank": "U+200B ZERO WIDTH SPACE after character 14",
        "ZWSP in word": "U+200B ZERO WIDTH SPACE after character 18",
        "soft hyphen": "U+00AD SOFT HYPHEN after character 7",
        "BOM": "(BYTE ORDER MARK) at the start",
        "Cyrillic a": "U+0430 CYRILLIC SMALL LETTER A after character 17",
        "double blank": "2 spaces in a row after character 11",
        "tab": "U+0009 TAB after character 11",
    }
    assert set(places) == set(found.case.texts()) - {"reference"}
    for label, place in places.items():
        assert place in found.notes(label)
        for unseen in invisible_characters(found.case.texts()[label]):
            if unseen.sort == "invisible":
                assert f"⟨{unseen.code_point}⟩" in shown(found.case.texts()[label]) or unseen.character == "\t"
    assert "⇥" in shown(found.case.texts()["tab"])
    assert found.notes() == ""


def test_c43_rows_that_look_alike_are_not_taken_for_one(run):
    found = run("C43")
    assert [result.duplicate_of for result in found.analysis.prompts] == [None] * 9
    deltas = {result.label: result.delta for result in found.analysis.prompts}
    assert min(deltas, key=deltas.get) == "soft hyphen"
    assert max(deltas, key=deltas.get) == "BOM"


# C46: right to left


def test_c46_cells_are_in_the_order_of_the_text_and_run_their_own_way(run):
    found = run("C46")
    for label, text in found.case.texts().items():
        made = cells(found.trace(label).tokens)
        assert "".join(cell.text for cell in made) == text
        line = [cell for cell in made if cell.end <= text.index("\n")]
        assert not right_to_left(line)
        by_text = dict(zip((cell.text.strip() for cell in line), levels(line), strict=True))
        hebrew = [level for sign, level in by_text.items() if any("\u05d0" <= c <= "\u05ea" for c in sign)]
        assert set(hebrew) == {1}
        assert by_text["day"] == by_text["dream"] == 0


def test_c46_a_mark_between_two_hebrew_words_runs_with_them(run):
    made = cells(run("C46").trace().tokens)
    line = [cell for cell in made if cell.end <= run("C46").trace().tokens.text.index("\n")]
    found = list(zip((cell.text for cell in line), levels(line), strict=True))
    commas = [level for text, level in found if text == ","]
    assert commas == [0, 1]
