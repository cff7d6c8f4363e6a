"""What the Variants page says in its first lines."""

from collections import Counter
from collections.abc import Sequence

from analysis.judgement import FLAG_BELOW, Judged


def proposals(judged: Sequence[Judged], reference: str, chosen: bool = True, waiting: bool = False) -> str:
    """How many rewordings there are, of how many kinds, and how many of them are in doubt.

    `chosen`: some kind was chosen; `waiting`: the model has not been asked for its paraphrases yet.
    """
    if not reference.strip():
        return "The reference is empty: type a prompt, and its rewordings stand here."
    if not judged:
        if waiting:
            return "The model has not been asked for paraphrases yet."
        if not chosen:
            return "Choose kinds of rewording, and proposals stand here."
        return "No rewording of the chosen kinds could be made of this prompt."
    meant = [one for one in judged if not one.is_control]
    sentence = f"{_count(len(judged), 'rewording')} of {_count(len({one.proposal.rule for one in judged}), 'kind')}"
    if meant:
        failed = sum(not one.passes for one in meant)
        passing = "all pass the hard checks of their meaning" if len(meant) > 1 else "it passes every hard check"
        sentence += f": {f'{failed} of {len(meant)} may mean something else' if failed else passing}"
        if low := sum(one.similarity is not None and one.similarity < FLAG_BELOW for one in meant):
            sentence += f"; {low} {'is' if low == 1 else 'are'} less similar than {FLAG_BELOW:.2f}"
    negative = sum(one.proposal.kind == "negative control" for one in judged)
    if negative:
        sentence += f"; {_count(negative, 'negative control')} {'changes' if negative == 1 else 'change'} the meaning on purpose"
    if there := sum(one.there for one in judged):
        sentence += f"; {there} {'is' if there == 1 else 'are'} in the set"
    if aside := len(judged) - len(meant) - negative:
        sentence += f"; {_count(aside, 'control')} {'adds' if aside == 1 else 'add'} what has nothing to do with it"
    return f"{sentence}."


def labels(judged: Sequence[Judged], taken: Sequence[str]) -> list[str]:
    """A name for each: its rule and a number, the next that the set does not use."""
    used = set(taken)
    counts: Counter[str] = Counter()
    found = []
    for one in judged:
        rule = one.proposal.rule
        while True:
            counts[rule] += 1
            label = f"{rule} {counts[rule]}"
            if label not in used:
                break
        used.add(label)
        found.append(label)
    return found


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
