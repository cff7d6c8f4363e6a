"""Rewordings by the model: what becomes of each answer, and the same for the same seed."""

from collections.abc import Sequence
from functools import cache
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis import paraphrase
from analysis.encoding import encode
from analysis.model import LanguageModel, assemble
from analysis.paraphrase import PAIRS, ROUND, ROUNDS, RULE, edits, framed, paraphrases
from analysis.prompts import KINDS
from analysis.results import Answer
from analysis.variants.results import Generated, applied
from tests import tiny


@cache
def loaded(template: bool = True) -> LanguageModel:
    network = tiny.network("llama", scale=8.0)
    network.config.max_position_embeddings = 1024
    return assemble(network, tiny.tokenizer(template=tiny.TEMPLATE if template else None), "tiny")


def said(text: str, finished: bool = False) -> Answer:
    ids = loaded().encoder.full.encode(text, add_special_tokens=False).ids
    pieces = [loaded().encoder.piece(index) for index in ids]
    if finished:
        ids, pieces = [*ids, 0], [*pieces, "<|end|>"]
    return Answer(text, tuple(ids), tuple(pieces), (0.0,) * len(ids), finished)


@pytest.fixture
def says(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Makes a model that gives the answers of a list, each ended by a quotation mark, and then itself again."""

    def give(texts: Sequence[str | Answer]) -> None:
        made = [text if isinstance(text, Answer) else said(f'{text}"') for text in texts]
        made += [said("\n", finished=True)] * (ROUND * ROUNDS - len(made))

        def sample(lm: LanguageModel, prompts: Any, *, count: int, seed: int, **rest: Any) -> list[list[Answer]]:
            start = seed % ROUNDS * ROUND
            return [made[start : start + count]]

        monkeypatch.setattr(paraphrase, "sample", sample)

    return give


def texts(found: Generated) -> list[str]:
    return [proposal.text for proposal in found.proposals]


def test_answers_become_proposals_whose_edits_make_them(says):
    says(["A city of France is", "The capital of Spain is"])
    found = paraphrases(loaded(), "The capital of France is", 2)
    assert texts(found) == ["A city of France is", "The capital of Spain is"]  # another meaning is kept, for the checks
    assert (found.rule, found.asked, found.reason) == (RULE, 2, "")
    for proposal in found.proposals:
        assert (proposal.rule, proposal.kind) == (RULE, RULE)
        assert applied("The capital of France is", proposal.edits) == proposal.text
        assert {edit.rule for edit in proposal.edits} == {RULE}
    assert RULE in KINDS


def test_what_is_no_rewording_is_dropped_and_counted(says):
    says(
        [
            "The capital of France is",  # the text itself
            "", "...",
            "France's capital is", "France's capital is",
            "The capital of France is Paris",
            "word " * 40,
            said("a beginning without an end"),
            PAIRS[0][1],
        ]
    )  # fmt: skip
    found = paraphrases(loaded(), "The capital of France is", 5)
    assert texts(found) == ["France's capital is"]
    assert (found.unchanged, found.duplicates) == (1, 1)
    assert found.reason.startswith(f"of {ROUND * ROUNDS} sampled answers ")
    for part in (
        f"{2 + ROUND * ROUNDS - 9} were empty",
        "2 were longer than twice the text",
        "1 was the text with more after it",
        "1 was one of the pairs shown to the model",
        "1 was the text itself",
        "1 was there already",
    ):
        assert part in found.reason


def test_placeholders_and_protected_parts_have_to_survive(says):
    says(["Say {text} in French", "Say it in French", "Say {text} and {more}", "Put {text} into French"])
    source = "Translate {text} into French"
    assert texts(paraphrases(loaded(), source, 4)) == ["Say {text} in French", "Put {text} into French"]
    found = paraphrases(loaded(), source, 4, protected=[(source.index(" into"), len(source))])
    assert texts(found) == ["Put {text} into French"]
    assert "2 were without its placeholders" in found.reason
    assert "1 was without a protected part" in found.reason


@pytest.mark.parametrize(
    ("source", "kept", "lost"),
    [
        (
            'If x < 3 & y > "4", print',
            'Print where x < 3 & y > "4"',
            ["If x < 3 & y > 4, print", 'If x < 13 & y > "4", print', 'If x is small & y > "4", print'],
        ),
        ("Pay 5 now and 5 later", "5 is to be paid now, 5 later", ["Pay 5 now and later", "Pay 5 now and 5.5 later"]),
        ("Run `ls -l` at https://a.org", "At https://a.org run `ls -l`", ["Run `ls` at https://a.org", "Run `ls -l`"]),
        ("Say «no» to it", "To it, say «no»", ["Say yes to it", "Say no to it"]),
    ],
)
def test_what_no_rewording_touches_has_to_survive(says, source, kept, lost):
    def ended(text: str) -> Answer:
        return said(text + "\n", finished=True)

    says([ended(text) for text in [*lost, kept]])
    found = paraphrases(loaded(), source, 4)
    assert texts(found) == [kept]
    assert f"{len(lost)} {'was' if len(lost) == 1 else 'were'} without a protected part" in found.reason


def test_what_is_there_already_is_not_new(says):
    says(["one two", "three four"])
    found = paraphrases(loaded(), "five six", 2, taken=["one two"])
    assert (texts(found), found.duplicates) == (["three four"], 1)


def test_without_a_closing_mark_the_first_line_of_a_finished_answer_counts(says):
    says([said("\nnine ten\nand so on", finished=True), said("seven eight\n"), said("ten one", finished=True)])
    assert texts(paraphrases(loaded(), "five six", 3)) == ["nine ten", "ten one"]


def test_blanks_around_the_text_stay(says):
    says(["two one"])
    assert texts(paraphrases(loaded(), "\n one two ", 1)) == ["\n two one "]


def test_fewer_are_the_beginning_of_more(says):
    says([f"{word} ten" for word in ("one", "two", "three", "four")])
    whole = texts(paraphrases(loaded(), "five six", 4))
    assert [texts(paraphrases(loaded(), "five six", count)) for count in range(5)] == [whole[:n] for n in range(5)]


@pytest.mark.parametrize("text", ["", " \n", 'a " “ « 「 b', "word " * 500])
def test_what_cannot_be_asked_says_why_at_once(text, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delattr(paraphrase, "sample")
    found = paraphrases(loaded(), text, 3)
    assert (found.proposals, found.asked) == ((), 3)
    assert found.reason


@pytest.mark.parametrize("template", [True, False])
def test_a_real_model_is_asked_through_its_template_where_it_has_one(template: bool):
    lm = loaded(template)
    prompt = framed("one two", ('"', '"'), lm.encoder.has_chat_template)
    assert encode(lm.encoder, prompt).text.endswith('"one two" means the same as "')
    assert ("<|start|>assistant" in encode(lm.encoder, prompt).text) == template
    one, again = (paraphrases(lm, "one two three", 3, seed=5) for _ in range(2))
    assert one == again
    assert one.unchanged + one.duplicates <= ROUND * ROUNDS
    assert len(one.proposals) == 3 or one.reason
    assert len(set(texts(one))) == len(one.proposals)


def test_another_seed_gives_other_answers_and_progress_can_stop_them():
    lm = loaded()
    assert texts(paraphrases(lm, "one two three", 3, seed=1)) != texts(paraphrases(lm, "one two three", 3, seed=2))
    seen: list[float] = []
    paraphrases(lm, "one two three", 50, report=seen.append)
    assert seen == sorted(seen)
    assert 0 <= seen[0] <= seen[-1] <= 1

    class Stop(BaseException):
        pass

    def report(fraction: float) -> None:
        if fraction > 0.3:
            raise Stop

    with pytest.raises(Stop):
        paraphrases(lm, "one two three", 50, report=report)
    assert not lm.lock.held


def test_a_text_that_is_one_of_the_pairs_is_not_shown_with_its_rewording():
    text, other = PAIRS[0]
    assert other not in framed(text, ('"', '"'), chat=False).text
    assert framed(text, ('"', '"'), chat=False).text.count(text) == 1


@given(st.text(max_size=60), st.text(max_size=60))
def test_edits_turn_one_text_into_the_other(source: str, text: str):
    made = edits(source, text)
    assert applied(source, made) == text
    assert all(source[edit.start : edit.end] == edit.before != edit.after for edit in made)


def test_the_default_model_rewords_a_question(default_lm: LanguageModel):
    found = paraphrases(default_lm, "What is the largest ocean on Earth?", 2, seed=0)
    assert len(found.proposals) == 2
    assert any("ocean" in proposal.text.casefold() for proposal in found.proposals)
