"""What is measured of a set's sensitivity is in the JSON result and in tables, with every number finite or absent."""

import csv
import io
import json

import numpy as np
import pytest

from analysis.explore import Caches, analyse, answers_of, candidate_scores
from analysis.measured import measured
from analysis.model import assemble
from analysis.prompts import PromptSet, Variant
from analysis.report import to_json
from analysis.report_sensitivity import matrices_csv, metrics_csv
from analysis.responses import response_scores
from analysis.sensitivity import posix, sensitivity
from tests import tiny
from tests.test_charts import NASTY

SETS = {
    "usual": PromptSet(
        "The capital of France is",
        (
            Variant("What is the capital of France?", label=NASTY[0]),
            Variant("France's capital", label='a "b"\r\n, c'),
            Variant("Rome is", kind="negative control"),
            Variant("one two three", target=" x"),
            Variant("six " * 300),
        ),
        target=" Paris", expected="Paris", candidates=(" Paris", " Rome"), response_tokens=3,
    ),
    "alone": PromptSet("one two", target=" three", response_tokens=1),
    "failed reference": PromptSet("six " * 300, (Variant("one"),), target="x"),
}  # fmt: skip


@pytest.fixture(scope="module", params=list(SETS))
def run(request):
    lm = assemble(tiny.network("llama"), tiny.tokenizer(), "tiny")
    caches = Caches()
    analysis = analyse(lm, SETS[request.param], caches)
    answers = answers_of(lm, analysis, caches)
    responses = response_scores(lm, analysis, answers, caches.scores)
    candidates = candidate_scores(lm, analysis, caches)
    figures = sensitivity(analysis, answers, posix=responses.posix if responses else None)
    found = measured(analysis, answers, responses, candidates=candidates)
    text = to_json(analysis, lm.encoder.piece, answers=answers, sensitivity=figures, measured=found)
    return analysis, found, json.loads(text, parse_constant=pytest.fail)


def test_figures_metrics_groups_and_responses_are_written(run):
    analysis, found, document = run
    written = document["sensitivity"]
    assert [one["key"] for one in written["metrics"]] == [metric.key for metric in found.metrics]
    values = {one["key"]: one["value"] for one in written["metrics"]}
    for key in (
        "posix",
        "flip_rate",
        "same_answer",
        "spread",
        "worst",
        "best",
        "cps",
        "right",
        "all_right",
        "any_right",
    ):
        assert values[key] == written[key]
    for one in written["metrics"]:
        assert one["value"] is None or type(one["value"]) in (int, float, bool)
        assert one["interval"] is None or len(one["interval"]) == 2
        assert {"name", "unit", "n", "definition", "source", "lowest", "highest", "note"} <= set(one)
    assert written["match"] == "first line"
    assert sum(len(group["places"]) for group in written["groups"]) == written["answers"]
    assert all(0 <= place < len(analysis.prompts) for group in written["groups"] for place in group["places"])


def test_posix_can_be_computed_from_what_is_written(run):
    _, _, document = run
    scores = document["sensitivity"]["responses"]
    if scores is None:
        assert document["sensitivity"]["posix"] is None
        return
    answers = [document["prompts"][place]["answer_ids"] for place in scores["places"]]
    assert scores["lengths"] == [len(ids) for ids in answers]
    assert posix(np.array(scores["log_probs"]), scores["lengths"]) == pytest.approx(document["sensitivity"]["posix"])


def test_what_was_not_measured_is_null():
    lm = assemble(tiny.network("llama"), tiny.tokenizer(), "tiny")
    analysis = analyse(lm, SETS["alone"], Caches())
    plain = json.loads(to_json(analysis, lm.encoder.piece, sensitivity=sensitivity(analysis)))["sensitivity"]
    assert plain["metrics"] is plain["groups"] is plain["responses"] is None
    assert json.loads(to_json(analysis, lm.encoder.piece))["sensitivity"] is None


def read(text: str) -> list[dict[str, str]]:
    assert text.startswith("\ufeff")
    assert "nan" not in text.lower().split(",")
    return list(csv.DictReader(io.StringIO(text[1:], newline="")))


def test_the_table_of_metrics_has_every_metric(run):
    _, found, document = run
    rows = read(metrics_csv(found.metrics))
    for row, one in zip(rows, document["sensitivity"]["metrics"], strict=True):
        value = one["value"]
        assert row["value"] == ("" if value is None else str(value).lower() if isinstance(value, bool) else str(value))
        assert (row["interval_low"], row["interval_high"]) == tuple(map(str, one["interval"] or ("", "")))
        assert (row["key"], row["definition"], row["note"]) == (one["key"], one["definition"], one["note"])


def test_the_table_of_pairs_has_every_ordered_pair_of_every_matrix(run):
    analysis, found, _ = run
    rows = read(matrices_csv(analysis, found.matrices))
    assert len(rows) == sum(len(matrix.places) ** 2 for matrix in found.matrices)
    labels = {result.row.index: result.label for result in analysis.prompts}
    for row in rows:
        assert (row["row_label"], row["column_label"]) == (labels[int(row["row"])], labels[int(row["column"])])
    deltas = {(row["row"], row["column"]): float(row["value_nats"]) for row in rows if row["matrix"] == "delta"}
    for result in analysis.prompts:
        pair = ("0", str(result.row.index))
        if pair in deltas:
            assert deltas[pair] == pytest.approx(result.delta, abs=1e-6)
            assert deltas[pair] == pytest.approx(-deltas[pair[::-1]], abs=1e-6)
