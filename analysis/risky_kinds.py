"""Which kinds of rewording are risky? Rewordings of every kind, for one prompt or for many, and what they do.

Nothing is generated: a flip is another likeliest next token. All prompts go through one run without gradients.

Source: Liu & Chu, "Understanding the Prompt Sensitivity", ACL 2026, arXiv 2604.18389 (modification and misalignment).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from analysis.encoding import EncodingError, encode_target
from analysis.model import LanguageModel
from analysis.prompts import PromptSet, Row
from analysis.results import Tokens
from analysis.risky_kinds_results import (
    Alignment,
    Effect,
    KindEffects,
    KindsError,
    RiskyKinds,
    Shortfall,
    ordered,
)
from analysis.scoring import Ending, Report, endings
from analysis.significance import Ids, read_as
from analysis.variants.baselines import Spans, edit_distance
from analysis.variants.results import Proposal
from analysis.variants.rules import RULES, OptionContext, Rule, generate

COUNT = 3  # rewordings per kind and set
MAKING = 0.1  # of the work: making texts, against running them


@dataclass(frozen=True, eq=False)
class _Base:
    """A set's reference as it was run."""

    name: str
    is_first: bool  # of the sets asked for
    row: Row
    tokens: Tokens
    target: Ids
    target_text: str
    log_prob: float
    top: int
    state: np.ndarray  # [hidden]


@dataclass(frozen=True)
class _Made:
    """A rewording on its way: of which set, by which rule, and what is run."""

    base: int
    rule: str
    proposal: Proposal
    ids: Ids
    target: Ids
    own_target: bool


def risky_kinds(
    lm: LanguageModel,
    sets: Sequence[tuple[str, PromptSet]],
    *,
    rules: Sequence[Rule] = RULES,
    count: int = COUNT,
    seed: int = 0,
    protected: Spans = (),
    report: Report = lambda fraction: None,
) -> RiskyKinds:
    """At most `count` rewordings per rule of every set's reference, and their effects on the set's own target.

    `sets` are (name, set); `protected` are spans of the first one's reference that stay. A set that cannot be run is left
    out with a reason. Deterministic in the seed. `report` may raise to stop.
    Errors: KindsError where no set can be run, or where no rewording could be made.
    """
    bases, left_out = _bases(lm, sets)
    if not bases:
        reasons = "; ".join(f"{name}: {why}" for name, why in left_out)
        raise KindsError(f"no prompt can be compared ({reasons})" if reasons else "no prompt set is chosen")
    made: list[_Made] = []
    short: dict[str, list[Shortfall]] = {rule.name: [] for rule in rules}
    for number, base in enumerate(bases):
        own = protected if base.is_first else ()
        for place, rule in enumerate(rules):
            report(MAKING * (number + place / len(rules)) / len(bases))
            found, shortfall = _made(lm, number, base, rule, count, seed, own)
            made += found
            short[rule.name] += [shortfall] if shortfall else []
    if not made:
        raise KindsError("no rewording of the chosen kinds could be made")
    effects: dict[str, list[tuple[int, Effect]]] = {rule.name: [] for rule in rules}
    runs = [(one.ids, one.target) for one in made]
    for place, ending in endings(lm, runs, lambda fraction: report(MAKING + (1 - MAKING) * fraction)):
        one = made[place]
        effect = _effect(bases[one.base], one, ending)
        if effect is not None:
            effects[one.rule].append((place, effect))
    kinds = [
        KindEffects(
            rule.name,
            rule.kind,
            rule.alignment,
            tuple(effect for _, effect in sorted(effects[rule.name], key=lambda pair: pair[0])),
            tuple(short[rule.name]),
        )
        for rule in rules
    ]
    return RiskyKinds(ordered(kinds), tuple(base.name for base in bases), count, seed, tuple(left_out))


def alignment(a_ids: Sequence[int], b_ids: Sequence[int]) -> Alignment:
    """Modification: as many tokens as before, each kept or changed in its place; else later positions shift."""
    if len(a_ids) != len(b_ids):
        return "misalignment"
    changed = sum(a != b for a, b in zip(a_ids, b_ids, strict=True))
    return "modification" if edit_distance(a_ids, b_ids) == changed else "misalignment"


