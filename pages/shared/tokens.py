"""The token strip: a prompt's tokens in reading order, coloured by score, and the legend to it.

A Streamlit component: constant HTML, CSS and JavaScript; everything else comes as data and is
written as text, never as markup.
"""

import enum
import hashlib
import json
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import streamlit as st

from analysis import direction
from analysis.diff import Hunk, word_diff
from analysis.results import Tokens
from analysis.text import invisible_characters
from analysis.tokens import Cell, Grouping, cells, grouped, shown, shown_parts

View = Literal["signed", "magnitude"]

LOCKED_ROLES = ("template", "added")  # tokens that nobody typed: marked, and not to be selected
IDS_NAMED = 8  # in a tooltip


class Own(enum.Enum):
    """Stands for "the strip keeps its selection itself"."""

    OWN = "own"


_FOLDER = Path(__file__).parent
_component = st.components.v2.component(
    "token_strip",
    html='<div class="token-strip"></div>',
    css=(_FOLDER / "tokens.css").read_text(encoding="utf-8"),
    js=(_FOLDER / "tokens.js").read_text(encoding="utf-8"),
    isolate_styles=False,  # a selection of text does not cross the border of a shadow root
)


def strip(
    tokens: Tokens,
    scores: np.ndarray | None = None,
    *,
    key: str,
    scale: float | None = None,
    view: View = "signed",
    by: Grouping = "token",
    labels: tuple[str, str] = ("lowers", "raises"),
    unit: str = "nats",
    selected: int | None | Own = Own.OWN,
    greyed: Collection[int] = (),
    hatched: bool = False,
    reference: str | None = None,
    protected: Collection[int] = (),
    label: str = "Tokens",
) -> int | None:
    """Draw the tokens; returns the selected one (the first token of its cell), or None.

    `scores` has one number per token; the colour is full at `scale` (default: the largest here) and
    neutral at 0. `labels` say what negative and positive scores do (`legend_words`). `greyed` tokens
    have no colour and are in no cell's sum. `hatched` says that the scores did not converge. Where
    `reference` is given, what differs from that text is underlined, and a mark stands where
    something of it is missing. `protected` tokens are framed. `label` names the strip to a screen reader.

    Left to itself, the strip keeps its selection as long as its tokens stay the same. A page that
    keeps it passes `selected`: then the result is `selected`, but the user's new choice (None when
    cleared) in the one run that this choice starts.
    """
    groups = cells(tokens, by)
    memory = f"token strip {key}"
    identity = _digest([tokens.text, tokens.ids, by])
    if selected is Own.OWN:
        kept_for, current = st.session_state.get(memory, (None, None))
        current = current if kept_for == identity else None
    else:
        kept_for, current = st.session_state.pop(memory, (None, selected))
        current = current if kept_for == identity else selected

    data = {
        "kind": "strip",
        "label": label,
        "labels": list(labels),
        "unit": unit,
        "magnitude": view == "magnitude",
        "hatched": hatched,
        "lines": _lines(tokens, groups, _changes(reference, tokens.text), frozenset(protected)),
        **_scored(groups, scores, view, frozenset(greyed), scale),
    }
    _component(
        key=key,
        data={**data, "version": _digest(data), "selected": current},
        on_chosen_change=_remember(key, memory, identity, len(tokens)),
    )
    return current


def legend(
    labels: tuple[str, str],
    scale: float,
    *,
    key: str,
    view: View = "signed",
    unit: str = "nats",
    greyed: bool = False,
    hatched: bool = False,
    changed: bool = False,
) -> None:
    """What the colours of strips on one `scale` say; and, where used, greyed, hatched and changed cells."""
    notes = [
        *([["greyed", "left out of the colours"]] if greyed else []),
        *([["hatched", "not converged"]] if hatched else []),
        *([["added", "differs from the reference"], ["missing", "something is missing here"]] if changed else []),
    ]
    data = {
        "kind": "legend",
        "labels": list(labels),
        "scale": scale,
        "unit": unit,
        "magnitude": view == "magnitude",
        "notes": notes,
    }
    _component(key=key, data={**data, "version": _digest(data)})


