"""Exports: JSON that can be read back, CSV that keeps every text, HTML that asks nothing of a network."""

import csv
import io
import json
import math
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import plotly.graph_objects as go
import pytest

from analysis import dispersion, taylor
from analysis.explore import Caches, analyse, answers_of, candidate_scores
from analysis.model import assemble
from analysis.open_file import load_any
from analysis.prompts import PromptSet, Variant
from analysis.report import to_csv, to_html, to_json
from analysis.results import Analysis, Note, PromptResult
from analysis.sensitivity import sensitivity
from tests import tiny

TRAPS = (
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "**bold** $x$ :red[x] </s> <|im_end|> &amp; &lt;",
    "two  spaces, trailing ",
    "tab\tnewline\nline\r\nreturn\rend",
    "zero\u200bwidth, no\u00a0break, BOM \ufeff, \u202eright",
    "control \x00 \x07 \x1b[31m \x85",
    "日本語のテスト שלום عربى 👩\u200d👩\u200d👧 e\u0301 नई",
    "=1+1", '"quoted", with comma', "line\u2028separator",
)  # fmt: skip


@pytest.fixture(scope="module")
def lm():
    return assemble(tiny.network("llama"), tiny.tokenizer(), "tiny")


@pytest.fixture(scope="module")
def caches() -> Caches:
    return Caches()


@pytest.fixture(scope="module")
def analysis(lm, caches) -> Analysis:
    variants = (
        Variant("What is the capital of France?", kind="template", label="question"),
        Variant("off", enabled=False),
        Variant("The capital of France is"),
        Variant("one two", target=" Rome", expected="Rome"),
        Variant("six " * 300),
        Variant("The capital of Italy is", kind="negative control"),
    )
    prompt_set = PromptSet(
        "The capital of France is", variants, "Capitals", target=" Paris.", expected="Paris",
        candidates=(" Paris", " Rome is"), response_tokens=4,
    )  # fmt: skip
    return analyse(lm, prompt_set, caches)


@pytest.fixture(scope="module")
def answers(lm, analysis, caches):
    return answers_of(lm, analysis, caches)


@pytest.fixture(scope="module")
def candidates(lm, analysis, caches):
    return candidate_scores(lm, analysis, caches)


@pytest.fixture(scope="module")
def text(lm, analysis, answers, candidates) -> str:
    found = sensitivity(analysis, answers, posix=0.5)
    return to_json(analysis, lm.encoder.piece, answers=answers, candidates=candidates, sensitivity=found)


@pytest.fixture(scope="module")
def document(text):
    return json.loads(text, parse_constant=pytest.fail)


@pytest.fixture(scope="module")
def trapped(lm, caches) -> Analysis:
    variants = tuple(Variant(trap, label=trap) for trap in TRAPS)
    return analyse(lm, PromptSet(TRAPS[0] + " reference", variants, TRAPS[1], target=TRAPS[0]), caches)


# --- JSON


def test_the_keys_of_the_design_are_there_in_its_order(document):
    def order(keys: str, found: dict) -> None:
        wanted = keys.split()
        assert [key for key in found if key in wanted] == wanted

    order("version model set target prompts pairs sensitivity", document)
    order("name revision dtype device layers hidden", document["model"])
    order("text ids tokens", document["target"])
    prompt = (
        "label kind text tokens spans log_prob log_probs top answer saliency gradient_x_input gradient_norm hidden_norm"
    )
    order(prompt, document["prompts"][0])
    pair = "a b delta_log_prob delta_hidden_norm relative cosine_distance taylor bound lower upper certified jsd"
    order(pair, document["pairs"][0])
    order("token log_prob", document["prompts"][0]["top"][0])
    assert {"posix", "flip_rate", "same_answer", "spread", "worst", "best"} <= set(document["sensitivity"])
    assert document["version"] == 1
    assert document["seed"] is None
    assert {"python", "torch", "transformers", "numpy"} <= set(document["libraries"])


def test_every_row_and_every_pair_has_all_keys(document):
    for rows in (document["prompts"], document["pairs"]):
        assert all(list(row) == list(rows[0]) for row in rows)


