"""Random prompt sets for laws that hold for every set."""

from hypothesis import strategies as st

from analysis.limits import MAX_RESPONSE_TOKENS
from analysis.prompts import INHERIT, KINDS, MODES, ROLES, Message, PromptSet, Variant

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
filled = texts.filter(str.strip)
labels = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
continuations = st.none() | texts.filter(bool) | st.lists(st.integers(0, 50_000), min_size=1, max_size=4).map(tuple)
candidates = st.none() | st.lists(texts.filter(bool), min_size=1, max_size=4, unique=True).map(tuple)

variants = st.builds(
    Variant,
    text=texts,
    kind=st.sampled_from(KINDS) | labels.filter(str.strip),
    label=labels,
    enabled=st.booleans(),
    mode=st.none() | st.sampled_from(MODES),
    system=st.just(INHERIT) | st.none() | texts,
    prefill=st.none() | texts,
    target=continuations,
    expected=st.none() | filled,
    candidates=candidates,
    same_meaning=st.none() | st.booleans(),
)
prompt_sets = st.builds(
    PromptSet,
    reference=filled,
    variants=st.lists(variants, max_size=4).map(tuple),
    name=labels,
    model=labels.filter(str.strip),
    mode=st.sampled_from(MODES),
    system=st.none() | texts,
    turns=st.lists(st.builds(Message, role=st.sampled_from(ROLES), content=texts), max_size=3).map(tuple),
    prefill=texts,
    special_tokens=st.booleans(),
    control_tokens=st.none() | st.booleans(),
    target=continuations,
    foil=continuations,
    candidates=candidates,
    expected=st.none() | filled,
    response_tokens=st.integers(1, MAX_RESPONSE_TOKENS),
)