def legend_words(target: str, foil: str | None = None, view: View = "signed") -> tuple[str, str]:
    """What negative and positive scores do, for example ("lowers p(Paris)", "raises p(Paris)")."""
    what = f"p({shown(target)})" if foil is None else f"p({shown(target)}) against p({shown(foil)})"
    return ("", f"moves {what}") if view == "magnitude" else (f"lowers {what}", f"raises {what}")


def full_scale(
    tokens: Tokens,
    scores: np.ndarray,
    view: View = "signed",
    by: Grouping = "token",
    greyed: Collection[int] = (),
) -> float:
    """The largest absolute score that a strip would colour; strips that are compared share the largest of theirs."""
    values, grey = _sums(cells(tokens, by), scores, view, frozenset(greyed))
    pairs = zip(values, grey, strict=True)
    return max((abs(value) for value, is_grey in pairs if value is not None and not is_grey), default=0.0)


def usually_greyed(tokens: Tokens) -> frozenset[int]:
    """Position 0, added and template tokens: these often soak up attribution."""
    return frozenset(index for index, role in enumerate(tokens.roles) if index == 0 or role in LOCKED_ROLES)


# --- what the component is told


@dataclass(frozen=True)
class _Changes:
    """What a text has that the reference has not (a flag per character), and what is missing where."""

    added: bytes
    missing: dict[int, str]


def _changes(reference: str | None, text: str) -> _Changes | None:
    if reference is None or reference == text:
        return None
    added, missing = bytearray(len(text)), {}
    for hunk in _hunks(reference, text):
        if hunk.op == "delete":
            missing[hunk.b_start] = reference[hunk.a_start : hunk.a_end]
        elif hunk.op != "equal":
            added[hunk.b_start : hunk.b_end] = b"\1" * (hunk.b_end - hunk.b_start)
    return _Changes(bytes(added), missing)


@st.cache_data(max_entries=500, show_spinner=False)
def _hunks(reference: str, text: str) -> tuple[Hunk, ...]:
    return word_diff(reference, text)


def _lines(
    tokens: Tokens, groups: Sequence[Cell], changes: _Changes | None, protected: frozenset[int]
) -> list[dict[str, Any]]:
    """The cells by line, with what is needed to draw and name them; what is as usual is left out."""
    names = {found.position: f"{found.code_point} {found.name}" for found in invisible_characters(tokens.text)}
    named_roles = any(role not in ("text", "added") for role in tokens.roles)
    lines: list[list[Cell]] = [[]]
    for cell in groups:
        lines[-1].append(cell)
        if cell.text.endswith("\n"):
            lines.append([])
    described, role_before = [], ""
    for line in filter(None, lines):
        entries = []
        for cell, level in zip(line, direction.levels(line), strict=True):
            entry = _entry(tokens, cell, names, changes)
            if level:
                entry["level"] = level
            if not protected.isdisjoint(cell.tokens):
                entry["protected"] = True
            if named_roles and cell.role not in (role_before, "added"):
                role_before = cell.role
                entry["marker"] = {"text": "prompt", "turn": "earlier turn"}.get(cell.role, cell.role)
            entries.append(entry)
        described.append({"rtl": direction.right_to_left(line), "cells": entries})
    return described


def _entry(tokens: Tokens, cell: Cell, names: dict[int, str], changes: _Changes | None) -> dict[str, Any]:
    first = cell.tokens[:IDS_NAMED]
    entry: dict[str, Any] = {
        "text": cell.text,
        "token": cell.tokens.start,
        "count": len(cell.tokens),
        "ids": [tokens.ids[index] for index in first],
    }
    if not cell.text:
        entry["name"] = shown(cell.name)
    parts = _parts(cell, changes)
    if parts != [[cell.text, cell.text]]:
        entry["parts"] = parts
    if len(cell.tokens) > 1:
        entry["pieces"] = [shown(tokens.pieces[index]) for index in first]
    unseen = Counter(names[offset] for offset in range(cell.start, cell.end) if offset in names) if names else {}
    if unseen:
        entry["unseen"] = [f"{name} × {count}" if count > 1 else name for name, count in unseen.items()]
    if cell.role != "text":
        entry["role"] = cell.role
        entry["locked"] = cell.role in LOCKED_ROLES
    if cell.control:
        entry["control"] = True
    return entry


