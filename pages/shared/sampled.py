"""What the wordings are answered with when the model samples, as deployed models do."""

from collections.abc import Sequence
from dataclasses import dataclass

import streamlit as st

from analysis import sensitivity_findings
from analysis.answers_match import Match
from analysis.charts import sampled as charts
from analysis.charts.look import Look
from analysis.results import Analysis, Answer
from analysis.sampling import Share, sample, share_right
from pages.shared import display, session

WHAT = "sampling answers"


@dataclass(frozen=True)
class Sampled:
    """The shares of right answers, with the settings that they were drawn with."""

    shares: tuple[Share | None, ...]
    temperature: float
    seed: int


def draw(
    page: session.Page,
    analysis: Analysis,
    answers: Sequence[Answer | None] | None,
    correct: Match,
    look: Look,
    chosen: int,
) -> Sampled | None:
    """The share of right answers per wording, beside the greedy answer."""
    st.subheader("Answers when sampling")
    if not any(result.row.expected for result in analysis.prompts):
        st.text("Say which answer is expected (sidebar, “Foil, candidates, options”) to see how often it is given.")
        return None
    with st.container(horizontal=True, vertical_alignment="bottom"):
        temperature = st.slider(
            "Temperature", 0.1, 2.0, 0.7, 0.1, key="temperature", width=260, persist_state="session"
        )
        count = st.number_input(
            "Samples of each wording", 2, 100, 10, key="samples", width=180, persist_state="session"
        )
        seed = st.number_input("Seed", 0, 2**31 - 1, 0, key="sampling seed", width=140, persist_state="session")
        identity = (page.prompt_set, temperature, count, seed)
        asked = page.asked(WHAT, identity, f"Sample {count} × {len(analysis.prompts)} answers", "ask samples")
    if not asked:
        return None
    places = [place for place, row in enumerate(analysis.prompts) if row.trace is not None]
    room = page.loaded.lm.max_tokens - max(len(_ids(analysis, place)) for place in places)
    made = page.kept(
        WHAT,
        identity,
        lambda report: sample(
            page.loaded.lm,
            [_ids(analysis, place) for place in places],
            temperature=temperature,
            count=int(count),
            tokens=max(min(page.prompt_set.response_tokens, room), 1),
            seed=int(seed),
            report=report,
        ),
    )
    if made is None:
        return None
    by_place = dict(zip(places, made, strict=True))
    samples = [by_place.get(place, []) for place in range(len(analysis.prompts))]
    shares = share_right(samples, [row.row.expected for row in analysis.prompts], correct)
    st.text(sensitivity_findings.sampled(shares, analysis, temperature))
    display.chart(
        charts.sampled(analysis, shares, answers, look, temperature, correct, chosen), "sampled answers", charts.HOW_TO_READ_SAMPLED,
        session.select_from("sampled answers"),
    )  # fmt: skip
    return Sampled(shares, temperature, int(seed))


def _ids(analysis: Analysis, place: int) -> tuple[int, ...]:
    trace = analysis.prompts[place].trace
    assert trace is not None
    return trace.tokens.ids
