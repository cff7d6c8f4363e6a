"""What every built-in example claims to show is what the default model does.

Numbers in the claims are read out of them: a sentence and its measurement cannot drift apart.
"""

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import pytest

from analysis.answers_match import is_expected, same_answer
from analysis.candidates import winner
from analysis.examples import EXAMPLES
from analysis.explore import Caches, analyse, answers_of, candidate_scores
from analysis.findings import compared
from analysis.model import LanguageModel
from analysis.results import Analysis, Answer, CandidateScores, PromptResult

BY_KEY = {example.key: example for example in EXAMPLES}


@dataclass(frozen=True, eq=False)
class Shown:
    """An example with what the model does."""

    lm: LanguageModel
    caches: Caches
    shows: str
    analysis: Analysis

    @property
    def labels(self) -> list[str]:
        return [result.label for result in self.analysis.prompts]

    def row(self, label: str) -> PromptResult:
        return self.analysis.prompts[self.labels.index(label)]

    def delta(self, label: str) -> float:
        delta = self.row(label).delta
        assert delta is not None
        return delta

    def p(self, label: str) -> float:
        """p(target) in per cent."""
        trace = self.row(label).trace
        assert trace is not None
        return 100 * math.exp(trace.log_prob)

    @property
    def largest(self) -> float:
        """The largest |Δ| over the wordings that are compared."""
        return max((abs(result.delta or 0.0) for result in compared(self.analysis)), default=0.0)

    def answers(self, tokens: int) -> dict[str, Answer]:
        """The first `tokens` tokens of each answer."""
        short = replace(self.analysis, prompt_set=replace(self.analysis.prompt_set, response_tokens=tokens))
        found = answers_of(self.lm, short, self.caches)
        return {label: answer for label, answer in zip(self.labels, found, strict=True) if answer is not None}

    def candidates(self) -> dict[str, CandidateScores]:
        found = candidate_scores(self.lm, self.analysis, self.caches)
        return {label: scores for label, scores in zip(self.labels, found, strict=True) if scores is not None}

    def winners(self) -> dict[str, str]:
        return {label: scores.texts[winner(scores)].strip() for label, scores in self.candidates().items()}

    def says(self, number: float, decimals: int = 1) -> bool:
        """Whether the claim holds this number, rounded to so many decimals."""
        claimed = [float(found) for found in re.findall(r"\d+(?:\.\d+)?", self.shows)]
        return any(abs(one - number) < 0.51 * 10**-decimals for one in claimed)


Show = Callable[[str], Shown]


@pytest.fixture(scope="module")
def show(default_lm: LanguageModel) -> Show:
    caches = Caches()

    @cache
    def show(key: str) -> Shown:
        made = analyse(default_lm, BY_KEY[key].prompt_set, caches, attributions=False)
        return Shown(default_lm, caches, BY_KEY[key].shows, made)

    return show


@pytest.mark.parametrize("key", BY_KEY)
def test_every_row_of_an_example_is_analysed(show, key):
    analysis = show(key).analysis
    assert analysis.target.joined
    for result in analysis.prompts:
        assert result.trace is not None
        assert math.isfinite(result.trace.log_prob)
        assert not any(note.level == "error" for note in result.notes)
    assert not any(note.level == "error" for note in analysis.notes)


@pytest.mark.parametrize("key", BY_KEY)
def test_the_expected_answer_of_the_reference_is_among_its_likely_ones(show, key):
    """The reference of an example is one that the model can answer, or a list of answers it chooses from."""
    found = show(key)
    assert found.row("reference").trace.log_prob > math.log(0.005)


# What each of them shows, in the order of the menu


def test_capital_of_france(show):
    found = show("capital_of_france")
    assert found.says(found.largest)
    answers = found.answers(6)
    assert "Istanbul" in answers["possessive"].text
    for label in ("reference", "adjective", "as everyone knows", "traveller", "question and answer"):
        assert is_expected(answers[label], "Paris")


def test_arithmetic(show):
    answers = show("arithmetic").answers(4)
    right = {label for label, answer in answers.items() if is_expected(answer, "5")}
    assert right == {"reference", "swapped", "compute"}
    assert answers["no colon"].text.startswith(" 4")
    for label in ("sentence", "if you add", "in words"):
        assert answers[label].text.startswith(" 6")


def test_sentiment(show):
    found = show("sentiment")
    winners = found.winners()
    assert [label for label in found.labels if winners[label] != "positive"] == ["quoted"]
    label = found.candidates()["label"]
    assert np.logaddexp.reduce(label.sums) < math.log(0.01)


