"""Which edit did it? The selected wording's difference from the reference, shared out among its edits."""

from collections.abc import Sequence

import numpy as np
import streamlit as st

from analysis import edit_findings
from analysis.charts import shapley as charts
from analysis.charts.look import Look
from analysis.edits import EXACT, attribute_edits, problem, text_edits
from analysis.edits_results import EditAttribution, EditError, token_scores
from analysis.results import Analysis, PromptResult
from pages.shared import display, session, tokens

WHAT = "finding which edit did it"
LIVE_TOKENS = 8_000  # read for all mixtures together, unasked


def draw(page: session.Page, analysis: Analysis, look: Look, chosen: int) -> EditAttribution | None:
    """The values on the text itself, and as bars that add up to Δ."""
    st.subheader("Which edit did it?")
    variant = next((row for row in analysis.prompts if row.row.index == chosen and row.row.index), None)
    if variant is None:
        st.text("Select a rewording to see which of its edits moves the target.")
        return None
    if (sentence := problem(analysis.reference, variant)) is not None:
        st.text(f"{sentence}.")
        return None
    found = _found(page, analysis.reference, variant)
    if found is None:
        return None
    st.text(edit_findings.edits(found))
    _strip(variant, found)
    display.chart(charts.edits(found, look), "edits", charts.HOW_TO_READ)
    return found


def key(reference: PromptResult, variant: PromptResult) -> tuple[object, ...]:
    """What an attribution is kept under."""
    assert reference.trace is not None
    return (reference.row.prompt, variant.row.prompt, reference.trace.target.ids)


def known(page: session.Page, analysis: Analysis) -> list[EditAttribution]:
    """Those that were computed already, for the export."""
    store = page.loaded.caches.other
    pairs = [(analysis.reference, row) for row in analysis.prompts[1:] if problem(analysis.reference, row) is None]
    return [found for a, b in pairs if (found := store.get((WHAT, key(a, b)))) is not None]


def _found(page: session.Page, reference: PromptResult, variant: PromptResult) -> EditAttribution | None:
    identity = key(reference, variant)
    edits = len(text_edits(reference.row.prompt.text, variant.row.prompt.text))
    assert variant.trace is not None
    cost = (2**edits if edits <= EXACT else 25 * edits) * len(variant.trace.tokens)
    label = f"Try the {edits} edits in mixtures" if edits > 1 else "Try the edit"
    if not page.asked(WHAT, identity, label, "ask edits", free=cost <= LIVE_TOKENS):
        return None
    try:
        return page.kept(
            WHAT,
            identity,
            lambda report: attribute_edits(
                page.loaded.lm, reference, variant, cache=page.loaded.caches.scores, report=report
            ),
        )
    except EditError as error:
        display.error(f"{error}.")
        return None


def _strip(variant: PromptResult, found: EditAttribution) -> None:
    assert variant.trace is not None
    read = variant.trace.tokens
    start = _start(read.text, read.roles, read.spans, variant.row.prompt.text)
    scores = token_scores(found, read.spans, start)
    labels = tokens.legend_words(found.target.text)
    scale = float(np.abs(found.values).max(initial=0.0))
    st.text("Every word of an edit is coloured by what the whole edit does.")
    tokens.strip(read, scores, key="edits on the text", scale=scale, labels=labels, label="Edits on the text")
    tokens.legend(labels, scale, key="edits legend")


def _start(text: str, roles: Sequence[str], spans: Sequence[tuple[int, int]], typed: str) -> int:
    """Where the user's text begins in the text that the model reads; a template may have trimmed its blanks."""
    first = next((span[0] for span, role in zip(spans, roles, strict=True) if role == "text"), 0)
    return first if text.startswith(typed[:1], first) else first - (len(typed) - len(typed.lstrip()))