def test_a_result_opens_as_the_set_that_it_came_from(text, analysis):
    loaded = load_any(text.encode(), "RESULT.json")
    assert loaded.prompt_set == analysis.prompt_set
    assert "this is a result" in loaded.notes[0]


def test_numbers_are_those_of_the_traces(document, analysis):
    layers = analysis.model.layers + 1
    for found, result in zip(document["prompts"], analysis.prompts, strict=True):
        if result.trace is None:
            continue
        trace = result.trace
        assert found["log_prob"] == pytest.approx(trace.log_prob)
        assert np.float32(found["log_probs"]).tolist() == trace.target_log_probs.tolist()
        assert np.float32(found["saliency"]).tolist() == trace.saliency.tolist()
        assert len(found["tokens"]) == len(found["spans"]) == len(found["saliency"]) == len(found["gradient_x_input"])
        assert len(found["gradient_norm"]) == len(found["hidden_norm"]) == layers
        np.testing.assert_allclose(found["hidden_norm"], np.linalg.norm(trace.hidden[0], axis=-1), rtol=1e-6)
        for token, (start, end) in zip(found["tokens"], found["spans"], strict=True):
            assert found["text"][start:end] == token
        assert [one["log_prob"] for one in found["top"]] == sorted(
            (one["log_prob"] for one in found["top"]), reverse=True
        )
        assert found["top"][0]["log_prob"] == pytest.approx(trace.next_log_probs.max())


def test_pairs_point_to_places_in_the_list_of_prompts(document, analysis):
    pairs = document["pairs"]
    assert [(pair["a"], pair["b"]) for pair in pairs] == [(pair.a, pair.b) for pair in taylor.pairs(analysis)]
    for pair in pairs:
        a, b = document["prompts"][pair["a"]], document["prompts"][pair["b"]]
        assert pair["delta_log_prob"] == pytest.approx(b["log_prob"] - a["log_prob"], abs=1e-6)
        assert len(pair["delta_hidden_norm"]) == analysis.model.layers + 1
        if pair["own_target"]:
            assert pair["taylor"] is pair["lower"] is None
        else:
            assert pair["lower"] - 1e-4 <= pair["per_target"][0]["delta_log_prob"] <= pair["upper"] + 1e-4


def test_several_target_tokens_are_repeated_under_per_target(document, analysis):
    count = len(analysis.target)
    assert count > 1
    assert len(document["prompts"][0]["per_target"]) == count
    assert document["prompts"][0]["per_target"][0]["gradient_norm"] == document["prompts"][0]["gradient_norm"]
    pair = document["pairs"][0]
    assert pair["per_target"][0]["taylor"] == pair["taylor"]
    assert sum(token["delta_log_prob"] for token in pair["per_target"]) == pytest.approx(
        pair["delta_log_prob"], abs=1e-5
    )


def test_a_failed_row_has_nulls_and_its_sentence(document):
    (failed,) = (row for row in document["prompts"] if row["error"])
    assert "tokens; tiny reads at most 256" in failed["error"]
    assert failed["text"].startswith("six six")
    for key in ("tokens", "log_prob", "top", "saliency", "gradient_norm", "rank", "delta", "answer"):
        assert failed[key] is None


def test_duplicates_point_to_a_place_and_other_rows_do_not(document):
    assert [row["duplicate_of"] for row in document["prompts"]] == [None, None, 0, None, None, None]
    assert [row["index"] for row in document["prompts"]] == [0, 1, 3, 4, 5, 6]
    assert document["prompts"][2]["delta"] == 0


def test_a_number_that_could_not_be_computed_is_null_with_a_sentence(lm, analysis):
    broken = analysis.prompts[1]
    saliency = broken.trace.saliency.copy()
    saliency[0] = np.nan
    gradient = np.full_like(broken.trace.gradient, np.inf)
    result = replace(broken, trace=replace(broken.trace, saliency=saliency, gradient=gradient))
    found = to_json(replace(analysis, prompts=(analysis.prompts[0], result)), lm.encoder.piece)
    row = json.loads(found, parse_constant=pytest.fail)["prompts"][1]
    assert row["saliency"][0] is None
    assert row["saliency"][1] is not None
    assert row["gradient_norm"] == [None] * (lm.card.layers + 1)
    assert "could not be computed" in row["error"]


