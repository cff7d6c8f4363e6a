"""What rewordings of each kind do: every one of them as a point, the kinds in order."""

from collections.abc import Sequence

import plotly.graph_objects as go

from analysis.charts import rows, words
from analysis.charts.look import LOWERS, RAISES, Cell, Look
from analysis.charts.rows import row_height
from analysis.charts.swarm import offsets
from analysis.risky_kinds_results import Effect, KindEffects, Metric, RiskyKinds, ordered

NARROWEST: dict[Metric, float] = {"delta": 0.5, "displacement": 1.0, "flip": 1.0}
AXES: dict[Metric, str] = {
    "delta": "|Δ log p(target)|, nats",
    "displacement": "‖Δh_L‖ of the last token, model units",
    "flip": "share of rewordings with another likeliest next token",
}
TITLES: dict[Metric, str] = {
    "delta": "|Δ| by kind of rewording",
    "displacement": "‖Δh_L‖ by kind of rewording",
    "flip": "Flip rate by kind of rewording",
}

HOW_TO_READ = """
**Question.** Which kinds of harmless-looking edits move the answer most?

**Formula.** For each rewording: |Δ log p(target)| against its own reference in nats; ‖Δh_L‖, how far the last token's state at
the last layer (what the output head reads) is from the reference's; and a flip, if another token is the likeliest next one (nothing
is generated, so an answer that differs only later is not counted). Kinds are ordered by the median of what is shown, for flips by
the rate. Where options change their order, each prompt is scored on the letter of the same answer.

**Reading it.** Each mark is one rewording, from one prompt or many; the bar across is the median. Blue marks raise the target's
probability, orange ones lower it. Filled marks left every later token in its place (modification), hollow ones shifted positions
(misalignment). For flips the bar is the rate and its number how
many of how many. Controls, which change the meaning on purpose or add what does not belong, stand apart below: they say how much a
real change does.

**How it can mislead.** One prompt cannot rank kinds: what a typo does depends on the word it hits. With few marks the order of
neighbours is chance. Kinds do not change equally many tokens, so a kind may be risky only because its edits are long. Pooled
prompts differ in how sure the model is: |Δ| is large where the target was unlikely anyway. A kind that no safe place was found for in
most prompts rests on the few that have one.

**Source.** Liu & Chu, "Understanding the Prompt Sensitivity", ACL 2026, arXiv 2604.18389 (modification and misalignment).
"""


def risky_kinds(found: RiskyKinds, look: Look, metric: Metric = "delta") -> go.Figure:
    """A row for each kind that has rewordings, controls last. A point's customdata is [rule, number in the kind]."""
    kinds = [kind for kind in ordered(found.kinds, metric) if kind.effects]
    highest = max([NARROWEST[metric], *(value for kind in kinds for value in kind.values(metric))])
    span = (-0.03 * highest, 1.05 * highest)
    stretch = 1.25
    row = stretch * row_height(len(kinds), look)
    first_control = next((place for place, kind in enumerate(kinds) if kind.is_control), None)
    marks = (
        [_rates(kinds, look)]
        if metric == "flip"
        else [*_points(kinds, metric, span, row, look), _medians(kinds, metric, look)]
    )
    made = rows.row_figure(
        [*marks, *([_line(first_control, span, look)] if first_control else [])],
        look,
        title=TITLES[metric],
        description=_description(kinds, found, metric),
        table=_table(found),
        legend=metric != "flip",
        labels=[_label(kind, look) for kind in kinds],
        numbers=[_number(kind, metric) for kind in kinds],
        hovers=[_hover(kind, found) for kind in kinds],
        customdata=[[kind.rule, -1] for kind in kinds],
        span=span,
        axis=AXES[metric],
        stretch=stretch,
    )
    return made.update_xaxes(tickformat=".0%") if metric == "flip" else made


def _points(
    kinds: Sequence[KindEffects], metric: Metric, span: tuple[float, float], row: float, look: Look
) -> list[go.Scatter]:
    """Every rewording, by what its edit does to token positions."""
    size = round(0.6 * look.point)
    placed: dict[str, list[tuple[float, float, str, list[str | int], str]]] = {"modification": [], "misalignment": []}
    for place, kind in enumerate(kinds):
        values = kind.values(metric)
        moved = offsets(values, span[1] - span[0], size, row)
        for number, (effect, value, offset) in enumerate(zip(kind.effects, values, moved, strict=True)):
            colour = look.muted if kind.is_control else RAISES if effect.delta >= 0 else LOWERS
            placed[effect.alignment].append((value, place + offset, _effect(kind, effect), [kind.rule, number], colour))
    names = {"modification": "tokens changed in place", "misalignment": "later positions shifted"}
    return [
        go.Scatter(
            x=[x for x, *_ in points],
            y=[y for _, y, *_ in points],
            mode="markers",
            marker={
                "size": size,
                "symbol": "circle" if name == "modification" else "circle-open",
                "color": [colour for *_, colour in points],
                "line": {"width": 1.5, "color": [colour for *_, colour in points]},
            },
            hovertext=[hover for _, _, hover, *_ in points],
            hoverinfo="text",
            customdata=[data for _, _, _, data, _ in points],
            selected={"marker": {"opacity": 1}},
            unselected={"marker": {"opacity": 1}},
            name=names[name],
        )
        for name, points in placed.items()
        if points
    ]


