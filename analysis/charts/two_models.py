"""The effects of the wordings on two models: a point per wording."""

import numpy as np
import plotly.graph_objects as go

from analysis.charts import words
from analysis.charts.labels import placed_labels
from analysis.charts.look import Look, colour, figure, symbol
from analysis.text import shortened
from analysis.two_models import Comparison, OneSide, RowOnBoth

HEIGHT = 380
NARROWEST = 0.5  # nats on either side of 0

HOW_TO_READ = """
**Question.** Do the wordings that help or harm one model do the same to another?

**Formula.** Δ = log p(target | wording) − log p(target | reference) in nats, on each model against its own reference; the
target is encoded by each model's own tokenizer. ρ is Spearman's rank correlation over the filled points.

**Reading it.** A point per wording in its colour: to the right it raises p(target) on the first model, upwards on the second.
On the dashed diagonal the effect is the same on both, in the upper left and the lower right it is opposite. Open points do
not count in ρ: controls, repeated wordings and those with a target of their own.

**How it can mislead.** A target of several tokens on one model may be one token on the other, and a model that is sure of the
target has less room to rise. With few wordings ρ is little more than chance; the interval says so. Both axes are in nats, yet
a nat of a likely target and a nat of an unlikely one are different changes of probability.

**Source.** Spearman 1904; POSIX and flip rates beside it as defined on this page.
"""


def two_models(found: Comparison, look: Look, selected: int | None = None) -> go.Figure:
    """Δ on the second model against Δ on the first. A point's customdata is [row.index]."""
    drawn = [row for row in found.rows if _finite(row.first) and _finite(row.second)]
    xy = np.array([(row.first.delta, row.second.delta) for row in drawn], dtype=np.float64).reshape(-1, 2)
    reach = max(float(np.abs(xy).max(initial=0.0)) * 1.15, NARROWEST)
    names = [words.brief(row.label) for row in drawn]
    chosen = [place for place, row in enumerate(drawn) if row.index == selected]
    labels = placed_labels(xy, names, (2 * reach, 2 * reach), look, first=chosen)
    diagonal = go.Scatter(
        x=[-reach, reach],
        y=[-reach, reach],
        mode="lines",
        line={"color": look.muted, "width": look.line - 1, "dash": "dash"},
        hoverinfo="skip",
        name="same effect",
        showlegend=False,
    )
    points = go.Scatter(
        x=xy[:, 0].tolist(),
        y=xy[:, 1].tolist(),
        mode="markers+text",
        marker={
            "size": [look.point + 4 if row.index == selected else look.point for row in drawn],
            "color": [colour(row.index, look) for row in drawn],
            "symbol": [
                symbol(row.index) if row.compared or row.index == 0 else f"{symbol(row.index)}-open" for row in drawn
            ],
            "line": {"width": 1, "color": look.ink},
            "opacity": 1,
        },
        text=[
            f"<b>{name}</b>" if row.index == selected else name for (name, _), row in zip(labels, drawn, strict=True)
        ],
        textposition=[side for _, side in labels],
        textfont={"size": look.size - 1, "color": look.ink},
        customdata=[[row.index] for row in drawn],
        hovertext=[_hover(row, found) for row in drawn],
        hoverinfo="text",
        selected={"marker": {"opacity": 1}},
        unselected={"marker": {"opacity": 1}, "textfont": {"color": look.ink}},
        name="wordings",
        showlegend=False,
    )
    axis = {
        "range": [-reach, reach],
        "fixedrange": True,
        "zeroline": True,
        "zerolinecolor": look.muted,
        "zerolinewidth": 1,
    }
    rho = "" if found.correlation is None else f" (ρ = {words.signed(found.correlation)}, {found.n} wordings)"
    return figure(
        [diagonal, points],
        look,
        title=f"Effects on two models{rho}",
        description=_description(found, len(drawn)),
        table={
            "row": [row.index for row in found.rows],
            "label": [row.label for row in found.rows],
            "compared": [row.compared for row in found.rows],
            "delta_first_nats": [row.first.delta for row in found.rows],
            "delta_second_nats": [row.second.delta for row in found.rows],
            "answer_first": [row.first.answer.text if row.first.answer else None for row in found.rows],
            "answer_second": [row.second.answer.text if row.second.answer else None for row in found.rows],
            "text": [row.text for row in found.rows],
        },
        height=round(HEIGHT * look.size / 13),
        legend=False,
        xaxis={**axis, "title": {"text": f"Δ on {words.brief(found.first.name, 30)}, nats"}},
        yaxis={**axis, "title": {"text": f"Δ on {words.brief(found.second.name, 24)}, nats"}},
    )


def _finite(side: OneSide) -> bool:
    return side.delta is not None and bool(np.isfinite(side.delta))


def _hover(row: RowOnBoth, found: Comparison) -> str:
    lines = [f"<b>{words.wrapped(row.label)}</b>"]
    for model, side in ((found.first, row.first), (found.second, row.second)):
        said = ""
        if side.answer is not None:
            said = f": {words.brief(side.answer.text, 40)}" if side.answer.text else ": ends at once"
        lines.append(f"{words.brief(model.name, 30)}: Δ = {words.signed(side.delta or 0.0, 3)} nats{said}")
    if row.control:
        lines.append("a control: it changes the meaning on purpose")
    return "<br>".join([*lines, words.wrapped(row.text, 400)])


def _description(found: Comparison, drawn: int) -> str:
    start = (
        f"Points of the changes of log p(target) by {drawn} wordings on {shortened(found.first.name, 40)} and on"
        f" {shortened(found.second.name, 40)}"
    )
    if found.correlation is None:
        return f"{start}: too few, or too equal, for a rank correlation."
    return f"{start}: rank correlation {words.signed(found.correlation)} over {found.n} of them."
