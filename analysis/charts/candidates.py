"""Declared answers scored together, wording by wording."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float

from analysis.candidates import gold, winner
from analysis.charts import grid, words
from analysis.charts.look import Cell, Look
from analysis.charts.rows import row_hovers, row_label
from analysis.results import Analysis, CandidateScores, PromptResult
from analysis.text import percent

HOW_TO_READ = """
**Question.** Which of the declared answers does the model prefer after each wording, and is it the expected one?

**Formula.** The number is log p(answer | prompt) in nats, summed over the answer's tokens, or its mean per token. The colour
is the answer's share among those declared, exp(value) / Σ exp(value), on a scale from 0 to 1.

**Reading it.** One row per wording, one column per answer. Bold is the winner, the frame is around the expected answer:
where the two fall together the wording is answered right. With forms put together, answers that differ only in case and
outer blanks (" Yes", "yes") are one column with the sum of their probabilities.

**How it can mislead.** Sums favour short answers, means per token favour long ones: where the two disagree, look at both. The
share hides how unlikely all declared answers may be together; the log-probs do not. With letters as answers (A, B, C, D) a
model may follow the place of an option rather than its content. Wordings with the same winner can be wrong alike. A form that
is the beginning of another one is counted twice in a sum of forms.

**Source.** Holtzman et al., "Surface Form Competition: Why the Highest Probability Answer Isn't Always Right", EMNLP 2021.
"""


def candidates(
    analysis: Analysis,
    scores: Sequence[CandidateScores | None],
    look: Look,
    per_token: bool = False,
    selected: int | None = None,
) -> go.Figure:
    """The log-probs of every row's candidates; `scores` are in the order of the analysed rows, None is left out.

    A point's customdata is [row.index, place in the row's own candidates], the place None where the row has no such candidate.
    """
    scored = [(result, found) for result, found in zip(analysis.prompts, scores, strict=True) if found is not None]
    columns = list(dict.fromkeys(name for _, found in scored for name in _named(found.texts)))
    decimals = 2 if len(columns) <= 4 else 1 if len(columns) <= 12 else 0
    rows = [_row(result, found, columns, per_token, decimals) for result, found in scored]
    verdicts = [_verdict(result, found, per_token) for result, found in scored]
    made = grid.table_figure(
        rows,
        [row_label(result, look, selected) for result, _ in scored],
        [text for text, _ in columns],
        look.sequential,
        look,
        title=f"Log-prob of the answers, nats{' per token' if per_token else ''}",
        subtitle="framed: the expected answer · <b>bold</b>: the winner",
        description=_description(scored, verdicts, per_token),
        table=_table(scored, per_token),
        annotations=[
            _beside(place, "right" if right else "wrong", look)
            for place, right in enumerate(verdicts)
            if right is not None
        ],
    )
    return made.update_layout(
        margin_r=max(made.layout.margin.r, 0 if set(verdicts) <= {None} else round(3.6 * look.size))
    )


def _values(scores: CandidateScores, per_token: bool) -> Float[np.ndarray, " candidate"]:
    return scores.means if per_token else scores.sums


def _shares(values: Float[np.ndarray, " candidate"]) -> Float[np.ndarray, " candidate"]:
    return np.exp(values - np.logaddexp.reduce(values))


def _named(texts: Sequence[str]) -> list[tuple[str, int]]:
    """Each text with how often it has come before, so that equal ones stay apart."""
    return [(text, list(texts[:place]).count(text)) for place, text in enumerate(texts)]


def _row(
    result: PromptResult, found: CandidateScores, columns: Sequence[tuple[str, int]], per_token: bool, decimals: int
) -> list[grid.Square]:
    values = _values(found, per_token)
    shares = _shares(values)
    best, right = winner(found, per_token), gold(result, found.texts)
    places = {name: place for place, name in enumerate(_named(found.texts))}
    lines = [[f"{words.wrapped(text)} is not among this wording’s answers"] for text, _ in columns]
    for column, name in enumerate(columns):
        if (place := places.get(name)) is not None:
            notes = [
                note for note, true in (("the winner", place == best), ("the expected answer", place == right)) if true
            ]
            lines[column] = [*_lines(found, place), f"{100 * shares[place]:.0f} % of the answers{_listed(notes)}"]
    squares = []
    for name, hover in zip(columns, row_hovers(result, lines), strict=True):
        place = places.get(name)
        data = (result.row.index, place)
        if place is None:
            squares.append(grid.Square(None, "", hover, data))
        else:
            text = words.number(values[place], decimals)
            squares.append(
                grid.Square(float(shares[place]), text, hover, data, strong=place == best, boxed=place == right)
            )
    return squares


def _lines(found: CandidateScores, place: int) -> list[str]:
    """What a hover says of one candidate."""
    count = len(found.log_probs[place])
    return [
        f"<b>{words.wrapped(found.texts[place])}</b>",
        f"log p = {words.number(found.sums[place], 3)} nats, p = {percent(found.sums[place])}",
        f"{count} token{'s' if count > 1 else ''}, mean {words.number(found.means[place], 3)} nats per token",
    ]


def _listed(notes: Sequence[str]) -> str:
    return "".join(f", {note}" for note in notes)


def _verdict(result: PromptResult, found: CandidateScores, per_token: bool) -> bool | None:
    """Whether the winner is the expected answer; None where none is declared among the candidates."""
    if result.row.expected is None:
        return None
    right = gold(result, found.texts)
    return None if right is None else right == winner(found, per_token)


def _beside(place: int, text: str, look: Look) -> dict[str, object]:
    where = {"xref": "paper", "x": 1, "xanchor": "left", "xshift": 4, "y": place, "yref": "y", "yanchor": "middle"}
    return {**where, "text": text, "showarrow": False, "font": {"size": look.size - 1, "color": look.muted}}


def _description(
    scored: Sequence[tuple[PromptResult, CandidateScores]], verdicts: Sequence[bool | None], per_token: bool
) -> str:
    if not scored:
        return "Table of answers: no wording declares candidates."
    wins = [found.texts[winner(found, per_token)] for _, found in scored]
    counts = sorted({text: wins.count(text) for text in wins}.items(), key=lambda pair: -pair[1])
    said = ", ".join(f"{text!r} after {count}" for text, count in counts[:4])
    judged = [right for right in verdicts if right is not None]
    end = f"; right in {sum(judged)} of {len(judged)}" if judged else ""
    return (
        f"Table of the declared answers' log-probs after {len(scored)} wordings; the likeliest answer is {said}{end}."
    )


def _table(scored: Sequence[tuple[PromptResult, CandidateScores]], per_token: bool) -> dict[str, list[Cell]]:
    cells = [(result, found, place) for result, found in scored for place in range(len(found.texts))]
    return {
        "row": [result.row.index for result, _, _ in cells],
        "label": [result.label for result, _, _ in cells],
        "candidate": [found.texts[place] for _, found, place in cells],
        "tokens": [len(found.log_probs[place]) for _, found, place in cells],
        "log_prob_nats": [float(found.sums[place]) for _, found, place in cells],
        "log_prob_per_token_nats": [float(found.means[place]) for _, found, place in cells],
        "winner": [place == winner(found, per_token) for _, found, place in cells],
        "expected": [place == gold(result, found.texts) for result, found, place in cells],
    }