def _medians(kinds: Sequence[KindEffects], metric: Metric, look: Look) -> go.Scatter:
    x = [value for kind in kinds for value in (kind.summary(metric), kind.summary(metric), None)]
    y = [value for place in range(len(kinds)) for value in (place - 0.38, place + 0.38, None)]
    return go.Scatter(
        x=x, y=y, mode="lines", line={"color": look.ink, "width": look.line}, hoverinfo="skip", name="median"
    )


def _rates(kinds: Sequence[KindEffects], look: Look) -> go.Bar:
    colours = [look.grey if kind.is_control else RAISES for kind in kinds]
    return rows.bars([kind.summary("flip") or 0.0 for kind in kinds], colours, [""] * len(kinds), look)


def _line(place: int, span: tuple[float, float], look: Look) -> go.Scatter:
    """Between the kinds that keep the meaning and the controls."""
    return go.Scatter(
        x=list(span),
        y=[place - 0.5] * 2,
        mode="lines",
        line={"color": look.muted, "width": 1, "dash": "dot"},
        hoverinfo="skip",
        name="controls",
        showlegend=False,
    )


def _label(kind: KindEffects, look: Look) -> str:
    name = words.brief(kind.rule)
    return f'<span style="color:{look.muted}">{name}</span>' if kind.is_control else name


def _number(kind: KindEffects, metric: Metric) -> str:
    value = kind.summary(metric) or 0.0
    if metric == "flip":
        return f"{sum(effect.flipped for effect in kind.effects)} of {len(kind.effects)}"
    return words.number(value, 2 if metric == "delta" else 1)


def _effect(kind: KindEffects, effect: Effect) -> str:
    lines = [
        f"<b>{words.escaped(kind.rule)}</b> · {words.wrapped(effect.set_name)}",
        f"Δ = {words.signed(effect.delta, 3)} nats{' (options in another order)' if effect.own_target else ''}",
        f"‖Δh_L‖ = {words.number(effect.displacement, 2)}",
        "another token is the likeliest" if effect.flipped else "the same token is the likeliest",
        words.wrapped(effect.text),
    ]
    return "<br>".join(lines)


def _hover(kind: KindEffects, found: RiskyKinds) -> str:
    sets = len({effect.set_name for effect in kind.effects})
    lines = [f"<b>{words.escaped(kind.rule)}</b>{' · a control' if kind.is_control else ''}"]
    lines.append(f"{len(kind.effects)} rewordings of {sets} prompt{'' if sets == 1 else 's'}")
    if (delta := kind.summary("delta")) is not None:
        lines.append(f"median |Δ| {words.number(delta, 3)} nats")
    if (displacement := kind.summary("displacement")) is not None:
        lines.append(f"median ‖Δh_L‖ {words.number(displacement, 2)}")
    lines.append(f"flips: {_number(kind, 'flip')}")
    if kind.shortfalls:
        missing = sum(one.asked - one.made for one in kind.shortfalls)
        lines.append(f"{missing} fewer than asked for, in {len(kind.shortfalls)} of {len(found.sets)} prompts")
        lines.append(words.wrapped(kind.shortfalls[0].reason))
    return "<br>".join(lines)


def _description(kinds: Sequence[KindEffects], found: RiskyKinds, metric: Metric) -> str:
    meant = [kind for kind in kinds if not kind.is_control]
    where = "one prompt" if len(found.sets) == 1 else f"{len(found.sets)} prompts"
    start = f"Strip chart of {AXES[metric]} by kind of rewording, over {where}"
    if not meant:
        return f"{start}: there is no kind that keeps the meaning."
    said = [f"{kind.rule} {_number(kind, metric)}" for kind in (meant[0], meant[-1])]
    return f"{start}: most {said[0]}, least {said[1]}."


def _table(found: RiskyKinds) -> dict[str, list[Cell]]:
    """Every rewording, in the order of the kinds."""
    listed = [(kind, effect) for kind in found.kinds for effect in kind.effects]
    return {
        "rule": [kind.rule for kind, _ in listed],
        "kind": [kind.kind for kind, _ in listed],
        "set": [effect.set_name for _, effect in listed],
        "delta_nats": [effect.delta for _, effect in listed],
        "hidden_displacement": [effect.displacement for _, effect in listed],
        "flipped": [effect.flipped for _, effect in listed],
        "alignment": [effect.alignment for _, effect in listed],
        "place": [effect.place for _, effect in listed],
        "own_target": [effect.own_target for _, effect in listed],
        "text": [effect.text for _, effect in listed],
    }