def _parts(cell: Cell, changes: _Changes | None) -> list[list[str]]:
    """The cell's text in parts: [text, how it is shown] and, third, "added", or "missing" where the text is ""."""
    if changes is None:
        return [list(part) for part in shown_parts(cell.text)]
    parts: list[list[str]] = []
    offset = cell.start
    for raw, glyph in shown_parts(cell.text):
        # What is shown as it is may have changed in its middle; a sign that stands for it has not.
        length = 1 if raw == glyph else len(raw)
        for start in range(offset, offset + len(raw), length):
            if start in changes.missing:
                parts.append(["", shown(changes.missing[start]), "missing"])
            mark = ["added"] if any(changes.added[start : start + length]) else []
            piece = cell.text[start - cell.start : start - cell.start + length]
            last = parts[-1] if parts else ["", ""]
            if raw == glyph and last[0] and last[0] == last[1] and last[2:] == mark:
                parts[-1] = [last[0] + piece, last[1] + piece, *mark]
            else:
                parts.append([piece, piece if raw == glyph else glyph, *mark])
        offset += len(raw)
    if cell.text and cell.end == len(changes.added) in changes.missing:
        parts.append(["", shown(changes.missing[cell.end]), "missing"])
    return parts


def _sums(
    groups: Sequence[Cell], scores: np.ndarray, view: View, greyed: frozenset[int]
) -> tuple[list[float | None], list[bool]]:
    """The score of each cell without its greyed tokens, None where it has none; and which are greyed as a whole."""
    coloured = np.array([index not in greyed for index in range(len(scores))], dtype=bool)
    sums = grouped(np.where(coloured, scores, 0.0), groups, magnitude=view == "magnitude")
    whole = grouped(scores, groups, magnitude=view == "magnitude")
    grey = [not coloured[cell.tokens.start : cell.tokens.stop].any() for cell in groups]
    values = [float(own if is_grey else value) for value, own, is_grey in zip(sums, whole, grey, strict=True)]
    return [value if np.isfinite(value) else None for value in values], grey


def _scored(
    groups: Sequence[Cell], scores: np.ndarray | None, view: View, greyed: frozenset[int], scale: float | None
) -> dict[str, Any]:
    """Scores, ranks by size (1 is the largest) and greyed cells, in the order of the cells."""
    if scores is None:
        return {"scores": None, "greyed": [set(cell.tokens) <= greyed for cell in groups]}
    values, grey = _sums(groups, scores, view, greyed)
    sizes = {place: abs(value) for place, value in enumerate(values) if value is not None and not grey[place]}
    order = sorted(sizes, key=lambda place: -sizes[place])
    ranks = {place: rank for rank, place in enumerate(order, start=1)}
    return {
        "scores": values,
        "ranks": [ranks.get(place) for place in range(len(groups))],
        "greyed": grey,
        "scale": max(sizes.values(), default=0.0) if scale is None else scale,
    }


def _remember(key: str, memory: str, identity: str, size: int) -> Callable[[], None]:
    """A callback that keeps the user's choice, with what it was made for, until the strip is drawn again."""

    def callback() -> None:
        choice = st.session_state[key].chosen
        valid = isinstance(choice, int) and 0 <= choice < size  # the browser may send anything
        st.session_state[memory] = (identity, choice if valid else None)

    return callback


def _digest(value: Any) -> str:
    return hashlib.blake2b(json.dumps(value).encode(), digest_size=12).hexdigest()
