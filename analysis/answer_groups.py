"""Which wordings are answered alike: "4 of 7 say Paris"."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from analysis.answers_match import Match
from analysis.results import Analysis, Answer
from analysis.sensitivity import answer_keys, compared_answers, judgements

ENDS_AT_ONCE = "(ends at once)"
BLANK = "(only blanks)"


@dataclass(frozen=True)
class AnswerGroup:
    """The wordings whose answers count as the same."""

    name: str  # plain text for a sentence or a label
    text: str  # the answer of the group's first wording, whole
    places: tuple[int, ...]  # in `Analysis.prompts`
    reference: bool  # the reference is one of them
    judged: int  # of them something is expected
    right: int  # of these are answered as expected

    @property
    def all_right(self) -> bool | None:
        """None where nothing is expected, or some are right and others wrong."""
        return None if not self.judged or 0 < self.right < self.judged else self.right == self.judged


def groups(
    analysis: Analysis,
    answers: Sequence[Answer | None] | None,
    match: Match = "first line",
    correct: Match = "contains",
) -> tuple[AnswerGroup, ...]:
    """The answers that `sensitivity` compares, grouped by `match`; the largest group first, then as in the set.

    With "contains" there are two: answers that hold the expected one, and answers that do not.
    """
    if answers is None:
        return ()
    keys = answer_keys(analysis, answers, compared_answers(analysis, answers, match).places, match)
    right = judgements(analysis, answers, correct)
    members: dict[Hashable, list[int]] = {}
    for place, key in keys.items():
        members.setdefault(key, []).append(place)
    found = []
    for key, places in members.items():
        first = answers[places[0]]
        assert first is not None
        judged = [right[place] for place in places if place in right]
        found.append(
            AnswerGroup(
                name=_name(analysis, first, key, match),
                text=first.text,
                places=tuple(places),
                reference=0 in places,
                judged=len(judged),
                right=sum(judged),
            )
        )
    return tuple(sorted(found, key=lambda group: -len(group.places)))


def _name(analysis: Analysis, answer: Answer, key: Hashable, match: Match) -> str:
    if match == "contains":
        expected = {result.row.expected for result in analysis.prompts if result.row.expected}
        if len(expected) != 1:
            return "as expected" if key else "not as expected"
        return next(iter(expected)) if key else f'without "{next(iter(expected))}"'
    if not answer.text:
        return ENDS_AT_ONCE
    if match == "first token":
        shown = answer.pieces[0].strip()
    elif match == "whole text":
        shown = answer.text.strip()
    else:
        shown = next((line.strip() for line in answer.text.splitlines() if line.strip()), "")
    return shown or BLANK