def _bases(lm: LanguageModel, sets: Sequence[tuple[str, PromptSet]]) -> tuple[list[_Base], list[tuple[str, str]]]:
    """Every set's reference and target, run once; and the sets that cannot be run."""
    read: list[tuple[int, Row, Tokens, Ids | None, str]] = []
    left_out: list[tuple[str, str]] = []
    for number, (name, prompt_set) in enumerate(sets):
        row = prompt_set.rows()[0]
        tokens = read_as(lm, row.prompt, row.prompt.text, 1)
        if tokens is None:
            left_out.append((name, "its reference cannot be read by this model, or is too long for it"))
            continue
        if row.target is None:
            read.append((number, row, tokens, None, ""))
            continue
        try:
            target = encode_target(lm.encoder, row.prompt, tokens, row.target)
        except EncodingError as error:
            left_out.append((name, str(error)))
            continue
        if len(tokens) + len(target) - 1 > lm.max_tokens:
            left_out.append((name, "its reference and target are too long for this model"))
            continue
        read.append((number, row, tokens, target.ids, target.text))
    found = dict(endings(lm, [(tokens.ids, target or tokens.ids[-1:]) for _, _, tokens, target, _ in read]))
    bases: list[_Base] = []
    for place, (number, row, tokens, target_ids, text) in enumerate(read):
        ending, name = found[place], sets[number][0]
        top = int(np.argmax(ending.next_log_probs))
        log_prob = float(ending.log_probs.sum(dtype=np.float64)) if target_ids else float(ending.next_log_probs[top])
        if not np.isfinite(log_prob):
            left_out.append((name, "the model returned NaN or infinity"))
            continue
        bases.append(
            _Base(
                name,
                number == 0,
                row,
                tokens,
                target_ids or (top,),
                text or lm.encoder.decode((top,)),
                log_prob,
                top,
                ending.state,
            )
        )
    return bases, left_out


def _made(
    lm: LanguageModel, number: int, base: _Base, rule: Rule, count: int, seed: int, protected: Spans
) -> tuple[list[_Made], Shortfall | None]:
    """The rewordings of one set by one rule that the model can read."""
    prompt, target = base.row.prompt, base.target
    known: dict[str, Tokens | None] = {}

    def read(text: str) -> Tokens | None:
        if text not in known:
            known[text] = read_as(lm, prompt, text, len(target))
        return known[text]

    def ids(text: str) -> Ids:
        tokens = read(text)
        return () if tokens is None else tokens.ids

    options = OptionContext(base.row.expected, base.target_text, base.row.candidates or ())
    generated = generate(prompt.text, rule, count, seed, protected=protected, options=options, ids=ids)
    found = []
    for proposal in generated.proposals:
        tokens, own = read(proposal.text), target
        if tokens is None:
            continue
        if proposal.target is not None:
            try:
                own = encode_target(lm.encoder, prompt, tokens, proposal.target).ids
            except EncodingError:
                continue
        found.append(_Made(number, rule.name, proposal, tokens.ids, own, own != target))
    if len(found) == count:
        return found, None
    unread = len(generated.proposals) - len(found)
    reason = f"{unread} cannot be read by this model, or are too long for it" if unread else generated.reason
    return found, Shortfall(base.name, len(found), count, reason)


def _effect(base: _Base, one: _Made, ending: Ending) -> Effect | None:
    """None where a number could not be computed."""
    delta = float(ending.log_probs.sum(dtype=np.float64)) - base.log_prob
    displacement = float(np.linalg.norm(ending.state.astype(np.float64) - base.state.astype(np.float64)))
    if not (np.isfinite(delta) and np.isfinite(displacement)):
        return None
    top = int(np.argmax(ending.next_log_probs))
    flipped = (top == one.target[0]) != (base.top == base.target[0]) if one.own_target else top != base.top
    pairs = zip(base.tokens.ids, one.ids, strict=False)
    first = next((k for k, (a, b) in enumerate(pairs) if a != b), min(len(base.tokens), len(one.ids)))
    typed = [k for k, role in enumerate(base.tokens.roles) if role == "text"] or [0]
    place = (first - typed[0]) / max(len(typed), 1)
    return Effect(
        base.name,
        one.proposal.text,
        delta,
        displacement,
        flipped,
        alignment(base.tokens.ids, one.ids),
        min(max(place, 0.0), 1.0),
        one.own_target,
    )
