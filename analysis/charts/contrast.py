"""Are wordings of one intent closer to each other than to prompts of another intent?"""

import numpy as np
import plotly.graph_objects as go

from analysis.charts import words
from analysis.charts.distance import UNITS_OF_PAIRS, View
from analysis.charts.layers import Layers, Panel, cells, layer_figure, line, magnitude_axis, said
from analysis.charts.look import Look
from analysis.contrast import Contrast
from analysis.text import grouped

HEIGHT = 200  # px of the upper panel, at the usual size of text
RATIO_HEIGHT = 130

HOW_TO_READ = """
**Question.** Do wordings of one intent keep together inside the model, compared with prompts that mean something else?

**Formula.** Within: the mean distance over all pairs of this set's wordings. Between: the mean over all pairs of one of them
and one prompt of the other set. Both at the same layer, of the states of the position that predicts the target's first token,
raw, relative to the mean norm of the two, or 1 − cos of their angle. The ratio is within ÷ between.

**Reading it.** Below 1 the wordings of one intent are nearer to each other than to the others: they keep together. At 1 the
model's states at that layer tell the intents apart no better than the wordings. "They disperse" is said of the upper lines,
"they cluster" of the lower one; both can be true at once. The ratio has no value where all states are equal.

**How it can mislead.** The other set decides the result: prompts with the same form but another subject are near, prompts of
another form or language are far. So a ratio near 1 may speak of forms, not of meaning. The last token weighs most: a set in which
all prompts end alike looks tight, above all in early layers. Means hide a set that falls into two groups. With few
prompts in either set, one odd prompt moves every layer.

**Source.** The question, without the comparison: Liu & Chu, "Understanding the Prompt Sensitivity", ACL 2026, arXiv 2604.18389.
The ratio of scatter within and between groups goes back to Fisher 1936.
"""


def contrast(
    found: Contrast, own_name: str, look: Look, view: View = "raw", log: bool = False, others_name: str = "other sets"
) -> go.Figure:
    """Mean distance within the set and between sets, and under them their ratio, layer by layer. Points have no customdata."""
    within, between = (np.asarray(getattr(mean, view), dtype=np.float64) for mean in (found.within, found.between))
    ratio = found.share(view)
    one, other = words.brief(own_name, 14), words.brief(others_name, 14)
    last = len(ratio) - 1
    lines = [
        line(within, f"within {one}", _hovers(within, f"within {one}"), look, log=log, width=1.4 * look.line),
        line(between, f"to {other}", _hovers(between, f"to {other}"), look, log=log, color=look.muted, dash="dash"),
    ]
    known = ratio[np.isfinite(ratio)]
    level = {"type": "line", "xref": "paper", "x0": 0, "x1": 1, "y0": 1, "y1": 1}
    size = look.size / 13
    return layer_figure(
        [
            Panel(lines, magnitude_axis(np.stack([within, between]), UNITS_OF_PAIRS[view], log), round(HEIGHT * size)),
            Panel(
                [
                    line(ratio, "ratio", _hovers(ratio, "within ÷ between"), look, width=1.4 * look.line).update(
                        showlegend=False
                    )
                ],
                {
                    "title": {"text": "ratio"},
                    "range": [0.0, 1.08 * float(max(known.max(initial=0.0), 1.0))],
                    "nticks": 4,
                },
                round(RATIO_HEIGHT * size),
                heading="within ÷ between; below 1 they keep together",
                shapes=[{**level, "line": {"color": look.muted, "width": 1.5, "dash": "dot"}}],
            ),
        ],
        last,
        look,
        title="One intent against others",
        description=_description(found, within, between, ratio, view),
        table=_table(found),
    )


def _hovers(values: Layers, name: str) -> list[str]:
    return [f"<b>{name}</b><br>layer {layer}: {said(value, decimals=4)}" for layer, value in enumerate(values)]


def _table(found: Contrast) -> dict[str, list[float | str | int | bool | None]]:
    views: tuple[View, ...] = ("raw", "relative", "cosine")
    return {
        "layer": list(range(len(found.within.raw))),
        **{f"within_{view}": cells(getattr(found.within, view)) for view in views},
        **{f"between_{view}": cells(getattr(found.between, view)) for view in views},
        "pairs_between": [found.pairs] * len(found.within.raw),
    }


def _description(found: Contrast, within: Layers, between: Layers, ratio: Layers, view: View) -> str:
    start = f"Line chart of mean {view} distances by layer, within the set and over {grouped(found.pairs)} pairs with other prompts"
    known = np.flatnonzero(np.isfinite(ratio))
    if not known.size:
        return f"{start}: all states are equal."
    low, high = (int(known[place(ratio[known])]) for place in (np.argmin, np.argmax))
    return (
        f"{start}: at the last layer {said(within[-1])} and {said(between[-1])}; the ratio is between {words.number(ratio[low])} "
        f"(layer {low}) and {words.number(ratio[high])} (layer {high}), and below 1 at {int((ratio[known] < 1).sum())} of "
        f"{known.size} layers."
    )
