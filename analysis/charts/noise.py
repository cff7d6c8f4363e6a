"""An edit's effect on the picture of what rewordings of its size do."""

from collections.abc import Sequence

import plotly.graph_objects as go

from analysis.charts import rows, words
from analysis.charts.look import Cell, Look, colour, key, symbol
from analysis.charts.rows import row_height
from analysis.charts.swarm import offsets
from analysis.significance_results import Baseline, NoiseTest
from analysis.text import shortened

NARROWEST = {"jsd": 0.05, "delta": 0.5}  # nats: an effect of 0.003 must look small
UNITS = {"jsd": "JSD of the next-token distributions, nats", "delta": "|Δ log p(target)|, nats"}

HOW_TO_READ = """
**Question.** Does this edit do more than any rewording that changes as many tokens?

**Formula.** The effect is the Jensen–Shannon divergence between the next-token distributions after the wording and after the
reference (0 to ln 2 = 0.69 nats), or |Δ log p(target)|. The same is measured for B baselines: rule-made rewordings that mean
the same and whose share of edited tokens (Levenshtein distance of the token ids / tokens of the reference) is within ±10 points of
the edit's. p = (1 + number of baselines with an effect at least as large) / (B + 1). For several wordings p is adjusted after
Benjamini–Hochberg.

**Reading it.** Each small mark is a baseline, the large one in the wording's colour is the edit. Filled baselines reach or exceed it,
hollow ones do not. At the right: how many do, and p. Where the edit is just one more rewording, every place in the row is equally
likely for it. With fewer than 19 baselines there is no verdict, since even the largest effect would have p > 0.05.

**How it can mislead.** A large p does not prove that the effect is noise: it may say that harmless edits of this size do much, which
is a finding about the prompt. The baselines are what the rules can make (typos, blanks, case, synonyms, frames); other
paraphrases may do less or more. After a text that is to be continued the baselines keep the last word, so an edit of the last word is
compared with edits elsewhere. On short prompts one token is a fifth of the text, and there are few baselines. One prompt says
nothing about others.

**Source.** "Counterfactual prompting", COLM 2026; Phipson & Smyth 2010; Benjamini & Hochberg 1995.
"""


def noise(tests: Sequence[NoiseTest], look: Look, selected: int | None = None) -> go.Figure:
    """A row for each wording: its baselines' effects and its own. A point's customdata is [row.index].

    The rules and the text of a baseline are in its hover.
    """
    name = tests[0].effect_name if tests else "jsd"
    highest = max([NARROWEST[name], *(value for test in tests for value in (*test.effects, test.effect or 0.0))])
    span = (-0.03 * highest, 1.06 * highest)
    stretch = 3.0 if len(tests) == 1 else 1.6 if len(tests) <= 12 else 1.2
    row = stretch * row_height(len(tests), look)
    return rows.row_figure(
        [*_baselines(tests, span, row, look), *_own(tests, look)],
        look,
        title="Effect among rewordings of its size",
        description=_description(tests),
        table=_table(tests),
        labels=[f"{key(test.row.index, look)} {_named(test, selected)}" for test in tests],
        numbers=[_number(test) for test in tests],
        hovers=[_hover(test) for test in tests],
        customdata=[[test.row.index] for test in tests],
        span=span,
        axis=UNITS[name],
        selected=[place for place, test in enumerate(tests) if test.row.index == selected and len(tests) > 1],
        stretch=stretch,
    )


def _baselines(tests: Sequence[NoiseTest], span: tuple[float, float], row: float, look: Look) -> list[go.Scatter]:
    """The points of the null distribution: those that reach the edit's effect, and the others."""
    size = round(0.6 * look.point)
    points: dict[bool, list[tuple[float, float, str, int]]] = {True: [], False: []}
    for place, test in enumerate(tests):
        moved = offsets(test.effects, span[1] - span[0], size, row)
        for one, effect, offset in zip(test.baselines, test.effects, moved, strict=True):
            hover = "<br>".join(
                [
                    f"<b>{words.escaped(', then '.join(one.rules))}</b>",
                    f"JSD {words.number(one.jsd, 4)} nats, Δ {words.signed(one.delta, 3)} nats",
                    f"{100 * one.share:.0f} % of the tokens edited",
                    words.wrapped(one.text),
                ]
            )
            reached = test.effect is not None and effect >= test.effect
            points[reached].append((effect, place + offset, hover, test.row.index))
    names = {True: "baseline, at least as large", False: "baseline, smaller"}
    return [
        go.Scatter(
            x=[x for x, _, _, _ in points[reached]],
            y=[y for _, y, _, _ in points[reached]],
            mode="markers",
            marker={
                "size": size,
                "symbol": "circle" if reached else "circle-open",
                "color": look.muted,
                "line": {"width": 1.5, "color": look.muted},
            },
            customdata=[[index] for _, _, _, index in points[reached]],
            hovertext=[hover for _, _, hover, _ in points[reached]],
            hoverinfo="text",
            selected={"marker": {"opacity": 1}},
            unselected={"marker": {"opacity": 1}},
            name=names[reached],
        )
        for reached in (True, False)
        if points[reached]
    ]


