"""Every result is as the README says, key by key: types, lengths, and sums that agree with each other."""

import json
import math

import pytest

from analysis.explore import Caches, analyse, answers_of, candidate_scores
from analysis.model import assemble
from analysis.open_file import load_any
from analysis.prompts import Message, PromptSet, Variant
from analysis.report import to_csv, to_json
from analysis.responses import response_scores
from analysis.sensitivity import sensitivity
from tests import tiny

TEXTS = (
    "one",
    "a\u2028b\x00\r\n",
    "👩\u200d👩\u200d👧 e\u0301\u0301 שלום \u202e",
    "<|end|></script>",
    " \ufeff=1+1 ",
    "six " * 300,
)
ROWS = tuple(Variant(text) for text in TEXTS)

SETS = {
    "one token": PromptSet("The capital of France is", ROWS, target="x", response_tokens=2),
    "several tokens": PromptSet("The capital of France is", ROWS, target=" é日", candidates=(" Paris", "é"), response_tokens=2),
    "own next token": PromptSet("The capital of France is", (Variant("The capital of France is"),), response_tokens=1),
    "targets of rows": PromptSet("one two", (Variant("one", target=" two three"), Variant("one", target=(9999,))), target="x"),
    "no rewordings": PromptSet("one two", target=(3, 195), response_tokens=1),
    "failed reference": PromptSet("six " * 300, (Variant("one"), Variant("two", target="x")), target="x"),
    "chat": PromptSet(
        "one", (Variant("two", system="", prefill="x"), Variant("three", mode="completion", kind="control")),
        mode="chat", system="é", turns=(Message("assistant", ""), Message("user", "<|end|>")), target="x", response_tokens=2,
    ),
    "duplicates": PromptSet("one two", (Variant("one two"),) * 12, target=" three", response_tokens=1),
}  # fmt: skip


@pytest.fixture(scope="module", params=list(SETS))
def run(request):
    lm = assemble(tiny.network("llama"), tiny.tokenizer(), "tiny")
    caches = Caches()
    analysis = analyse(lm, SETS[request.param], caches)
    answers = answers_of(lm, analysis, caches)
    candidates = candidate_scores(lm, analysis, caches)
    responses = response_scores(lm, analysis, answers, caches.scores)
    found = sensitivity(analysis, answers, posix=responses.posix if responses else None)
    text = to_json(analysis, lm.encoder.piece, answers=answers, candidates=candidates, sensitivity=found)
    return analysis, text, to_csv(analysis, answers, candidates)


def numbers(values: object, count: int) -> None:
    assert isinstance(values, list)
    assert len(values) == count
    assert all(type(value) in (int, float) and math.isfinite(value) for value in values)


def check_continuation(target: dict) -> int:
    assert set(target) == {"text", "ids", "tokens", "chosen", "joined"}
    assert isinstance(target["text"], str)
    assert len(target["ids"]) == len(target["tokens"]) > 0
    assert all(type(index) is int for index in target["ids"])
    assert type(target["chosen"]) is type(target["joined"]) is bool
    return len(target["ids"])


def check_failed(row: dict) -> None:
    assert isinstance(row["error"], str)
    assert row["error"]
    computed = (
        "tokens spans ids roles log_prob log_probs rank entropy top answer answer_tokens answer_ids answer_log_probs"
        " answer_finished saliency gradient_x_input gradient_norm hidden_norm per_target delta own_target duplicate_of candidates"
    )
    assert {key for key in computed.split() if row[key] is not None} == set()


def check_row(row: dict, count: int, layers: int) -> None:
    """A row with a trace: `count` target tokens, `layers` states."""
    assert row["error"] is None
    length = len(row["tokens"])
    assert length > 0
    assert len(row["ids"]) == len(row["roles"]) == len(row["spans"]) == length
    assert all(0 <= start <= end <= len(row["text"]) for start, end in row["spans"])
    assert row["spans"] == sorted(row["spans"])
    numbers(row["log_probs"], count)
    assert row["log_prob"] == pytest.approx(sum(row["log_probs"]), abs=1e-5)
    assert all(value <= 0 for value in row["log_probs"])
    numbers(row["saliency"], length)
    numbers(row["gradient_x_input"], length)
    assert min(row["saliency"]) >= 0
    for norms in (row, *(row["per_target"] or ())):
        numbers(norms["gradient_norm"], layers)
        numbers(norms["hidden_norm"], layers)
    assert (row["per_target"] is None) == (count == 1)
    assert row["per_target"] is None or len(row["per_target"]) == count
    assert row["rank"] >= 1
    assert row["entropy"] >= 0
    assert len(row["top"]) == 10
    assert all(set(one) == {"token", "log_prob", "id"} for one in row["top"])
    assert math.fsum(math.exp(one["log_prob"]) for one in row["top"]) <= 1 + 1e-5
    if row["rank"] <= 10:
        assert row["top"][row["rank"] - 1]["log_prob"] == pytest.approx(row["log_probs"][0], abs=1e-5)
    if row["answer"] is not None:
        assert len(row["answer_ids"]) == len(row["answer_tokens"]) == len(row["answer_log_probs"])
        assert row["answer_ids"][0] == row["top"][0]["id"]
        assert row["answer_log_probs"][0] == pytest.approx(row["top"][0]["log_prob"], abs=1e-4)
        assert type(row["answer_finished"]) is bool
    for candidate in row["candidates"] or ():
        assert candidate["log_prob"] == pytest.approx(sum(candidate["log_probs"]), abs=1e-5)
        assert candidate["mean"] == pytest.approx(candidate["log_prob"] / len(candidate["log_probs"]), abs=1e-6)


