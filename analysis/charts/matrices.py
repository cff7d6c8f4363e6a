"""A number for every two wordings as a table of colours: Δ, divergence, and each one's answer after the other."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float

from analysis.charts import words
from analysis.charts.grid import Square
from analysis.charts.heat import heat_figure
from analysis.charts.look import Cell, Look, key
from analysis.charts.rows import row_label
from analysis.matrices import Kind, PairMatrix
from analysis.results import Analysis, Answer, PromptResult
from analysis.sensitivity import changed_per_token
from analysis.text import percent, shortened

LARGEST = 620  # px of the table's height, at the usual size of text
NUMBERED = 7  # wordings: in larger tables numbers do not fit into the cells on a 420 px screen
MARKED = 20  # wordings: in larger tables the marks of the columns would run together there
#: The least that full colour stands for, in nats: a small effect must look small.
NARROWEST: dict[Kind, float] = {"delta": 0.5, "jsd": 0.1, "response": 0.5}
TITLES: dict[Kind, str] = {
    "delta": "Δ log p(target) of every pair",
    "jsd": "JSD of the next token of every pair",
    "response": "Every answer after every wording",
}
AXES: dict[Kind, str] = {
    "delta": "column − row, nats",
    "jsd": "nats",
    "response": "the column’s answer<br>after the row’s wording; colour:<br>against its own, nats per token",
}
NAMES: dict[Kind, str] = {"delta": "delta_nats", "jsd": "jsd_nats", "response": "log_prob_nats"}

HOW_TO_READ: dict[Kind, str] = {
    "delta": """
**Question.** How much likelier does each wording make the target than each other wording does?

**Formula.** log p(target | column) − log p(target | row), in nats, with the same target tokens after every wording.

**Reading it.** Blue: likelier after the column's wording than after the row's; orange: less likely. The diagonal is 0, and
what is above it is below it with the other sign. A column of one colour is a wording that stands out. Names of controls are
in italics. Full colour is the largest value here, and at least 0.5 nats.

**How it can mislead.** The table holds no more than one number per wording (their log p): it shows who differs from whom, not
more evidence. Equal log p of the target need not mean equal answers. Wordings with a target of their own are left out.

**Source.** Liu & Chu, "Understanding the Prompt Sensitivity", ACL 2026, arXiv 2604.18389.
""",
    "jsd": """
**Question.** After which wordings does the model expect the same to come next, and after which something else?

**Formula.** Jensen–Shannon divergence of the two next-token distributions p and q: ½ KL(p‖m) + ½ KL(q‖m), m = ½(p + q), in
nats. 0 for equal distributions and at most ln 2 = 0.693.

**Reading it.** The bluer, the more different. Blocks without colour along the diagonal are wordings after which the same is
expected. Names of controls are in italics. Full colour is the largest value here, and at least 0.1 nats.

**How it can mislead.** Only the next token counts: a wording after which the model begins with "The" differs from one after
which it says "Paris" at once, though both may go on to the same answer. It does not say which of the two is better.

**Source.** Lin, "Divergence measures based on the Shannon entropy", 1991.
""",
    "response": """
**Question.** Would the model give one wording's answer after another wording too?

**Formula.** log P(y_j | x_i): the log-prob of the greedy answer y_j to the column's wording, read after the row's wording
x_i, summed over its tokens, in nats. The colour is how much that differs from log P(y_j | x_j), per token of the answer;
POSIX is the mean size of it over all pairs.

**Reading it.** Orange: the answer is less likely after this wording than after its own; blue: likelier. On the diagonal are
the wordings' own answers. A row of orange is a wording that goes its own way, a column of orange an answer that only its own
wording brings. Full colour is the largest value here, and at least 0.5 nats per token.

**How it can mislead.** The numbers of long answers are lower whatever the wording: compare within a column. An answer that
differs only in its first words can be very unlikely after another wording and mean the same. Controls and repeated wordings
are left out.

