"""Is an explanation any good? Its agreement with leave-one-out, and its deletion curve."""

import math

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float

from analysis.attribution_results import Agreement, DeletionCurve
from analysis.charts import rows, words
from analysis.charts.look import LOWERS, RAISES, Look, figure

CURVE_HEIGHT = 300
NARROWEST = 0.5  # nats
NAMED = 6  # deleted tokens in a hover

HOW_TO_READ_AGREEMENT = """
**Question.** Do the gradient maps rank the tokens as really leaving each of them out does?

**Formula.** Spearman's ρ over the tokens that are not held: gradient × input with leave-one-out (both signed), saliency with the
absolute value of leave-one-out (both magnitudes).

**Reading it.** 1 is the same ranking, 0 none in common, −1 the opposite one. The scale always runs from −1 to 1.

**How it can mislead.** With few tokens ρ is little more than chance: scores of ten tokens that have nothing to do with each other
reach |ρ| = 0.56 one time in ten. Leave-one-out is a yardstick, not the truth: it shifts positions, makes texts that nobody
writes, and misses what two tokens do only together.

**Source.** Spearman 1904; the comparison after Jain & Wallace, "Attention is not Explanation", NAACL 2019.
"""

HOW_TO_READ_DELETION = """
**Question.** Does the ranking find the tokens that hold the answer up?

**Formula.** Tokens are deleted in the order of their scores, the largest first, and log p(target) is measured after each step. The
area is the mean height of the random curves over this one along the share deleted, in nats.

**Reading it.** The blue curve should fall faster than the grey ones, which delete the same tokens in random orders: the band spans
all of them, the dashed line is their mean. A larger area is a better ranking; 0 is no better than chance.

**How it can mislead.** What is left after some steps is no text that anybody writes, so log-probs far to the right say little.
Curves that fall at once and rise again reward a ranking for one token. Held tokens stay to the end.

**Source.** Samek et al., "Evaluating the visualization of what a deep neural network has learned", 2017.
"""


def agreement(found: Agreement, look: Look) -> go.Figure:
    """ρ of the two gradient maps with leave-one-out as bars from −1 to 1."""
    named = [("gradient × input", found.gradient_x_input), ("saliency", found.saliency)]
    values = [value or 0.0 for _, value in named]
    numbers = ["too few" if value is None else words.signed(value) for _, value in named]
    say = ", ".join(f"{name} {text}" for (name, _), text in zip(named, numbers, strict=True))
    return rows.row_figure(
        [rows.bars(values, [RAISES if value >= 0 else LOWERS for value in values], ["", ""], look)],
        look,
        title=f"Agreement with leave-one-out ({words.escaped(found.by)})",
        description=f"Rank correlations with leave-one-out by {found.by} over {found.tokens} tokens: {say}.",
        table={
            "map": [name for name, _ in named],
            "spearman": [value for _, value in named],
            "tokens": [found.tokens] * 2,
            "leave_one_out_by": [found.by] * 2,
        },
        legend=False,
        labels=[name for name, _ in named],
        numbers=numbers,
        hovers=[
            f"<b>{name}</b><br>{'not defined: too few tokens, or equal scores' if value is None else f'ρ = {words.signed(value, 4)}'}"
            for name, value in named
        ],
        customdata=[[name] for name, _ in named],
        span=(-1.0, 1.0),
        axis=f"Spearman’s ρ over {found.tokens} tokens",
    )


def deletion_curve(found: DeletionCurve, look: Look) -> go.Figure:
    """log p(target) while tokens go, in the ranking's order and in random ones. Points have no customdata."""
    removed = found.removed.tolist()
    hovers = [_step(found, step) for step in range(len(removed))]
    low, high = _known(found.random_min), _known(found.random_max)
    band = go.Scatter(
        x=[*removed, *reversed(removed)],
        y=[*high, *reversed(low)],
        mode="lines",
        line={"width": 0},
        fill="toself",
        fillcolor=look.grid,
        hoverinfo="skip",
        name=f"{len(found.random)} random orders",
    )
    mean = go.Scatter(
        x=removed,
        y=_known(found.random_mean),
        mode="lines",
        line={"color": look.muted, "width": look.line, "dash": "dash"},
        hoverinfo="skip",
        name="their mean",
    )
    curve = go.Scatter(
        x=removed,
        y=_known(found.curve),
        mode="lines+markers",
        line={"color": RAISES, "width": look.line + 0.5},
        marker={"color": RAISES, "size": max(look.point - 5, 4) if len(removed) <= 60 else 1},
        hovertext=hovers,
        hoverinfo="text",
        name="largest scores first",
    )
    seen = [value for value in [*low, *high, *_known(found.curve)] if value is not None]
    middle = (min(seen) + max(seen)) / 2 if seen else 0.0
    half = max((max(seen) - min(seen)) / 2 if seen else 0.0, NARROWEST) * 1.08
    aim = words.log_probability(found.target.text, found.foil.text if found.foil else None)
    area = "" if found.area is None else f": area {words.signed(found.area)} nats"
    return figure(
        [band, mean, curve],
        look,
        title=f"Deletion curve{area}",
        description=_description(found),
        table={
            "tokens_removed": removed,
            "by_score_nats": found.curve.tolist(),
            "random_mean_nats": found.random_mean.tolist(),
            "random_min_nats": found.random_min.tolist(),
            "random_max_nats": found.random_max.tolist(),
        },
        height=round(CURVE_HEIGHT * look.size / 13),
        hoverdistance=-1,
        xaxis={"title": {"text": "tokens deleted"}, "rangemode": "tozero", "nticks": 8},
        yaxis={"title": {"text": f"{aim}, nats"}, "range": [middle - half, middle + half], "nticks": 6},
    )


def _known(values: Float[np.ndarray, " step"]) -> list[float | None]:
    return [float(value) if math.isfinite(value) else None for value in values]


def _step(found: DeletionCurve, step: int) -> str:
    """What a hover says: how many tokens are gone, the value, and which went last."""
    value = float(found.curve[step])
    lines = [
        f"<b>{found.removed[step]} deleted</b>",
        f"{words.number(value, 3)} nats" if math.isfinite(value) else "could not be computed",
        f"random orders: {words.number(float(found.random_mean[step]), 3)} nats on average",
    ]
    gone = found.order[int(found.removed[step - 1]) : int(found.removed[step])] if step else ()
    if gone:
        names = ", ".join(words.brief(found.tokens.pieces[token], 20) for token in gone[:NAMED])
        more = f" and {len(gone) - NAMED} more" if len(gone) > NAMED else ""
        lines.append(f"last gone: {names}{more}")
    return "<br>".join(lines)


def _description(found: DeletionCurve) -> str:
    if found.area is None or found.beaten is None:
        return "Deletion curve: the values could not all be computed."
    return (
        f"Deletion curve against {len(found.random)} random orders: the ranking's curve lies {words.number(found.area)} nats "
        f"{'under' if found.area >= 0 else 'over'} their mean on average, and under {100 * found.beaten:.0f} % of them."
    )