def check_pair(pair: dict, a: dict, b: dict, layers: int) -> None:
    assert pair["delta_log_prob"] == pytest.approx(b["log_prob"] - a["log_prob"], abs=1e-5)
    assert -1e-9 <= pair["jsd"] <= math.log(2) + 1e-9
    for place, token in enumerate(pair["per_target"] or (pair,)):
        numbers(token["delta_hidden_norm"], layers)
        numbers(token["relative"], layers)
        numbers(token["cosine_distance"], layers)
        assert all(0 <= value <= 2 + 1e-9 for value in (*token["relative"], *token["cosine_distance"]))
        if pair["own_target"]:
            assert token["taylor"] is token["bound"] is token["lower"] is token["upper"] is token["certified"] is None
            continue
        norms = a["per_target"][place] if a["per_target"] else a
        numbers(token["taylor"], layers)
        products = [g * d for g, d in zip(norms["gradient_norm"], token["delta_hidden_norm"], strict=True)]
        assert token["bound"] == pytest.approx(products, rel=1e-5, abs=1e-9)
        assert all(
            abs(t) <= bound * (1 + 1e-6) + 1e-9 for t, bound in zip(token["taylor"], token["bound"], strict=True)
        )
        assert token["upper"] == pytest.approx(token["taylor"][-1], abs=1e-6)
        delta = b["log_probs"][place] - a["log_probs"][place]
        assert token["lower"] - 1e-4 <= delta <= token["upper"] + 1e-4
        assert abs(delta) <= token["certified"] + 1e-4
    if pair["per_target"]:
        assert pair["taylor"] == pair["per_target"][0]["taylor"]
        assert sum(token["delta_log_prob"] for token in pair["per_target"]) == pytest.approx(
            pair["delta_log_prob"], abs=1e-5
        )


def test_a_result_is_as_described(run):
    analysis, text, _ = run
    document = json.loads(text, parse_constant=pytest.fail)
    assert " ".join(document) == "version model set target prompts pairs sensitivity notes seed libraries"
    assert document["version"] == 1
    layers = document["model"]["layers"] + 1
    count = check_continuation(document["target"]) if document["target"] else 0
    rows = document["prompts"]
    assert len(rows) == len(analysis.prompts)
    assert len({tuple(row) for row in rows}) == 1
    assert len({row["label"] for row in rows}) == len(rows)
    read = [place for place, row in enumerate(rows) if row["tokens"] is not None]
    for place, row in enumerate(rows):
        if place in read:
            check_row(row, check_continuation(row["own_target"]) if row["own_target"] else count, layers)
        else:
            check_failed(row)
        if place in read and 0 in read:
            assert row["delta"] == pytest.approx(row["log_prob"] - rows[0]["log_prob"], abs=1e-5)
        if row["duplicate_of"] is not None:
            first = rows[row["duplicate_of"]]
            assert row["duplicate_of"] < place
            assert (row["ids"], row["log_probs"], row["delta"]) == (first["ids"], first["log_probs"], first["delta"])
    pairs = document["pairs"]
    assert [(pair["a"], pair["b"]) for pair in pairs] == [(a, b) for a in read for b in read if a < b]
    for pair in pairs:
        check_pair(pair, rows[pair["a"]], rows[pair["b"]], layers)
        if rows[pair["b"]]["duplicate_of"] == pair["a"]:
            assert pair["delta_log_prob"] == pair["jsd"] == max(map(abs, pair["taylor"])) == max(pair["bound"]) == 0
    assert all(set(note) == {"level", "text"} for note in document["notes"])


def test_results_and_tables_open_with_the_same_texts(run):
    analysis, text, table = run
    assert load_any(text.encode(), "RESULT.json").prompt_set.rows() == analysis.prompt_set.rows()
    opened = load_any(table.encode(), "TABLE.csv").prompt_set
    assert [row.prompt.text for row in opened.rows()] == [row.prompt.text for row in analysis.prompt_set.rows()]
    assert [row.label for row in opened.rows()] == [row.label for row in analysis.prompt_set.rows()]