**Source.** Chatterjee et al., "POSIX: A Prompt Sensitivity Index", EMNLP Findings 2024.
""",
}


def pair_matrix(
    matrix: PairMatrix,
    analysis: Analysis,
    look: Look,
    selected: int | None = None,
    answers: Sequence[Answer | None] | None = None,
) -> go.Figure:
    """The table of a matrix in the set's order; `answers`, one per prompt, are said in the hovers of responses.

    A point's customdata is [row.index of the row, row.index of the column].
    """
    kind, count = matrix.kind, len(matrix.places)
    results = [analysis.prompts[place] for place in matrix.places]
    values = np.asarray(matrix.values, dtype=np.float64)
    shades = changed_per_token(values, matrix.lengths) if kind == "response" else values
    finite = np.abs(shades[np.isfinite(shades)])
    most = max(float(finite.max(initial=0.0)), NARROWEST[kind])
    replies = [answers[place] if answers else None for place in matrix.places]
    row = min(look.row, LARGEST * look.size / 13 / max(count, 1))
    named = row >= 1.15 * (look.size - 1)
    shown = [place for place, result in enumerate(results) if named or result.row.index in (0, selected)]
    cells = [
        [
            Square(
                value=_place(float(shades[i, j]), most, kind),
                text=_short(float(values[i, j]), kind) if count <= NUMBERED else "",
                hover=_hover(one, other, float(values[i, j]), float(shades[i, j]), kind, replies[j]),
                customdata=(one.row.index, other.row.index),
            )
            for j, other in enumerate(results)
        ]
        for i, one in enumerate(results)
    ]
    end = words.number(most)
    ticks = {0.0: "0", 1.0: end} if kind == "jsd" else {0.0: f"−{end}", 0.5: "0", 1.0: f"+{end}"}
    return heat_figure(
        cells,
        look.sequential if kind == "jsd" else look.diverging,
        ticks,
        look,
        row_height=row,
        gap=1 if count <= MARKED else 0,
        title=TITLES[kind],
        description=_description(values, shades, results, kind),
        table=_table(values, results, kind),
        xaxis={
            "title": {"text": AXES[kind]},
            "tickvals": list(range(count)) if count <= MARKED else [],
            "ticktext": [key(result.row.index, look) for result in results] if count <= MARKED else [],
            "tickangle": 0,
        },
        yaxis={"tickvals": shown, "ticktext": [_label(results[place], look, selected) for place in shown]},
    )


def _label(result: PromptResult, look: Look, selected: int | None) -> str:
    label = row_label(result, look, selected)
    return f"<i>{label}</i>" if result.row.is_control else label


def _place(value: float, most: float, kind: Kind) -> float | None:
    """On the colour scale, 0 to 1."""
    if not np.isfinite(value):
        return None
    share = float(np.clip(value / most, -1.0, 1.0))
    return max(share, 0.0) if kind == "jsd" else (share + 1) / 2


def _short(value: float, kind: Kind) -> str:
    if not np.isfinite(value):
        return ""
    return words.signed(value) if kind == "delta" else words.number(value, 3 if kind == "jsd" else 1)


def _hover(
    one: PromptResult, other: PromptResult, value: float, shade: float, kind: Kind, answer: Answer | None
) -> str:
    names = f"<b>row: {words.wrapped(one.label)}</b><br><b>column: {words.wrapped(other.label)}</b>"
    if not np.isfinite(value):
        return f"{names}<br>could not be computed"
    if kind == "jsd":
        lines = [f"JSD = {words.number(value, 4)} nats"]
    elif kind == "delta":
        lines = [f"Δ = {words.signed(value, 3)} nats"]
        if one.trace is not None and other.trace is not None:
            lines.append(f"p: {percent(one.trace.log_prob)} → {percent(other.trace.log_prob)}")
    else:
        lines = [
            f"log P = {words.number(value, 3)} nats",
            f"{words.signed(shade, 3)} nats per token against its own wording",
        ]
        if answer is not None:
            said = words.wrapped(answer.text, 200) if answer.text else "ends at once"
            lines.append(f"the column’s answer: {said}")
    return "<br>".join([names, *lines])


def _table(
    values: Float[np.ndarray, "prompt prompt"], results: Sequence[PromptResult], kind: Kind
) -> dict[str, list[Cell]]:
    """Every ordered pair, row by row."""
    pairs = [(i, j) for i in range(len(results)) for j in range(len(results))]
    return {
        "row": [results[i].row.index for i, _ in pairs],
        "column": [results[j].row.index for _, j in pairs],
        "row_label": [results[i].label for i, _ in pairs],
        "column_label": [results[j].label for _, j in pairs],
        NAMES[kind]: [float(values[pair]) for pair in pairs],
    }


def _description(
    values: Float[np.ndarray, "prompt prompt"],
    shades: Float[np.ndarray, "prompt prompt"],
    results: Sequence[PromptResult],
    kind: Kind,
) -> str:
    what = {
        "delta": "the change of log p(target) from the row's wording to the column's",
        "jsd": "the divergence of the next-token distributions",
        "response": "the log-prob of the column's answer after the row's wording",
    }[kind]
    start = f"Table of {what} for {len(results)} wordings"
    pairs = [(i, j) for i in range(len(results)) for j in range(len(results)) if i != j and np.isfinite(shades[i, j])]
    if not pairs:
        return f"{start}: there is no pair."
    if all(shades[pair] == 0 for pair in pairs):
        return f"{start}: there is no difference."
    i, j = max(pairs, key=lambda pair: abs(shades[pair]))
    names = f"row {shortened(results[i].label, 40)}, column {shortened(results[j].label, 40)}"
    return f"{start}: the largest difference is at {names} ({_short(float(values[i, j]), kind)} nats)."
