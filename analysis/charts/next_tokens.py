"""What the model would say next, wording by wording."""

import math
from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from analysis.charts import grid, words
from analysis.charts.look import Look
from analysis.charts.rows import row_hovers, row_label
from analysis.results import Analysis, PromptResult, Trace
from analysis.text import percent

HOW_TO_READ = """
**Question.** Which words would the model say next after each wording, and how does that differ?

**Formula.** p(token | prompt), the softmax over the whole vocabulary after the prompt's last token.

**Reading it.** One row per wording, one column per token; each square is a probability in per cent, darker blue is
likelier, on a scale that always runs from 0 to 100 %. The bold number is the wording's likeliest token, the frame is
around the target's first token. The last column is everything else. The columns are the likeliest tokens of the rows
together. Click a square to see that token, or to make it the target.

**How it can mislead.** The same answer can be spread over several tokens (" Paris", "Paris", " par"), and an answer of
several tokens begins with a token that may begin other answers too. A token without its leading blank is another token. A
prompt that ends in a space, or a question without an answer cue, often moves probability to a line break or to the end of
the turn: that is a matter of form, not of knowledge.

**Source.** The model's own output; nothing is estimated.
"""


def leading_tokens(analysis: Analysis, count: int = 10) -> list[int]:
    """The ids worth a column: the target's first token, then the rows' likeliest by mean probability.

    Every row's own top token is among them as long as there is room.
    """
    traces = [result.trace for result in analysis.prompts if result.trace]
    if not traces:
        return []
    mean = np.mean([np.exp(trace.next_log_probs.astype(np.float64)) for trace in traces], axis=0)
    tops = sorted({int(trace.next_log_probs.argmax()) for trace in traces}, key=lambda token: -mean[token])
    target = [analysis.target.ids[0]] if analysis.target else []
    by_mean = np.argsort(-mean, kind="stable")[: 2 * count].tolist()
    chosen = list(dict.fromkeys([*target, *tops, *by_mean]))[:count]
    return sorted(chosen, key=lambda token: -mean[token])


def next_tokens(
    analysis: Analysis, tokens: Sequence[tuple[int, str]], look: Look, selected: int | None = None
) -> go.Figure:
    """Probabilities of `tokens`, given as (id, piece), after every row; the last column is the rest.

    A point's customdata is [row.index, token id]; the id is None in the last column.
    """
    results = [result for result in analysis.prompts if result.trace]
    labels = _labels(tokens)
    rows = [_row(result, tokens) for result in results]
    ids = [token for token, _ in tokens]
    return grid.table_figure(
        rows,
        [row_label(result, look, selected) for result in results],
        labels,
        look.sequential,
        look,
        tail="others",
        title="Next token by wording, p in %",
        subtitle="framed: the target · <b>bold</b>: the likeliest",
        description=_description(analysis, results, tokens),
        table={
            "row": [result.row.index for result in results for _ in ids],
            "label": [result.label for result in results for _ in ids],
            "token_id": [token for _ in results for token in ids],
            "token": [piece for _ in results for _, piece in tokens],
            "log_prob_nats": [_log_prob(result, token) for result in results for token in ids],
        },
    )


def _labels(tokens: Sequence[tuple[int, str]]) -> list[str]:
    """Names of the tokens; those that would look alike get their ids in front."""
    names = [words.brief(piece, grid.COLUMN) for _, piece in tokens]
    return [
        f"#{token} {piece}" if names.count(name) > 1 or not piece else piece
        for name, (token, piece) in zip(names, tokens, strict=True)
    ]


def _row(result: PromptResult, tokens: Sequence[tuple[int, str]]) -> list[grid.Square]:
    trace = _trace(result)
    top = int(trace.next_log_probs.argmax())
    rest = max(0.0, 1.0 - sum(math.exp(min(float(trace.next_log_probs[token]), 0.0)) for token, _ in tokens))
    lines = [_lines(trace, token, piece) for token, piece in tokens]
    *hovers, of_rest = row_hovers(result, [*lines, [f"all other tokens together: {100 * rest:.1f} %"]])
    cells = []
    for (token, _), hover in zip(tokens, hovers, strict=True):
        p = math.exp(min(float(trace.next_log_probs[token]), 0.0))
        data = (result.row.index, token)
        cells.append(grid.Square(p, _per_cent(p), hover, data, strong=token == top, boxed=token == trace.target.ids[0]))
    return [*cells, grid.Square(None, _per_cent(rest), of_rest, (result.row.index, None))]


def _lines(trace: Trace, token: int, piece: str) -> list[str]:
    """What a hover says of one token."""
    log_prob = float(trace.next_log_probs[token])
    rank = int((trace.next_log_probs > log_prob).sum()) + 1
    aim = ", the target’s first token" if token == trace.target.ids[0] else ""
    return [
        f"p({words.brief(piece, 40)}) = {percent(log_prob)}, log p = {words.number(log_prob, 3)} nats",
        f"{'the likeliest token' if rank == 1 else f'rank {rank}'}{aim} · id {token}",
    ]


def _per_cent(p: float) -> str:
    """Whole per cent without the sign; nothing below half a per cent."""
    return f"{100 * p:.0f}" if p >= 0.005 else ""


def _log_prob(result: PromptResult, token: int) -> float:
    return float(_trace(result).next_log_probs[token])


def _trace(result: PromptResult) -> Trace:
    assert result.trace is not None
    return result.trace


def _description(analysis: Analysis, results: list[PromptResult], tokens: Sequence[tuple[int, str]]) -> str:
    names = dict(tokens)
    tops = [int(_trace(result).next_log_probs.argmax()) for result in results]
    if not tops:
        return "Table of next-token probabilities: no wording could be analysed."
    counts = sorted({token: tops.count(token) for token in tops}.items(), key=lambda pair: -pair[1])
    said = ", ".join(f"{names.get(token, f'token {token}')!r} after {count}" for token, count in counts[:4])
    more = f" and {len(counts) - 4} others" if len(counts) > 4 else ""
    return f"Table of next-token probabilities after {len(results)} wordings; the likeliest next token is {said}{more}."