def test_without_answers_their_keys_are_null(lm, analysis):
    found = json.loads(to_json(analysis, lm.encoder.piece))
    assert found["sensitivity"] is None
    assert {row["answer"] for row in found["prompts"]} == {None}
    assert {row["candidates"] is None for row in found["prompts"]} == {True}


def test_candidates_are_summed_and_averaged(document):
    for row in document["prompts"]:
        for candidate in row["candidates"] or ():
            assert candidate["log_prob"] == pytest.approx(sum(candidate["log_probs"]))
            assert candidate["mean"] == pytest.approx(candidate["log_prob"] / len(candidate["log_probs"]))


def test_further_keys_may_be_added(lm, analysis):
    found = json.loads(to_json(analysis, lm.encoder.piece, extras={"seed": 3, "patch_curves": [[0.5]]}))
    assert (found["seed"], found["patch_curves"]) == (3, [[0.5]])


def test_half_a_character_in_a_note_is_escaped(lm, analysis):
    noted = replace(analysis, notes=(Note("info", "half \ud83d"),))
    found = to_json(noted, lm.encoder.piece).encode()
    assert json.loads(found)["notes"][0]["text"] == "half \ud83d"


def test_texts_with_traps_come_back_exactly(lm, trapped):
    found = json.loads(to_json(trapped, lm.encoder.piece))
    assert [row["prompt"] for row in found["prompts"]] == [TRAPS[0] + " reference", *TRAPS]
    assert "".join(found["prompts"][3]["tokens"]) == TRAPS[2]


# --- CSV


def rows_of(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text.removeprefix("\ufeff"), newline="")))


def test_a_table_has_a_byte_order_mark_and_one_record_per_prompt(analysis, answers, candidates):
    text = to_csv(analysis, answers, candidates)
    assert text.startswith("\ufefflabel,kind,text,")
    assert text.endswith("\r\n")
    rows = rows_of(text)
    assert [row["label"] for row in rows] == [result.label for result in analysis.prompts]
    for row, result, answer, scores in zip(rows, analysis.prompts, answers, candidates, strict=True):
        assert row["text"] == result.row.prompt.text
        if result.trace is None or answer is None or scores is None:
            assert row["log_prob"] == row["answer"] == row["log p(' Paris')"] == ""
            assert row["error"]
        else:
            assert float(row["log_prob"]) == pytest.approx(result.trace.log_prob)
            assert float(row["probability"]) == pytest.approx(math.exp(result.trace.log_prob))
            assert row["answer"] == answer.text
            assert float(row["log p(' Rome is')"]) == pytest.approx(scores.sums[1])


def test_a_table_keeps_every_character(trapped):
    assert [row["text"] for row in rows_of(to_csv(trapped))] == [TRAPS[0] + " reference", *TRAPS]


def test_half_a_character_has_no_place_in_a_table(lm, caches):
    table = to_csv(analyse(lm, PromptSet("a", (Variant("b\ud800", label="\udfff"),), target="x"), caches))
    assert [row["text"] for row in rows_of(table)] == ["a", "b\ufffd"]
    table.encode()


def test_a_table_opens_as_a_prompt_set(analysis):
    found = load_any(to_csv(analysis).encode(), "table.csv").prompt_set
    enabled = [variant for variant in analysis.prompt_set.variants if variant.enabled]
    assert found.reference == analysis.prompt_set.reference
    assert [(v.text, v.kind) for v in found.variants] == [(v.text, v.kind) for v in enabled]
    assert (found.target, found.expected) == (analysis.prompt_set.target, analysis.prompt_set.expected)


# --- HTML


