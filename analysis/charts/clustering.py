"""Distances of images of one digit and of different digits in a small network, by layer and while it learns."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float

from analysis.charts import words
from analysis.charts.labels import spread
from analysis.charts.look import Cell, Look, blend, colour, figure
from analysis.text import grouped

if TYPE_CHECKING:
    from analysis.clustering import Clustering  # which trains, so it loads torch: a chart needs none

HEIGHT = 320
SAME, DIFFERENT = 1, 7  # of the wordings' colours, far apart in both themes

HOW_TO_READ = """
**Question.** Do the features of one class draw together with depth? In this network they do, while in language models the
states of prompts that mean the same drift apart.

**Formula.** u = h / ‖h‖ is an image's feature at a layer, scaled to length 1. One line is the mean of ‖u − v‖ over all pairs of test
images of the same digit, the other over all pairs of different digits. Hidden layers are read after the ReLU.

**Reading it.** A gap that widens from left to right is clustering. The number under a layer is same ÷ different: 1 where a digit's
images are no nearer to each other than to other images. The faint lines are the same network before training, the lines at the
pixels never change, and the scale is the same for all epochs.

**How it can mislead.** Compare the two lines of a layer, not the heights of two layers: after a ReLU no number is negative, so
nothing there is farther apart than √2, while logits may be 2 apart. Scaling to length 1 hides all that is in the length. This
network is trained to tell these very classes apart, a language model is not trained to bring rewordings together: the contrast
shows what may happen with depth, not why. Means hide the images that lie with the wrong digit.

**Source.** Liu & Chu, "Understanding the Prompt Sensitivity", ACL 2026, arXiv 2604.18389, with a ResNet-101 on CIFAR-10; here
scikit-learn's digits and three hidden layers.
"""

HOW_TO_READ_HISTORY = """
**Question.** When does a network that learns digits begin to draw images of one digit together, and at which layer most?

**Formula.** Mean of ‖u − v‖ over all pairs of test images of the same digit ÷ the mean over all pairs of different digits, with
features u scaled to length 1, per layer, before training (epoch 0) and after each epoch.

**Reading it.** One line per layer, the stronger the deeper. At 1 a digit's images are no nearer to each other than to other
images; the lower a line, the tighter the clusters for their distance. The line of the pixels cannot move.

**How it can mislead.** Untrained layers are below 1 too: images of one digit are alike as they come. How far below, at the logits
above all, is a matter of the first weights. A falling line says that the digits separate, not that more images are recognised: that
share is in the hover.

**Source.** Liu & Chu, "Understanding the Prompt Sensitivity", ACL 2026, arXiv 2604.18389, with a ResNet-101 on CIFAR-10; here
scikit-learn's digits and three hidden layers.
"""


def clustering(found: "Clustering", epoch: int, look: Look) -> go.Figure:
    """Both mean distances at every layer after `epoch`, one of `found.epochs`; the untrained network's behind them.

    A point's customdata is [layer].
    """
    at, before = found.epochs.index(epoch), found.epochs.index(0)
    trained = at != before
    pairs = (("same digit", found.same, SAME), ("different digits", found.different, DIFFERENT))
    faint = [_line(found, name, values[before], colour(index, look), look, True) for name, values, index in pairs]
    lines = [_line(found, name, values[at], colour(index, look), look) for name, values, index in pairs]
    y_range = [0.0, 1.06 * float(max(found.same.max(), found.different.max()))]  # of all epochs
    height = round(HEIGHT * look.size / 13)
    ends = [
        (f"{_dot(colour(index, look))} {name.replace(' ', '<br>')}", float(values[at, -1]))
        for name, values, index in pairs
    ]
    if trained:
        middle = float(found.same[before, -1] + found.different[before, -1]) / 2
        ends.append((f'<span style="color:{look.muted}">untrained</span>', middle))
    shown = [before, at] if trained else [at]
    ratios = [words.number(value) for value in found.ratio[at]]
    made = figure(
        [*(faint if trained else []), *lines],
        look,
        title=f"Digits, {_epoch(found, epoch)}",
        subtitle=f"{_percent(found.accuracy[at])} of the test images recognised",
        description=_description(found, at, before),
        table=_table(found, shown),
        height=height,
        legend=False,
        hoverdistance=-1,
        xaxis={
            "title": {"text": "hidden layer; below it same ÷ different"},
            "range": [-0.25, len(found.layers) - 0.75],
            "tickvals": list(range(len(found.layers))),
            "ticktext": [
                f"{name.removeprefix('hidden ')}<br><b>{number}</b>"
                for name, number in zip(found.layers, ratios, strict=True)
            ],
            "tickangle": 0,
            "showgrid": False,
            "fixedrange": True,
        },
        yaxis={
            "title": {"text": "mean distance, features of length 1"},
            "range": y_range,
            "nticks": 6,
            "fixedrange": True,
        },
        annotations=_names(ends, y_range, height - 5 * look.size, look),
    )
    return made.update_layout(margin_r=round(6 * look.size))


def clustering_history(found: "Clustering", look: Look) -> go.Figure:
    """Same ÷ different by epoch, a line per layer. A point's customdata is [layer, epoch]."""
    ratios, depth = found.ratio, len(found.layers) - 1
    shades = [_shade(layer / depth, look) for layer in range(depth + 1)]
    lines = [
        go.Scatter(
            x=list(found.epochs),
            y=ratios[:, layer].tolist(),
            mode="lines+markers",
            line={"color": shades[layer], "width": look.line},
            marker={"color": shades[layer], "size": max(look.point - 6, 4)},
            customdata=[[layer, epoch] for epoch in found.epochs],
            hovertext=[
                f"<b>{name}</b>, {_epoch(found, epoch)}<br>same ÷ different: {words.number(ratios[at, layer], 3)}"
                f"<br>{_percent(found.accuracy[at])} of the test images recognised"
                for at, epoch in enumerate(found.epochs)
            ],
            hoverinfo="text",
            name=name,
        )
        for layer, name in enumerate(found.layers)
    ]
    y_range = [0.0, 1.08]
    height = round(HEIGHT * look.size / 13)
    ends = [(name, float(ratios[-1, layer])) for layer, name in enumerate(found.layers)]
    first, last = found.epochs[0], found.epochs[-1]
    room = 0.02 * (last - first) or 0.5
    made = figure(
        lines,
        look,
        title="Same ÷ different by epoch",
        description=(
            f"Line chart of the ratio of same-digit to different-digit distance over {last} epochs of training: "
            + ", ".join(
                f"{name} from {words.number(ratios[0, layer])} to {words.number(ratios[-1, layer])}"
                for layer, name in enumerate(found.layers)
            )
            + "."
        ),
        table=_table(found, range(len(found.epochs))),
        height=height,
        legend=False,
        hoverdistance=-1,
        xaxis={
            "title": {"text": "epoch (0: before training)"},
            "range": [first - room, last + room],
            "nticks": 8,
            "showgrid": False,
            "fixedrange": True,
        },
        yaxis={"title": {"text": "same ÷ different"}, "range": y_range, "nticks": 6, "fixedrange": True},
        shapes=[
            {
                "type": "line", "xref": "paper", "x0": 0, "x1": 1, "y0": 1, "y1": 1, "layer": "below",
                "line": {"color": look.muted, "width": 1.5, "dash": "dot"},
            }
        ],
        annotations=[
            *_names(ends, y_range, height - 4 * look.size, look),
            {
                "xref": "paper", "x": 1, "xanchor": "right", "y": 1, "yanchor": "top", "showarrow": False,
                "text": "1: no clusters", "font": {"size": look.size - 1, "color": look.muted},
            },
        ],
    )  # fmt: skip
    return made.update_layout(margin_r=round(5.2 * look.size))