def _own(tests: Sequence[NoiseTest], look: Look) -> list[go.Scatter]:
    """The wordings' own effects, and a line through the row at each."""
    there = [(place, test, test.effect) for place, test in enumerate(tests) if test.effect is not None]
    if not there:
        return []
    x = [value for _, _, effect in there for value in (effect, effect, None)]
    y = [value for place, _, _ in there for value in (place - 0.42, place + 0.42, None)]
    line = go.Scatter(
        x=x, y=y, mode="lines", line={"color": look.ink, "width": 1.5}, hoverinfo="skip", name="lines", showlegend=False
    )
    marks = go.Scatter(
        x=[effect for _, _, effect in there],
        y=[place for place, _, _ in there],
        mode="markers",
        marker={
            "size": look.point + 3,
            "symbol": [symbol(test.row.index) for _, test, _ in there],
            "color": [colour(test.row.index, look) for _, test, _ in there],
            "line": {"width": 1.5, "color": look.ink},
        },
        customdata=[[test.row.index] for _, test, _ in there],
        hovertext=[_hover(test) for _, test, _ in there],
        hoverinfo="text",
        selected={"marker": {"opacity": 1}},
        unselected={"marker": {"opacity": 1}},
        name="the wording",
        showlegend=False,
    )
    return [line, marks]


def _named(test: NoiseTest, selected: int | None) -> str:
    name = words.brief(test.row.label)
    return f"<b>{name}</b>" if test.row.index == selected else name


def _number(test: NoiseTest) -> str:
    if test.p is None or test.as_large is None:
        return "no verdict" if test.effect is not None else "own target"
    p = test.p if test.adjusted is None else test.adjusted
    return f"{test.as_large}/{len(test.baselines)}, p {words.p_value(p)}"


def _hover(test: NoiseTest) -> str:
    delta = "none on the common target" if test.delta is None else f"{words.signed(test.delta, 3)} nats"
    lines = [
        f"<b>{words.wrapped(test.row.label)}</b> · {words.escaped(test.row.kind)}",
        f"JSD {words.number(test.jsd, 4)} nats, Δ {delta}",
        f"{100 * test.share:.0f} % of the tokens edited",
    ]
    if test.p is None:
        lines.append(
            "no effect to compare on a target of its own"
            if test.effect is None
            else f"no verdict: {len(test.baselines)} baselines, {test.needed} more are needed"
        )
    else:
        adjusted = (
            f", {words.p_value(test.adjusted)} after Benjamini–Hochberg" if test.adjusted not in (None, test.p) else ""
        )
        lines.append(
            f"{test.as_large} of {len(test.baselines)} baselines as large: p = {words.p_value(test.p)}{adjusted}"
        )
    return "<br>".join([*lines, words.wrapped(test.row.prompt.text)])


def _description(tests: Sequence[NoiseTest]) -> str:
    if not tests:
        return "Strip chart of effects among those of baselines: there is no wording."
    if len(tests) == 1:
        (test,) = tests
        count = len(test.baselines)
        rank = (
            f"{test.as_large} of {count} baselines are as large, p = {words.p_value(test.p)}"
            if test.p
            else "no verdict"
        )
        return f"Strip chart of the effect of {shortened(test.row.label, 40)} among those of {count} baselines: {rank}."
    judged = [test for test in tests if test.p is not None]
    alone = sum(test.as_large == 0 for test in judged)
    return (
        f"Strip chart of the effects of {len(tests)} wordings, each among those of rewordings of its size: {alone} of them exceed"
        f" every baseline, {len(tests) - len(judged)} have no verdict."
    )


def _table(tests: Sequence[NoiseTest]) -> dict[str, list[Cell]]:
    """A row for each wording, then one for each of its baselines."""
    listed: list[tuple[NoiseTest, Baseline | None]] = [(test, one) for test in tests for one in (None, *test.baselines)]
    return {
        "row": [test.row.index for test, _ in listed],
        "label": [test.row.label for test, _ in listed],
        "baseline": [one is not None for _, one in listed],
        "rules": [", ".join(one.rules) if one else None for _, one in listed],
        "jsd_nats": [one.jsd if one else test.jsd for test, one in listed],
        "delta_nats": [one.delta if one else test.delta for test, one in listed],
        "token_edit_share": [one.share if one else test.share for test, one in listed],
        "p": [None if one else test.p for test, one in listed],
        "p_adjusted": [None if one else test.adjusted for test, one in listed],
        "text": [one.text if one else test.row.prompt.text for test, one in listed],
    }