class Page(HTMLParser):
    """The elements and the text of a page."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.cells: list[str] = []
        self.strips: list[str] = []
        self._open: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        strip = dict(attrs).get("class") == "strip"
        if tag not in ("meta", "br"):
            self._open.append("strip" if strip else tag)
        if tag == "td":
            self.cells.append("")
        if strip:
            self.strips.append("")

    def handle_endtag(self, tag):
        assert self._open.pop() in (tag, "strip")

    def handle_data(self, data):
        self.texts.append(data)
        if "td" in self._open:
            self.cells[-1] += data
        elif "strip" in self._open:
            self.strips[-1] += data


def holdable(text: str) -> str:
    """What HTML can hold of a text: no control characters."""
    return "".join(c for c in text if c in "\n\t" or not (c < " " or "\x7f" <= c <= "\x9f"))


@pytest.fixture(scope="module")
def page(trapped) -> Page:
    return Page(to_html(trapped, finding=TRAPS[0], sensitivity=sensitivity(trapped)))


def test_no_text_becomes_an_element(page):
    used = {tag for tag, _ in page.tags}
    assert used <= {
        "html", "head", "meta", "title", "style", "body", "main", "section", "h1", "h2", "h3", "p", "ul", "li", "div",
        "table", "caption", "thead", "tbody", "tr", "th", "td", "span", "br",
    }  # fmt: skip
    assert not any(name.startswith("on") for _, attributes in page.tags for name in attributes)


def test_the_text_of_the_page_is_the_text_of_the_prompts(page):
    for trap in TRAPS:
        assert holdable(trap) in page.cells
        assert holdable(trap) in page.strips


def test_characters_that_are_not_seen_get_a_glyph(page):
    glyphs = {attributes.get("data-glyph") for _, attributes in page.tags}
    assert {"⏎", "⇥", "·", "⟨U+200B⟩", "⟨U+0000⟩", "⟨U+000D⟩", "⟨U+202E⟩"} <= glyphs


def test_a_report_asks_nothing_of_a_network(analysis, answers):
    figures = [("States", go.Figure(go.Scatter(x=[1, 2], y=[3, 1], text=["</script><b>", "<s>"])))] * 2
    text = to_html(analysis, answers=answers, figures=figures)
    page = Page(text)
    assert not any({"src", "href"} & set(attributes) for _, attributes in page.tags)
    policy = next(a["content"] for _, a in page.tags if a.get("http-equiv") == "Content-Security-Policy")
    assert policy.startswith("default-src 'none'")
    assert "http" not in policy
    assert [tag for tag, _ in page.tags].count("script") == 3  # Plotly once, and a call for each figure


def test_without_figures_a_report_is_small_and_without_programs(analysis, answers, candidates):
    text = to_html(analysis, answers=answers, candidates=candidates)
    assert "<script" not in text
    assert len(text) < 200_000


def test_a_report_says_what_failed(analysis):
    assert "tokens; tiny reads at most" in to_html(analysis)


def test_a_failed_reference_still_makes_a_report(lm, caches):
    failed = analyse(lm, PromptSet(" ", (Variant("one"),)), caches)
    assert "white space" in to_html(failed, finding="Nothing.", sensitivity=sensitivity(failed))
    assert json.loads(to_json(failed, lm.encoder.piece))["target"] is None
    assert len(rows_of(to_csv(failed))) == 2


def test_gradients_may_be_missing(lm, analysis):
    def without(result: PromptResult) -> PromptResult:
        if result.trace is None:
            return result
        return replace(result, trace=replace(result.trace, gradient=None, saliency=None, gradient_x_input=None))

    bare = replace(analysis, prompts=tuple(map(without, analysis.prompts)))
    row = json.loads(to_json(bare, lm.encoder.piece))["prompts"][0]
    assert row["saliency"] is row["gradient_norm"] is None
    assert row["hidden_norm"]
    assert Page(to_html(bare)).strips == []


def test_the_analyses_read_the_same_states(analysis, document):
    """The mean over pairs of the exported distances is the mean that the dispersion plot shows."""
    traces = [result.trace for result in analysis.prompts if result.trace]
    mean = np.mean([pair["delta_hidden_norm"] for pair in document["pairs"]], axis=0)
    np.testing.assert_allclose(dispersion.dispersion(traces).pairwise.raw, mean, rtol=1e-6)
