"""The sentence over the Sensitivity page: who answers what, how far it moves, and what stands apart; plain text."""

from collections.abc import Sequence

from analysis.answer_groups import BLANK, ENDS_AT_ONCE, AnswerGroup, groups
from analysis.answers_match import Match, answer_key, is_expected
from analysis.findings import nats, quoted
from analysis.results import Analysis, Answer
from analysis.sampling import Share
from analysis.sensitivity import ResponseScores, Sensitivity, answer_keys, compared_answers, sensitivity
from analysis.sensitivity_metric import omitted
from analysis.text import percent


def finding(
    analysis: Analysis,
    answers: Sequence[Answer | None] | None = None,
    responses: ResponseScores | None = None,
    match: Match = "first line",
    correct: Match = "contains",
) -> str:
    """ "4 of 7 wordings answer "Paris", the other 3 give 2 other answers; 5 of 7 are right; POSIX 0.83 nats per token; …"."""
    if analysis.reference.trace is None:
        return "The reference could not be analysed, so there is nothing to compare with yet."
    posix = responses.posix if responses else None
    figures = sensitivity(analysis, answers, match=match, correct=correct, posix=posix)
    found = groups(analysis, answers, match, correct)
    if figures.prompts < 2 and figures.answers < 2:
        alone = _alone(found, figures, analysis)
        return f"One wording has no sensitivity: add a rewording to compare it with.{alone}{_apart(analysis, answers, match)}"
    said = _holding(analysis, answers) if match == "contains" and answers and found else _answers(found)
    parts = [said, _right(found, figures, analysis), _posix(figures), _spread(analysis, figures)]
    sentence = "; ".join(part for part in parts if part)
    waiting = "" if found else " The answers are not there yet."
    return f"{sentence[:1].upper()}{sentence[1:]}.{waiting}{_omitted(figures)}{_apart(analysis, answers, match)}"


def _answers(found: Sequence[AnswerGroup]) -> str:
    """How many wordings give the commonest answer, and what the others do."""
    if not found:
        return ""
    total, first = sum(len(group.places) for group in found), found[0]
    count = len(first.places)
    if total == 1:
        return f"only one wording has an answer to compare: {_quoted(first)}"
    if len(found) == 1:
        return f"all {total} wordings {_say(first, total)}"
    if count == 1:
        return f"no two of {total} wordings answer alike"
    rest, others = total - count, len(found) - 1
    other = (
        f"the other {_say(found[1], 1)}" if rest == 1
        else f"the other {rest} {_say(found[1], rest)}" if others == 1
        else f"the other {rest} give {others} other answers"
    )  # fmt: skip
    return f"{count} of {total} wordings {_say(first, count)}, {other}"


def _holding(analysis: Analysis, answers: Sequence[Answer | None]) -> str:
    """How many answers hold the expected one: with "contains" nothing else is compared."""
    keys = answer_keys(analysis, answers, compared_answers(analysis, answers, "contains").places, "contains")
    total, held = len(keys), sum(bool(key) for key in keys.values())
    wanted = {analysis.prompts[place].row.expected or "" for place in keys}
    what = quoted(wanted.pop()) if len(wanted) == 1 else "what is expected"
    if total == 1:
        return f"the answer {'holds' if held else 'does not hold'} {what}"
    if held in (0, total):
        return f"{'all' if held else 'none of the'} {total} answers hold {what}"
    missing = total - held
    return f"{held} of {total} answers {'holds' if held == 1 else 'hold'} {what}, {missing} {'does' if missing == 1 else 'do'} not"


def _say(group: AnswerGroup, count: int) -> str:
    """ "answer "Paris"", or what else they do."""
    if group.name == ENDS_AT_ONCE:
        return "ends at once" if count == 1 else "end at once"
    if group.name == BLANK:
        return "answers only blanks" if count == 1 else "answer only blanks"
    return f"{'answers' if count == 1 else 'answer'} {quoted(group.name)}"


def _quoted(group: AnswerGroup) -> str:
    return group.name if group.name in (ENDS_AT_ONCE, BLANK) else quoted(group.name)


