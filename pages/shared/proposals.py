"""The proposed rewordings, one under the other: look, check, edit, keep or drop."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace

import streamlit as st

from analysis import variant_findings
from analysis.encoding import EncodingError, encode
from analysis.judgement import FLAG_BELOW, Judged
from analysis.meaning import Check, hard_checks
from analysis.prompts import Prompt
from analysis.text import grouped
from analysis.tokens import shown
from analysis.variants.results import Edit, Generated, Proposal, applied
from pages.shared import display, draft, editor, meaning, session, tokens

_CHOICES = "choices on proposals"
_ADDED = "added to the set"
CHECKING = "checking meanings"
SHOWN_AT_FIRST = 12
LONG = 1_500  # characters: of a longer proposal the part with its edits is shown
AROUND = 200  # characters before the first edit
EDITS_NAMED = 4


@dataclass(frozen=True)
class _Choice:
    """What the user decided about one proposal; None: nothing yet."""

    keep: bool | None = None
    text: str | None = None
    verdict: bool | None = None


def judged(page: session.Page, made: Sequence[Generated]) -> tuple[Judged, ...]:
    """Every proposal with its checks and the user's decisions."""
    reference = page.prompt_set.reference
    chosen = [(proposal, _choice(reference, proposal)) for found in made for proposal in found.proposals]
    texts = [proposal.text if choice.text is None else choice.text for proposal, choice in chosen]
    similar = meaning.similarities(page, reference, texts)
    checks = page.kept(CHECKING, (reference, tuple(texts)), lambda report: _checked(reference, texts, report))
    if checks is None:
        return ()
    there = {variant.text for variant in page.prompt_set.variants}
    return tuple(
        Judged(proposal, text, checks[text], similar.get(text), choice.verdict, choice.keep, text in there)
        for (proposal, choice), text in zip(chosen, texts, strict=True)
    )


def _checked(reference: str, texts: Sequence[str], report: session.Report) -> dict[str, tuple[Check, ...]]:
    checks: dict[str, tuple[Check, ...]] = {}
    for number, text in enumerate(texts):
        report(number / len(texts))
        checks[text] = hard_checks(reference, text)
    return checks


def keep(page: session.Page, found: Sequence[Judged]) -> None:
    """The button that takes all chosen ones into the set, and those that choose all or none."""
    kept = [one for one in found if one.kept and one.text.strip()]
    reference, proposals = page.prompt_set.reference, [one.proposal for one in found]
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.button(
            f"Keep {len(kept)} in the set", key="keep proposals", icon=":material/playlist_add:",
            disabled=not kept, on_click=_keep, args=(kept,),
        )  # fmt: skip
        for label, value in (("Choose all", True), ("Choose none", False)):
            st.button(
                label, key=label.lower(), type="tertiary", disabled=not found,
                on_click=_decide, args=(reference, proposals, "keep", value),
            )  # fmt: skip
        if (sentence := st.session_state.pop(_ADDED, None)) is not None:
            st.text(sentence)


def _keep(kept: Sequence[Judged]) -> None:
    before = draft.current().prompt_set.variants
    labels = variant_findings.labels(kept, [variant.label for variant in before])
    draft.add(tuple(one.variant(label) for one, label in zip(kept, labels, strict=True)))
    added = len(draft.current().prompt_set.variants) - len(before)
    st.session_state[_ADDED] = f"{added} added to the set. Explore shows what {'they do' if added > 1 else 'it does'}."


def draw(page: session.Page, found: Sequence[Judged]) -> None:
    """The rows."""
    reference = page.prompt_set.reference
    meaning.offer(reference)
    shown_rows = found
    if len(found) > SHOWN_AT_FIRST and not st.toggle(f"Show all {len(found)} proposals", key="all proposals"):
        shown_rows = found[:SHOWN_AT_FIRST]
    for one in shown_rows:
        _row(page, reference, one)


