"""Is the selected wording's effect more than what any rewording of its size does?"""

from collections.abc import Sequence

import streamlit as st

from analysis import significance_findings
from analysis.charts import noise as charts
from analysis.charts.look import Look
from analysis.results import Analysis, PromptResult
from analysis.significance import COUNT, noise_tests
from analysis.significance_results import FEWEST, NoiseTest, SignificanceError, by
from pages.shared import display, making, session

WHAT = "comparing with rewordings of the same size"
EFFECTS = {"JSD of the next token": "jsd", "|Δ| of the target": "delta"}


def draw(page: session.Page, analysis: Analysis, look: Look, chosen: int) -> tuple[NoiseTest, ...] | None:
    """The null distribution with the effect on it, for the selected wording or for all of them."""
    st.subheader("More than noise?")
    rows = [row for row in analysis.prompts[1:] if row.trace is not None]
    selected = [row for row in rows if row.row.index == chosen]
    with st.container(horizontal=True, vertical_alignment="bottom"):
        effect = st.segmented_control(
            "Effect",
            list(EFFECTS),
            default=next(iter(EFFECTS)),
            required=True,
            key="noise effect",
            persist_state="session",
        )
        count = st.number_input("Baselines", FEWEST, 199, COUNT, key="baselines", width=140, persist_state="session")
        seed = st.number_input("Seed", 0, 2**31 - 1, 0, key="noise seed", width=140, persist_state="session")
        every = len(rows) > 1 and st.toggle(
            f"All {len(rows)} wordings",
            key="noise of all",
            persist_state="session",
            help=f"Adjusted for {len(rows)} tests: for one alone to stand out, {20 * len(rows) - 1} baselines are needed.",
        )
    tested = rows if every else selected
    if not tested:
        st.text("Select a rewording to compare its effect with rewordings of its size.")
        return None
    found = _found(page, analysis, tested, int(count or COUNT), int(seed or 0))
    if found is None:
        return None
    tests = by(found, "delta" if EFFECTS[effect or "JSD of the next token"] == "delta" else "jsd")
    st.text(significance_findings.noise(tests))
    display.chart(charts.noise(tests, look, chosen), "noise", charts.HOW_TO_READ, session.select_from("noise"))
    return tests


def _found(
    page: session.Page, analysis: Analysis, tested: Sequence[PromptResult], count: int, seed: int
) -> tuple[NoiseTest, ...] | None:
    protected = making.protected_spans(page.prompt_set.reference)
    identity = (page.prompt_set, tuple(row.row.index for row in tested), count, seed, protected)
    what = (
        "" if len(tested) == 1 else f" for each of {len(tested)} wordings"
    )  # a label of a button is Markdown: no names
    if not page.asked(WHAT, identity, f"Make {count} baselines{what} and compare", "ask noise"):
        return None
    try:
        return page.kept(
            WHAT,
            identity,
            lambda report: noise_tests(
                page.loaded.lm, analysis, tested, count=count, seed=seed, protected=protected, report=report
            ),
        )
    except SignificanceError as error:
        display.error(f"{error}.")
        return None