def _right(found: Sequence[AnswerGroup], figures: Sensitivity, analysis: Analysis) -> str:
    """Whether answers are right; agreeing answers that are wrong must not look good."""
    if figures.right is None:
        return ""
    right, total = round(figures.right * figures.judged), figures.judged
    wanted = analysis.reference.row.expected
    expected = f" (expected: {quoted(wanted)})" if wanted else ""
    if right == 0:
        stable = (
            "stable, but wrong" if len(found) == 1 and total > 1 else "none is right" if total > 1 else "it is wrong"
        )
        return f"{stable}{expected}"
    if right == total:
        return "all are right" if total > 1 else "it is right"
    return f"{right} of {total} {'is' if right == 1 else 'are'} right"


def _posix(figures: Sensitivity) -> str:
    return "" if figures.posix is None else f"POSIX {figures.posix:.2f} nats per token"


def _spread(analysis: Analysis, figures: Sensitivity) -> str:
    if figures.spread is None or figures.worst is None or figures.best is None or analysis.target is None:
        return ""
    name = f"log p({quoted(analysis.target.text)})"
    if figures.spread == 0:
        return f"{name} is the same after all {figures.prompts} ({percent(figures.best)})"
    ends = f"{percent(figures.worst)} to {percent(figures.best)}"
    return f"{name} ranges over {nats(figures.spread)} among {figures.prompts} wordings ({ends})"


def _alone(found: Sequence[AnswerGroup], figures: Sensitivity, analysis: Analysis) -> str:
    if not found:
        return ""
    wrong = " It is wrong." if figures.judged == 1 and not figures.right else ""
    return f" It is answered {_quoted(found[0])}.{wrong}"


def _omitted(figures: Sensitivity) -> str:
    phrase = omitted(figures.left_out)
    said = f" {phrase[0].upper()}{phrase[1:]}." if phrase else ""
    apart = figures.answers_left_out.own_expected
    if not apart:
        return said
    rows = "wording with another expected answer is" if apart == 1 else "wordings with another expected answer are"
    return f"{said} {apart} {rows} left out where answers are compared."


def _apart(analysis: Analysis, answers: Sequence[Answer | None] | None, match: Match) -> str:
    """What the controls do: their meaning is changed, so another answer is no flaw."""
    base = answers[0] if answers else None
    if answers is None or base is None:
        return ""
    pairs = zip(analysis.prompts, answers, strict=True)
    controls = [(result, answer) for result, answer in pairs if result.row.is_control and answer is not None]
    if not controls:
        return ""
    wanted = analysis.reference.row.expected

    def said(answer: Answer) -> object:
        return is_expected(answer, wanted) if match == "contains" and wanted else answer_key(answer, match)

    changed = sum(said(answer) != said(base) for _, answer in controls)
    if len(controls) == 1:
        return f" The control {'changes' if changed else 'does not change'} the answer."
    return f" {changed} of {len(controls)} controls change{'s' if changed == 1 else ''} the answer."


def sampled(shares: Sequence[Share | None], analysis: Analysis, temperature: float) -> str:
    """Between which wordings the share of right samples differs most, and whether that is more than chance."""
    known = [(share, result) for share, result in zip(shares, analysis.prompts, strict=True) if share is not None]
    if not known:
        return "No wording says which answer is expected, so no sample is right or wrong."
    lowest, highest = (chosen(known, key=lambda pair: pair[0].share) for chosen in (min, max))
    start = f"At temperature {temperature:g}, {_share(highest[0])} of the samples"
    if len(known) == 1:
        return f"{start} are right after {quoted(highest[1].label)} ({highest[0].right} of {highest[0].count})."
    if lowest[0].share == highest[0].share:
        return f"{start} are right after every one of {len(known)} wordings."
    apart = lowest[0].high < highest[0].low
    return (
        f"{start} are right after {quoted(highest[1].label)} and {_share(lowest[0])} after {quoted(lowest[1].label)};"
        f" their 95 % intervals {'do not overlap' if apart else 'overlap, so this may be chance'}."
    )


def _share(share: Share) -> str:
    return f"{100 * share.share:.0f} %"
