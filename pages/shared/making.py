"""Making rewordings: which kinds, how many, what stays as it is, and what could not be made."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import streamlit as st

from analysis import paraphrase
from analysis.encoding import EncodingError, encode
from analysis.prompts import Prompt
from analysis.text import grouped
from analysis.variants.results import Generated
from analysis.variants.rules import RULES, OptionContext, Rule, generate
from pages.shared import display, session, tokens

SELF_PARAPHRASE = "self-paraphrase"
START = ("casing", "final punctuation", "typo", "contraction", "synonym", "courtesy", "question frame")
MOST_PER_KIND = 12
FEW = 3  # kinds with a shortfall that are told of unasked
_PROTECTED = "protected spans"  # (text, the user's spans in it)
MAKING = "making rewordings"
PARAPHRASING = "asking the model for paraphrases"


@dataclass(frozen=True)
class Wanted:
    """What the user asks for."""

    rules: tuple[Rule, ...]
    self_paraphrase: bool
    count: int  # of each kind
    seed: int

    @property
    def some(self) -> bool:
        return bool(self.rules) or self.self_paraphrase


def controls() -> Wanted:
    """The kinds, the number of each, and the seed."""
    names = [rule.name for rule in RULES]
    kinds = st.pills(
        "Kinds of rewording", [*names, SELF_PARAPHRASE], selection_mode="multi", default=START, key="kinds",
        persist_state="session",
    )  # fmt: skip
    with st.container(horizontal=True, vertical_alignment="bottom"):
        count = st.number_input(
            "Of each kind", 1, MOST_PER_KIND, 2, key="of each kind", width=140, persist_state="session"
        )
        seed = st.number_input(
            "Seed", 0, 2**31 - 1, 0, key="variants seed", width=140, persist_state="session",
            help="Another seed makes other choices; the same seed makes the same ones.",
        )  # fmt: skip
        with st.popover("What the kinds do", icon=":material/help:", type="tertiary", key="about kinds"):
            for rule in RULES:
                st.text(f"{rule.name}: {rule.description}")
            st.text(f"{SELF_PARAPHRASE}: {paraphrase.DESCRIPTION}")
    rules = tuple(rule for rule in RULES if rule.name in kinds)
    return Wanted(rules, SELF_PARAPHRASE in kinds, int(count or 1), int(seed or 0))


def protection(page: session.Page) -> tuple[tuple[int, int], ...]:
    """The reference as a strip: a click protects a word, another click sets it free."""
    text = page.prompt_set.reference
    try:
        read = encode(page.loaded.lm.encoder, Prompt(text, control_tokens=False))
    except EncodingError as error:
        display.error(f"The reference cannot be reworded: {error}.")
        return ()
    spans = frozenset(protected_spans(text))
    if len(read) > page.loaded.lm.max_tokens:
        display.warning(
            f"The reference has {grouped(len(read))} tokens; {page.loaded.lm.card.name} reads at most"
            f" {grouped(page.loaded.lm.max_tokens)}, so its rewordings cannot be analysed."
        )
    st.text("Click a word to protect it: no rewording will touch it.")
    framed = [
        index
        for index, (start, end) in enumerate(read.spans)
        if any(start < stop and begin < end for begin, stop in spans)
    ]
    chosen = tokens.strip(
        read, key="protection", by="word", selected=None, protected=framed, label="Words of the reference to protect"
    )
    if chosen is not None:
        span = _word(read, chosen)
        st.session_state[_PROTECTED] = (text, spans ^ {span})
        st.rerun()
    return protected_spans(text)


def protected_spans(text: str) -> tuple[tuple[int, int], ...]:
    """The spans that the user protected in this text."""
    kept_for, spans = st.session_state.get(_PROTECTED, ("", frozenset()))
    return tuple(sorted(spans)) if kept_for == text else ()


def _word(read: "tokens.Tokens", chosen: int) -> tuple[int, int]:
    cell = next(cell for cell in tokens.cells(read, "word") if chosen in cell.tokens)
    start = cell.start + len(cell.text) - len(cell.text.lstrip())
    return (start, cell.end) if start < cell.end else (cell.start, cell.end)


def made(page: session.Page, wanted: Wanted, protected: Sequence[tuple[int, int]]) -> tuple[Generated, ...]:
    """What the rules make of the reference; a text that another rule made is not proposed again."""
    prompt_set = page.prompt_set
    if not prompt_set.reference.strip():
        return ()
    options = OptionContext(prompt_set.expected, _text(prompt_set.target), prompt_set.candidates or ())
    identity = (
        page.loaded.lm.key, prompt_set.reference, tuple(rule.name for rule in wanted.rules), wanted.count, wanted.seed,
        tuple(protected), options,
    )  # fmt: skip
    found = page.kept(MAKING, identity, lambda report: _by_rules(page, wanted, protected, options, report)) or ()
    if wanted.self_paraphrase and (own := _self_paraphrases(page, wanted, protected)) is not None:
        there = {proposal.text for one in found for proposal in one.proposals}
        new = tuple(proposal for proposal in own.proposals if proposal.text not in there)
        dropped = len(own.proposals) - len(new)
        found = (*found, replace(own, proposals=new, duplicates=own.duplicates + dropped))
    return found


def _by_rules(
    page: session.Page,
    wanted: Wanted,
    protected: Sequence[tuple[int, int]],
    options: OptionContext,
    report: session.Report,
) -> tuple[Generated, ...]:
    encoder, there = page.loaded.lm.encoder, list[str]()

    def ids(text: str) -> Sequence[int]:
        return encoder.full.encode(text, add_special_tokens=False).ids

    found = []
    for number, rule in enumerate(wanted.rules):
        report(number / len(wanted.rules))
        one = generate(
            page.prompt_set.reference, rule, wanted.count, wanted.seed,
            protected=protected, options=options, ids=ids, taken=there,
        )  # fmt: skip
        there += [proposal.text for proposal in one.proposals]
        found.append(one)
    return tuple(found)


def _text(target: object) -> str | None:
    return target if isinstance(target, str) else None


def _self_paraphrases(page: session.Page, wanted: Wanted, protected: Sequence[tuple[int, int]]) -> Generated | None:
    """The model's own rewordings: from a button, because they take some seconds."""
    text = page.prompt_set.reference
    identity = (text, wanted.count, wanted.seed, tuple(protected))
    label = f"Ask the model for {wanted.count} paraphrase{'' if wanted.count == 1 else 's'}"
    if not page.asked(PARAPHRASING, identity, label, "ask paraphrases"):
        return None
    return page.kept(
        PARAPHRASING,
        identity,
        lambda report: paraphrase.paraphrases(
            page.loaded.lm, text, wanted.count, wanted.seed, protected=protected, report=report
        ),
    )


def waiting(made: Sequence[Generated], wanted: Wanted) -> bool:
    """Whether paraphrases were chosen and the model has not been asked for them."""
    return wanted.self_paraphrase and all(one.rule != SELF_PARAPHRASE for one in made)


def shortfalls(made: Sequence[Generated]) -> None:
    """What is fewer than asked for, and what was dropped."""
    short = [found for found in made if found.reason]
    if len(short) <= FEW or st.toggle(f"Why {len(short)} kinds have fewer than {short[0].asked}", key="shortfalls"):
        for found in short:
            reason = f"{found.reason[:1].upper()}{found.reason[1:]}"
            st.text(f"{found.rule}: {len(found.proposals)} of {found.asked}. {reason}.")
    dropped = (
        (sum(found.duplicates for found in made), "that were there already (as text or as tokens)"),
        (sum(found.unchanged for found in made), "that changed nothing"),
    )
    if any(count for count, _ in dropped):
        st.text(f"Dropped: {', '.join(f'{count} {what}' for count, what in dropped if count)}.")