def _line(
    found: "Clustering", name: str, values: Float[np.ndarray, " layer"], shade: str, look: Look, faint: bool = False
) -> go.Scatter:
    when = "<br>before training" if faint else ""
    return go.Scatter(
        x=list(range(len(values))),
        y=values.tolist(),
        mode="lines" if faint else "lines+markers",
        line={
            "color": shade,
            "width": look.line / 2 if faint else look.line + 0.5,
            "dash": "dot" if faint else "solid",
        },
        marker={"color": shade, "size": look.point - 3},
        opacity=0.55 if faint else 1,
        customdata=[[layer] for layer in range(len(values))],
        hovertext=[
            f"<b>{name}</b>, {layer}{when}<br>{words.number(value, 3)}"
            for layer, value in zip(found.layers, values, strict=True)
        ],
        hoverinfo="text",
        name=f"{name}, untrained" if faint else name,
    )


def _shade(depth: float, look: Look) -> str:
    """From the muted colour at depth 0 to the ink at 1."""
    return "#{:02x}{:02x}{:02x}".format(*blend(depth, [[0.0, look.muted], [1.0, look.ink]]))


def _dot(shade: str) -> str:
    return f'<span style="color:{shade}">●</span>'


def _names(
    ends: Sequence[tuple[str, float]], y_range: Sequence[float], height: float, look: Look
) -> list[dict[str, object]]:
    """Names at the right ends of the lines, moved apart where they would meet."""
    lines = max(name.count("<br>") for name, _ in ends) + 1
    scale = height / (y_range[1] - y_range[0])
    wanted = [value * scale for _, value in ends]
    moved = spread(wanted, 1.25 * lines * look.size, height)
    return [
        {
            "xref": "paper", "x": 1, "xanchor": "left", "xshift": 4, "y": value, "yref": "y", "yshift": there - here,
            "yanchor": "middle", "text": name, "showarrow": False, "align": "left", "font": {"size": look.size - 1},
        }
        for (name, value), here, there in zip(ends, wanted, moved, strict=True)
    ]  # fmt: skip


def _table(found: "Clustering", shown: Sequence[int]) -> dict[str, list[Cell]]:
    """A row per epoch (by its place in `found.epochs`) and layer."""
    layers = range(len(found.layers))
    return {
        "epoch": [found.epochs[at] for at in shown for _ in layers],
        "layer": [layer for _ in shown for layer in layers],
        "layer_name": [found.layers[layer] for _ in shown for layer in layers],
        "same_digit": [float(found.same[at, layer]) for at in shown for layer in layers],
        "different_digits": [float(found.different[at, layer]) for at in shown for layer in layers],
        "ratio": [float(found.ratio[at, layer]) for at in shown for layer in layers],
        "test_accuracy": [float(found.accuracy[at]) for at in shown for _ in layers],
    }


def _epoch(found: "Clustering", epoch: int) -> str:
    return "before training" if epoch == 0 else f"epoch {epoch} of {found.epochs[-1]}"


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def _description(found: "Clustering", at: int, before: int) -> str:
    layer = found.layers[-1]
    untrained = "" if at == before else f" ({words.number(found.ratio[before, -1])} before training)"
    return (
        f"Line chart of the mean distance of two images by layer over {grouped(found.pairs)} pairs, "
        f"{_epoch(found, found.epochs[at])}: at the {layer} {words.number(found.same[at, -1])} for the same digit and "
        f"{words.number(found.different[at, -1])} for different digits, a ratio of {words.number(found.ratio[at, -1])}"
        f"{untrained}, at the {found.layers[0]} {words.number(found.ratio[at, 0])}."
    )
