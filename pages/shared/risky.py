"""Which kinds of rewording are risky? Several of every kind, for this prompt and for others."""

import streamlit as st

from analysis import risky_kinds_findings as findings
from analysis.charts import risky_kinds as charts
from analysis.risky_kinds import COUNT, risky_kinds
from analysis.risky_kinds_results import KindsError, Metric, RiskyKinds
from analysis.text import grouped
from analysis.tokens import shown
from analysis.variants.rules import RULES
from pages.shared import display, making, other_sets, session

WHAT = "running rewordings of every kind"
METRICS: dict[str, Metric] = {"|Δ|": "delta", "‖Δh‖ at the head": "displacement", "flip rate": "flip"}
MOST = 10


def draw(page: session.Page) -> RiskyKinds | None:
    """From a button: some rewordings of every kind are made and run."""
    if not page.prompt_set.reference.strip():
        return None
    st.subheader("Which kinds are risky?")
    others = other_sets.choose("pooled", "Prompts to pool with this one", page.prompt_set, "built-in sets")
    sets = [(page.prompt_set.name or "this prompt", page.prompt_set), *others]
    with st.container(horizontal=True, vertical_alignment="bottom"):
        count = st.number_input(
            "Rewordings of each kind and prompt", 1, MOST, COUNT, key="kinds count", width=260, persist_state="session"
        )
        seed = st.number_input("Seed", 0, 2**31 - 1, 0, key="kinds seed", width=140, persist_state="session")
        protected = making.protected_spans(page.prompt_set.reference)
        identity = (tuple(sets), count, seed, protected)
        most = int(count or COUNT) * len(RULES) * len(sets)
        asked = page.asked(WHAT, identity, f"Run up to {grouped(most)} rewordings", "ask kinds")
    if not asked:
        return None
    try:
        found = page.kept(
            WHAT,
            identity,
            lambda report: risky_kinds(
                page.loaded.lm, sets, count=int(count or COUNT), seed=int(seed or 0), protected=protected, report=report
            ),
        )
    except KindsError as error:
        display.error(f"{error}.")
        return None
    if found is not None:
        _shown(found)
    return found


@st.fragment
def _shown(found: RiskyKinds) -> None:
    metric = st.segmented_control("Measure", list(METRICS), default="|Δ|", required=True, key="kinds metric")
    st.text(findings.kinds(found, METRICS[metric or "|Δ|"]))
    display.chart(
        charts.risky_kinds(found, display.look(), METRICS[metric or "|Δ|"]), "risky kinds", charts.HOW_TO_READ
    )
    missing = [(kind.rule, one) for kind in found.kinds for one in kind.shortfalls]
    if missing and st.toggle(f"Why some kinds have fewer ({len(missing)})", key="kinds shortfalls"):
        for rule, one in missing:
            st.text(
                f"{rule}, {shown(one.set_name)}: {one.made} of {one.asked}. {one.reason[:1].upper()}{one.reason[1:]}."
            )
    for name, reason in found.left_out:
        st.text(f"{shown(name)} is left out: {reason}.")
