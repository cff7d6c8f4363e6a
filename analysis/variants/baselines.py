"""Rewordings that mean the same and change a given share of the tokens: what an edit is compared with.

A share is that of edited tokens: the Levenshtein distance of the token ids over the number of the reference's.
"""

import random
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import zip_longest

import numpy as np

from analysis.prompts import CONTROL_KINDS
from analysis.variants.results import Edit, Generated, Proposal
from analysis.variants.rules import RULES, OptionContext, Rule, generate

Ids = tuple[int, ...]
Spans = Sequence[tuple[int, int]]
Report = Callable[[float], object]

PER_RULE = 6  # single edits of one rule
STEPS = 16  # edits made one after another, at most
AGAIN = 3  # of them by one rule: five typos in one word would leave no word
MISSES = 12  # edits that led nowhere before an attempt is given up
LONGEST = 1_500  # characters: of longer texts fewer attempts are made, since each takes longer


@dataclass(frozen=True)
class Candidate:
    """One such rewording, with the rules that made it, one after another."""

    text: str
    ids: Ids
    rules: tuple[str, ...]
    share: float


def token_edit_share(a_ids: Sequence[int], b_ids: Sequence[int]) -> float:
    """Levenshtein distance of two sequences of token ids / length of the first, the reference.

    1 2 3 4 → 1 9 3 4 5 is 50 %. More than 100 % where the second is much longer.
    """
    return edit_distance(a_ids, b_ids) / max(len(a_ids), 1)


def edit_distance(a_ids: Sequence[int], b_ids: Sequence[int]) -> int:
    """The least number of tokens to be put in, taken out or exchanged (Levenshtein 1966); a row at a time."""
    a, b = np.asarray(a_ids, dtype=np.int64), np.asarray(b_ids, dtype=np.int64)
    size = min(len(a), len(b))
    head = int(np.argmin(np.append(a[:size] == b[:size], False)))
    a, b = a[head:], b[head:]
    size = min(len(a), len(b))
    tail = int(np.argmin(np.append(a[::-1][:size] == b[::-1][:size], False)))
    a, b = a[: len(a) - tail], b[: len(b) - tail]
    if len(a) < len(b):
        a, b = b, a
    steps = np.arange(len(b) + 1)
    row = steps
    for place, token in enumerate(a):
        # Taking out or exchanging needs the row before; putting in runs along the row.
        new = np.empty_like(row)
        new[0] = place + 1
        np.minimum(row[1:] + 1, row[:-1] + (b != token), out=new[1:])
        row = np.minimum.accumulate(new - steps) + steps
    return int(row[-1])


def meaning_preserving(rules: Iterable[Rule] = RULES) -> tuple[Rule, ...]:
    """The rules without the controls, and without the order of options, which moves the right answer."""
    return tuple(rule for rule in rules if rule.kind not in (*CONTROL_KINDS, "option order"))


def baselines(
    text: str,
    ids_of: Callable[[str], Ids | None],
    window: tuple[float, float],
    count: int,
    seed: int,
    *,
    protected: Spans = (),
    options: OptionContext | None = None,
    apart_from: Collection[Ids] = (),
    ending: str = "",
    rules: Sequence[Rule] | None = None,
    report: Report = lambda fraction: None,
) -> tuple[Candidate, ...]:
    """At most `count` rewordings of `text` whose share of edited tokens lies in `window`, distinct by their ids.

    `ids_of` gives the ids that a text is compared by, None where it cannot be read; `apart_from` are ids that none
    may have, besides the reference's. All end in `ending`, as `text` does. Edits of one rule come first, the rules in
    turn; where these are too few, edits are made one after another, until a share is reached that is drawn from the
    window, so that their shares do not crowd at its lower end. The result depends on the arguments alone.
    """
    reference = ids_of(text)
    if reference is None or count < 1:
        return ()
    rules = meaning_preserving() if rules is None else rules
    low, high = window
    spans = (*protected, *([(len(text) - len(ending), len(text))] if ending else []))
    taken = {reference, *apart_from}
    found: list[Candidate] = []

    def keep(new: str, made_by: tuple[str, ...]) -> bool:
        ids = ids_of(new) if new.endswith(ending) else None
        if ids is None or ids in taken or not low <= (share := token_edit_share(reference, ids)) <= high:
            return False
        taken.add(ids)
        found.append(Candidate(new, ids, made_by, share))
        return True

    singles = _in_turn([_safe(generate(text, r, PER_RULE, seed, protected=spans, options=options)) for r in rules])
    for proposal in singles:
        if len(found) == count:
            break
        keep(proposal.text, (proposal.rule,))
    attempts = 3 * count + 30
    attempts = attempts if len(text) <= LONGEST else max(count, attempts * LONGEST // len(text))
    for attempt in range(attempts):
        if len(found) == count:
            break
        report(max(len(found) / count, attempt / attempts))
        random_of = random.Random(f"{seed}/{attempt}")
        goal = random_of.uniform(low, high)
        made = _composed(text, reference, ids_of, goal, high, rules, random_of, spans, options, ending)
        if made is not None:
            keep(*made)
    return tuple(found)


def moved(spans: Spans, edits: Sequence[Edit]) -> tuple[tuple[int, int], ...]:
    """Where spans that the edits leave alone are after them."""
    return tuple(
        (start + shift, end + shift)
        for start, end in spans
        for shift in [sum(len(edit.after) - len(edit.before) for edit in edits if edit.end <= start)]
    )


def _safe(made: Generated) -> list[Proposal]:
    """Those that leave the right answer where it is."""
    return [one for one in made.proposals if one.expected is None and one.target is None]


def _in_turn(groups: Sequence[Sequence[Proposal]]) -> list[Proposal]:
    """The first of every group, then the second …"""
    return [one for layer in zip_longest(*groups) for one in layer if one is not None]


def _composed(
    text: str,
    reference: Ids,
    ids_of: Callable[[str], Ids | None],
    goal: float,
    high: float,
    rules: Sequence[Rule],
    random_of: random.Random,
    protected: Spans,
    options: OptionContext | None,
    ending: str,
) -> tuple[str, tuple[str, ...]] | None:
    """Edits one after another until the share reaches `goal`; one that would lead over `high` is not made."""
    current, spans, made_by, misses = text, tuple(protected), list[str](), 0
    while len(made_by) < STEPS and misses < MISSES:
        left = [rule for rule in rules if made_by.count(rule.name) < AGAIN]
        if not left:
            break
        rule = random_of.choice(left)
        proposals = _safe(generate(current, rule, 1, random_of.randrange(2**31), protected=spans, options=options))
        ids = ids_of(proposals[0].text) if proposals and proposals[0].text.endswith(ending) else None
        share = None if ids is None else token_edit_share(reference, ids)
        if share is None or share > high:
            misses += 1
            continue
        proposal = proposals[0]
        current, spans = proposal.text, moved(spans, proposal.edits)
        made_by.append(proposal.rule)
        if share >= goal:
            return current, tuple(made_by)
    return None
