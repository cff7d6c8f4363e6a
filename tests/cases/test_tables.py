"""The numbers of every case: the same weights in plain transformers, one prompt at a time, gave the tables."""

import pytest

from analysis.explore import top_tokens
from tests.cases.reading import CASES, TABLED, Case

CLOSE = 0.05  # nats; the tables have two decimals
CLEAR = 0.5  # nats between two answers that no rounding exchanges

every_table = pytest.mark.parametrize("case", TABLED, ids=lambda case: f"{case.name} {case.kind}")


def test_the_document_is_read_whole():
    assert len(CASES) == 51
    assert {name for name, case in CASES.items() if not case.table} == {"C55", "C56", "C57"}


@every_table
def test_a_table_has_the_rows_and_targets_of_its_input(case: Case):
    assert [line.label for line in case.table] == list(case.texts())
    for line in case.table:
        own = {} if line.label == "reference" else case.input["variants"][line.label]
        assert [score.text for score in line.scores] == own.get("targets", case.input["targets"])
        assert len(line.top) == 2


@every_table
def test_prompts_and_answers_have_the_tokens_of_the_table(run, case: Case):
    found = run(case.name)
    assert [len(found.trace(line.label).tokens) for line in case.table] == [line.tokens for line in case.table]
    for line in case.table:
        assert [len(tokens) for tokens in found.candidates(line.label).log_probs] == [s.tokens for s in line.scores]


@every_table
def test_answers_have_the_log_probs_of_the_table(run, case: Case):
    found = run(case.name)
    for line in case.table:
        expected = [score.log_prob for score in line.scores]
        assert found.candidates(line.label).sums == pytest.approx(expected, abs=CLOSE), line.label
        assert found.trace(line.label).log_prob == pytest.approx(expected[0], abs=CLOSE), line.label


@every_table
def test_answers_stand_in_the_order_of_the_table(run, case: Case):
    found = run(case.name)
    for line in case.table:
        for one in line.scores:
            for other in line.scores:
                if one.log_prob - other.log_prob > CLEAR:
                    assert found.log_prob(one.text, line.label) > found.log_prob(other.text, line.label)


@every_table
def test_a_difference_has_the_size_of_the_table(run, case: Case):
    found = run(case.name)
    reference = case.table[0].scores[0].log_prob
    for line in case.table:
        assert found.row(line.label).delta == pytest.approx(line.scores[0].log_prob - reference, abs=2 * CLOSE)


@every_table
def test_the_likeliest_next_tokens_are_those_of_the_table(run, default_lm, case: Case):
    found = run(case.name)
    for line in case.table:
        top = top_tokens(found.trace(line.label), 2)
        assert [log_prob for _, log_prob in top] == pytest.approx([score.log_prob for score in line.top], abs=CLOSE)
        pieces = [default_lm.encoder.piece(index) for index, _ in top]
        near = line.top[0].log_prob - line.top[1].log_prob < CLOSE
        assert pieces == [s.text for s in line.top] or (near and set(pieces) == {s.text for s in line.top})