def test_multiple_choice(show):
    found = show("multiple_choice")
    assert set(found.winners().values()) == {"A"}
    assert len({result.row.expected for result in found.analysis.prompts}) == 4


def test_translation(show):
    found = show("translation")
    chances = [found.p(label) for label in found.labels]
    assert len(chances) == 6
    assert found.says(max(chances), 0)
    assert found.says(min(chances), 3)
    assert is_expected(found.answers(4)["one example"], "dog")


def test_antonym(show):
    found = show("antonym")
    assert abs(found.delta("question and answer")) == found.largest
    assert found.says(found.largest)
    answer = found.answers(10)["question and answer"]
    assert is_expected(answer, "cold")
    assert answer.text.startswith(" The opposite of hot")


def test_format(show):
    found = show("format")
    assert found.says(found.largest)
    answers = found.answers(4)
    changed = {label for label in found.labels if not is_expected(answers[label], "Tokyo")}
    assert changed == {"upper case", "bar"}
    assert answers["reference"].text.startswith(" Tokyo")
    assert answers["no blanks"].text.startswith("Tokyo")


def test_typos(show):
    found = show("typos")
    for label in ("plante", "laregst"):
        assert 1.5 < -found.delta(label) < 3.5
    assert max(abs(found.delta(label)) for label in ("Teh", "teh")) < 0.45
    assert found.says(-found.delta("all of them"), 0)
    assert abs(found.delta("sytsem")) < 0.1
    answers = found.answers(2)
    assert answers["reference"].text.startswith(" Jupiter")
    assert answers["sytsem"].text.startswith(" Neptune")
    first, second = np.sort(found.row("sytsem").trace.next_log_probs)[::-1][:2]
    assert first - second < 0.5


def test_invisible(show):
    found = show("invisible")
    assert max(abs(found.delta(label)) for label in ("no-break space", "two spaces", "tab")) < 0.15
    assert found.says(-found.delta("soft hyphen"))
    assert found.says(-found.delta("trailing space"))
    assert found.largest == -found.delta("trailing space")


def test_chat(show):
    found = show("chat")
    answers = found.answers(10)
    assert all(is_expected(answer, "Pacific") for answer in answers.values())
    assert found.says(-found.delta("polite"))
    polite, reference = found.row("polite").trace, found.row("reference").trace
    assert found.says(float(reference.target_log_probs[0] - polite.target_log_probs[0]))


def test_system_prompt(show):
    answers = show("system_prompt").answers(12)
    for label in ("reference", "reply only", "single word", "biologist"):
        assert answers[label].text.startswith("No")
    for label in ("empty", "the model's own"):
        assert "can fly" in answers[label].text or "capable of flying" in answers[label].text


def test_stable(show):
    found = show("stable")
    chances = [found.p(label) for label in found.labels]
    assert len(chances) == 7
    assert found.says(min(chances), 0)
    assert found.says(max(chances), 0)
    assert {answer.text.split(".")[0] for answer in found.answers(1).values()} == {" oxygen"}


def test_flips(show):
    found = show("flips")
    answers = found.answers(10)
    for label in ("reference", "a play by"):
        assert answers[label].text.startswith(" William Shakespeare")
    assert "a classic example of a tragic hero" in answers["author"].text
    assert not same_answer(answers["reference"], answers["author"])


def test_french(show):
    found = show("french")
    answers = found.answers(4)
    turned = [label for label in found.labels if answers[label].text.startswith(" quinze")]
    assert len(turned) == 2
    assert all(answers[label].text.startswith(" quatre") for label in found.labels if label not in turned)
    assert {answer.ids[0] for answer in answers.values()} == {found.analysis.target.ids[0]}


def test_languages(show):
    found = show("languages")
    assert found.says(found.p("reference"), 0)
    for label in ("Spanish", "Spanish, longer", "French", "German", "Italian"):
        assert found.p(label) < 2.5
    assert found.says(max(found.p(label) for label in found.labels[2:]), 0)


def test_few_shot(show):
    found = show("few_shot")
    assert found.says(-found.delta("no example"))
    assert abs(found.delta("labels exchanged")) < 0.3
    assert found.winners()["labels exchanged"] == found.winners()["reference"] == "positive"


def test_code(show):
    found = show("code")
    assert max(abs(found.delta(label)) for label in ("tab", "compact", "type hints", "comment")) < 0.15
    assert found.says(-found.delta("trailing space"))


def test_negation(show):
    found = show("negation")
    assert found.says(found.largest)
    changes = [-result.delta for result in found.analysis.prompts if result.row.is_control]
    assert len(changes) == 4
    assert found.says(min(changes))
    assert found.says(max(changes))
    assert min(changes) > 2 * found.largest