def _row(page: session.Page, reference: str, one: Judged) -> None:
    key = _digest(reference, one.proposal)
    with st.container(border=True, gap="xsmall", key=f"proposal {key}"):
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            own = f"keep {key}"
            st.session_state[own] = one.kept
            st.checkbox(
                "Keep", key=own, disabled=one.there,
                on_change=lambda: _decide(reference, [one.proposal], "keep", st.session_state[own]),
            )  # fmt: skip
            st.text(f"{shown(one.proposal.rule)}: {_edits(one)}{'; in the set' if one.there else ''}", width="stretch")
            if one.similarity is not None:
                st.text(f"similarity {one.similarity:.2f}")
            _verdict(reference, one, key)
            popover = st.popover("Edit", type="tertiary", key=f"edit {key}", on_change="rerun")
            if popover.open:
                with popover:
                    _text_field(reference, one, key)
        _strip(page, reference, one, key)
        for check in one.failed:
            display.warning(f"{check.name}: {check.detail}")
        if one.similarity is not None and one.similarity < FLAG_BELOW:
            display.warning(
                f"similarity: {one.similarity:.2f} is below {FLAG_BELOW:.2f}; look whether it means the same"
            )


def _strip(page: session.Page, reference: str, one: Judged, key: str) -> None:
    text, base, place = _part(reference, one)
    try:
        read = encode(page.loaded.lm.encoder, Prompt(text, control_tokens=False))
    except EncodingError as error:
        display.error(f"{error}.")
        return
    if place:
        st.text(place)
    tokens.strip(read, key=f"strip {key}", by="word", reference=base, label=f"Proposal of kind {one.proposal.rule}")


def _part(reference: str, one: Judged) -> tuple[str, str | None, str]:
    """What is shown of a proposal, what it is compared with, and which part that is where it is not all."""
    if len(one.text) <= LONG:
        return one.text, reference, ""
    if one.text != one.proposal.text:
        return one.text[:LONG], None, f"The first {grouped(LONG)} of {grouped(len(one.text))} characters:"
    start = max(one.proposal.edits[0].start - AROUND, 0)
    inside = [edit for edit in one.proposal.edits if edit.start < start + LONG]
    end = min(max(start + LONG, inside[-1].end), len(reference))
    base = reference[start:end]
    text = applied(base, tuple(replace(edit, start=edit.start - start, end=edit.end - start) for edit in inside))
    more = len(one.proposal.edits) - len(inside)
    rest = f"; {more} more edit{'s' if more > 1 else ''} after it" if more else ""
    return text, base, f"Characters {grouped(start + 1)} to {grouped(end)} of {grouped(len(reference))}{rest}:"


def _verdict(reference: str, one: Judged, key: str) -> None:
    names = {"as the checks say": None, **{editor.VERDICTS[verdict]: verdict for verdict in (True, False)}}
    own = f"verdict {key}"
    st.selectbox(
        "Meaning", list(names), index=list(names.values()).index(one.verdict), key=own,
        label_visibility="collapsed", width=180,
        on_change=lambda: _decide(reference, [one.proposal], "verdict", names[st.session_state[own]]),
    )  # fmt: skip


def _text_field(reference: str, one: Judged, key: str) -> None:
    own = f"own text {key}"
    st.text_area(
        "Text of this rewording", one.text, key=own, height="content",
        on_change=lambda: _decide(reference, [one.proposal], "text", st.session_state[own]),
    )  # fmt: skip


def _edits(one: Judged) -> str:
    """What was changed, in a few words."""
    if one.text != one.proposal.text:
        return "edited by you"
    named = [_edit(edit) for edit in one.proposal.edits[:EDITS_NAMED]]
    more = len(one.proposal.edits) - len(named)
    moved = f"; the expected answer is then {shown(one.proposal.expected)}" if one.proposal.expected else ""
    return ", ".join(named) + (f" and {more} more" if more else "") + moved


def _edit(edit: Edit) -> str:
    before, after = shown(edit.before), shown(edit.after)
    if not edit.before:
        return f"“{after}” added"
    return f"“{before}” left out" if not edit.after else f"“{before}” → “{after}”"


def _choice(reference: str, proposal: Proposal) -> _Choice:
    return st.session_state.get(_CHOICES, {}).get((reference, proposal), _Choice())


def _decide(reference: str, proposals: Sequence[Proposal], field: str, value: object) -> None:
    choices = st.session_state.setdefault(_CHOICES, {})
    for proposal in proposals:
        choices[reference, proposal] = replace(_choice(reference, proposal), **{field: value})


def _digest(reference: str, proposal: Proposal) -> str:
    return hashlib.blake2b(repr((reference, proposal.rule, proposal.text)).encode(), digest_size=8).hexdigest()
