"""The opposite case: a small network that draws same-class inputs together, trained on the page."""

import streamlit as st

from analysis.charts import clustering as charts
from analysis.charts import contrast as contrast_charts
from analysis.charts.look import Look
from analysis.clustering import Clustering, digits
from analysis.contrast import Contrast
from analysis.text import grouped
from pages.shared import display, session

_ASKED = "digits asked"


def draw(page: session.Page, look: Look, prompts: Contrast | None) -> None:
    """Train on demand, then the distances of a chosen epoch beside the prompts' own, and how they came about."""
    st.subheader("A small network does the opposite")
    known = page.loaded.caches.other.get((WHAT, "digits")) is not None
    if not known and not st.session_state.get(_ASKED):
        st.text("A network that learns to read handwritten digits draws images of one digit together, layer by layer.")
        st.button("Train it (some seconds)", key="train digits", on_click=_ask, icon=":material/play_arrow:")
        return
    found = page.kept(WHAT, "digits", digits)
    if found is None:
        return
    st.text(_finding(found))
    left, right = st.columns(2)
    with left:
        epoch = st.select_slider("Epochs of training", found.epochs, value=found.epochs[-1], key="digits epoch")
        display.chart(charts.clustering(found, epoch, look), "digits", charts.HOW_TO_READ)
        display.chart(charts.clustering_history(found, look), "digits by epoch", charts.HOW_TO_READ_HISTORY)
    with right:
        if prompts is None:
            st.text(
                "Choose prompts of a different intent above, and the same distances of the current prompts stand here."
            )
            return
        st.text("The current prompts in the language model:")
        figure = contrast_charts.contrast(prompts, page.prompt_set.name or "this set", look, "cosine")
        display.chart(figure, "prompts beside digits", contrast_charts.HOW_TO_READ)


WHAT = "training a small network"


def _ask() -> None:
    st.session_state[_ASKED] = True


def _finding(found: Clustering) -> str:
    before, after = found.ratio[0, -1], found.ratio[-1, -1]
    return (
        f"At its head, images of one digit are {before:.2f} times as far apart as images of different digits before"
        f" training and {after:.2f} times after it, over all {grouped(found.pairs)} pairs of test images;"
        f" {100 * found.accuracy[-1]:.0f} % of the images are then read rightly."
    )
