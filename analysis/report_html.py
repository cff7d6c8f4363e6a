"""An analysis as one self-contained page: to read, to print, to send.

The page asks nothing of any network. It is built as a tree of elements, so that texts of users and
models are text whatever they spell; and what is drawn for invisible characters comes from the style
sheet, so that the text copied from the page is the text of the prompt.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from analysis import tokens
from analysis.elements import Cell, Child, Element, document, element, plain, table, text
from analysis.explore import rank
from analysis.report_json import libraries
from analysis.results import Analysis, Answer, CandidateScores, Trace
from analysis.sensitivity import Sensitivity
from analysis.taylor import against_reference
from analysis.text import percent

POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data: blob:; font-src data:"
)
RAISES, LOWERS = (43, 108, 176), (200, 100, 27)
STRONGEST = 0.6  # opacity of the largest score, so that black text stays readable on it

STYLE = """
:root { color-scheme: light; }
body { font: 15px/1.5 system-ui, "Noto Sans", sans-serif; color: #1b2027; margin: 2rem auto; max-width: 72rem; padding: 0 1rem; }
h1 { font-size: 1.6rem; margin: 0 0 .5rem; } h2 { font-size: 1.15rem; margin: 2rem 0 .5rem; }
.finding { font-size: 1.15rem; } .quiet { color: #5b6470; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; } caption { text-align: left; color: #5b6470; padding-bottom: .3rem; }
th, td { border-bottom: 1px solid #d5d9e0; padding: .35rem .6rem; text-align: left; vertical-align: top; }
.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.text { white-space: pre-wrap; overflow-wrap: anywhere; min-width: 7rem; }
.strip { white-space: pre-wrap; overflow-wrap: anywhere; line-height: 2; margin: .2rem 0 1rem; }
.strip span.cell { border: 1px solid #e3e6eb; border-radius: 3px; padding: .1rem 0; }
.strip span.aside { border-style: dashed; color: #5b6470; }
.mark { position: relative; } .mark::before { content: attr(data-glyph); color: #6b7280; }
.mark[data-glyph="·"]::before { position: absolute; left: 0; right: 0; text-align: center; }
.error { color: #9b2c2c; }
.chart { break-inside: avoid; margin: 1rem 0; }
@media print { body { margin: 0; max-width: none; font-size: 11px; } tr, .strip { break-inside: avoid; }
  * { print-color-adjust: exact; -webkit-print-color-adjust: exact; } }
"""


def to_html(
    analysis: Analysis,
    *,
    finding: str = "",
    answers: Sequence[Answer | None] | None = None,
    candidates: Sequence[CandidateScores | None] | None = None,
    sensitivity: Sensitivity | None = None,
    figures: Sequence[tuple[str, Any]] = (),
) -> str:
    """The report as HTML text. `answers` and `candidates` have one entry per prompt.

    `figures` are headings with Plotly figures; Plotly's program is put in once, and only if there are any.
    """
    name = analysis.prompt_set.name or "Prompt set"
    body = element(
        "main",
        element("h1", *text(name)),
        element("p", *text(finding), class_="finding") if finding else None,
        element("p", *text(_model(analysis)), class_="quiet"),
        _notes(analysis),
        _section("Wordings", _wordings(analysis, answers)),
        *_strips(analysis),
        _section("Candidates", _candidates(analysis, candidates)) if any(candidates or ()) else None,
        _section("Against the reference", _pairs(analysis)) if len(analysis.prompts) > 1 else None,
        _section("Sensitivity", _sensitivity(sensitivity)) if sensitivity else None,
        *_charts(figures),
        _section("How it was computed", _settings(analysis)),
    )
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", **{"http-equiv": "Content-Security-Policy", "content": POLICY}),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("title", plain(name)),
        element("style", STYLE),
    )
    return document(head, element("body", body))


def _section(title: str, *children: Child) -> Element:
    return element("section", element("h2", title), *children)


def _number(value: float | None, digits: int = 3, sign: bool = False) -> str:
    if value is None or not np.isfinite(value):
        return "–"
    return f"{value:{'+' if sign else ''}.{digits}f}".replace("-", "−")


def _model(analysis: Analysis) -> str:
    card = analysis.model
    target = f"; target {analysis.target.text!r}" if analysis.target else ""
    return f"{card.name}, {card.parameters / 1e6:.0f} M parameters, {card.layers} layers, {card.dtype} on {card.device}{target}"


def _notes(analysis: Analysis) -> Element | None:
    if not analysis.notes:
        return None
    return element("ul", *(element("li", *text(note.text)) for note in analysis.notes))


def _wordings(analysis: Analysis, answers: Sequence[Answer | None] | None) -> Element:
    header = ["label", "wording", *(["answer"] if answers else []), "log p", "p", "Δ", "rank", "tokens", "notes"]
    rows: list[Sequence[Cell]] = []
    for place, result in enumerate(analysis.prompts):
        trace, answer = result.trace, answers[place] if answers else None
        name: list[Child] = [*text(result.label), element("br"), element("span", result.row.kind, class_="quiet")]
        notes: list[Child] = [
            element("p", *text(n.text), class_="error" if n.level == "error" else "") for n in result.notes
        ]
        rows.append(
            [
                name,
                text(result.row.prompt.text),
                *([_answer(answer)] if answers else []),
                _number(trace.log_prob if trace else None),
                percent(trace.log_prob) if trace else "–",
                "–" if place == 0 else _number(result.delta, sign=True),
                str(rank(trace)) if trace else "–",
                str(len(trace.tokens)) if trace else "–",
                notes,
            ]
        )
    return table("log p and Δ in nats; Δ against the reference: negative where the answer is less likely", header, rows)


def _answer(answer: Answer | None) -> Cell:
    if answer is None:
        return "–"
    if not answer.text:
        return element("span", "ends at once", class_="quiet")
    return text(answer.text)


def _strips(analysis: Analysis) -> list[Child]:
    """The prompts as tokens, coloured by gradient × input on one scale."""
    traced = [(result.label, result.trace) for result in analysis.prompts if result.trace]
    scored = [(label, trace) for label, trace in traced if trace.gradient_x_input is not None]
    if not scored:
        return []
    values = [abs(score) for _, trace in scored for cell, score in _scores(trace) if not _aside(cell)]
    largest = max(values, default=0.0)
    legend = (
        f"Gradient × input of log p(target), in nats: blue raises it, orange lowers it; full colour is {largest:.3g}. "
        "Dashed tokens (the first one, and the template's) are left out of the colours. First-order scores are a hint, "
        "not a proof: leaving the token out may do something else."
    )
    strips: list[Child] = []
    for label, trace in scored:
        strips.append(element("h3", *text(label)))
        strips.append(
            element(
                "div",
                *(_strip_cell(cell, score, largest) for cell, score in _scores(trace)),
                class_="strip",
                dir="auto",
            )
        )
    return [_section("Tokens", element("p", legend, class_="quiet"), *strips)]


def _scores(trace: Trace) -> list[tuple[tokens.Cell, float]]:
    assert trace.gradient_x_input is not None
    groups = tokens.cells(trace.tokens)
    return list(zip(groups, tokens.grouped(trace.gradient_x_input, groups).tolist(), strict=True))


def _aside(cell: tokens.Cell) -> bool:
    return cell.tokens.start == 0 or cell.role in ("template", "added")


def _strip_cell(cell: tokens.Cell, score: float, largest: float) -> Element:
    title = f"{score:+.3g} nats"
    if _aside(cell):
        return element("span", *text(cell.name), class_="cell aside", title=title)
    red, green, blue = RAISES if score > 0 else LOWERS
    opacity = STRONGEST * min(1.0, abs(score) / largest) if largest > 0 else 0.0
    return element(
        "span",
        *text(cell.name),
        class_="cell",
        title=title,
        style=f"background: rgba({red}, {green}, {blue}, {opacity:.3f})",
    )


def _candidates(analysis: Analysis, candidates: Sequence[CandidateScores | None] | None) -> Element:
    rows: list[Sequence[Cell]] = []
    for result, scores in zip(analysis.prompts, candidates or (), strict=True):
        if scores:
            best = int(scores.sums.argmax())
            for place, candidate in enumerate(scores.texts):
                total, mean = float(scores.sums[place]), float(scores.means[place])
                chosen = element("span", " (likeliest)", class_="quiet") if place == best else None
                rows.append(
                    [text(result.label), [*text(candidate), chosen], _number(total), percent(total), _number(mean)]
                )
    return table(
        "log p is summed over a candidate's tokens; mean is per token",
        ["label", "candidate", "log p", "p", "mean"],
        rows,
    )


def _pairs(analysis: Analysis) -> Element:
    rows: list[Sequence[Cell]] = []
    for pair in against_reference(analysis):
        token = pair.tokens[0]
        rows.append(
            [
                text(analysis.prompts[pair.b].label),
                _number(token.delta, sign=True),
                _number(token.lower, sign=True),
                _number(token.upper, sign=True),
                _number(pair.jsd),
                _number(float(token.distance[0])),
                _number(float(token.distance[-1])),
            ]
        )
    caption = (
        "Of the target's first token, in nats: Δ, and the exact bounds on it that the last states give (lowest, highest); "
        "Jensen–Shannon divergence of the next-token distributions (at most 0.693); and how far the states of the last "
        "token are apart before the first block and after the last"
    )
    return table(caption, ["label", "Δ", "lowest", "highest", "JSD", "‖Δh‖ first", "‖Δh‖ last"], rows)


def _sensitivity(found: Sensitivity) -> Element:
    rows: list[Sequence[Cell]] = [
        ("prompts on the common target", str(found.prompts)),
        ("left out (controls, other targets, repeats, failures)", str(found.left_out.total)),
        ("log p(target): worst, mean, best, in nats", ", ".join(map(_number, (found.worst, found.mean, found.best)))),
        (f"spread over {found.prompts} prompts, in nats (grows with their number)", _number(found.spread)),
        ("POSIX, in nats per token", _number(found.posix)),
        ("combined performance score of p(target), 0 to 1", _number(found.cps)),
        (f"rewordings that change the answer, compared by {found.match}", _share(found.flip_rate)),
        ("all answers are the same", _yes(found.same_answer)),
        ("right answers", _share(found.right)),
        ("all right", _yes(found.all_right)),
        ("any right", _yes(found.any_right)),
    ]
    return table("", ["figure", "value"], rows)


def _share(share: float | None) -> str:
    return "–" if share is None else f"{100 * share:.0f} %"


def _yes(known: bool | None) -> str:
    return "–" if known is None else "yes" if known else "no"


def _charts(figures: Sequence[tuple[str, Any]]) -> list[Child]:
    if not figures:
        return []
    from plotly.offline import get_plotlyjs

    made: list[Child] = [element("script", get_plotlyjs())]
    for number, (title, figure) in enumerate(figures):
        # In a script only "<" could end it.
        data = figure.to_json().replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
        draw = f"{{const f = {data}; Plotly.newPlot('chart-{number}', f.data, f.layout, {{responsive: true, displaylogo: false}});}}"
        made.append(_section(title, element("div", class_="chart", id=f"chart-{number}"), element("script", draw)))
    return made


def _settings(analysis: Analysis) -> Element:
    chosen = analysis.prompt_set
    rows: list[Sequence[Cell]] = [
        ("mode", chosen.mode),
        ("special tokens", "as the tokenizer adds them" if chosen.special_tokens else "none"),
    ]
    if chosen.mode == "chat":
        rows.append(("system prompt", "the template's own" if chosen.system is None else text(chosen.system)))
        rows += [(f"earlier turn ({turn.role})", text(turn.content)) for turn in chosen.turns]
    rows.append(("answers", f"greedy, at most {chosen.response_tokens} tokens"))
    rows.append(("model", text(f"{analysis.model.name} {analysis.model.revision}".strip())))
    rows += [(name, version) for name, version in libraries().items()]
    return table("", ["setting", "as"], rows)
