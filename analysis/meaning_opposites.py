"""Words that have become their opposites: "at least" that is "at most" now."""

import regex

from analysis.meaning_negations import as_read, negations
from analysis.meaning_text import difference, quoted

#: Opposites, one pair a line.
_PAIRS = """
at least / at most|up to
minimum|minimal|minimally / maximum|maximal|maximally
minimi[sz](?:e|es|ed|ing) / maximi[sz](?:e|es|ed|ing)
possible|possibly / impossible|impossibly
probable|probably|likely / improbable|improbably|unlikely
increas(?:e|es|ed|ing) / decreas(?:e|es|ed|ing)
always|often|frequently|usually|mostly / rarely|seldom|hardly ever|infrequently
includ(?:e|es|ed|ing) / exclud(?:e|es|ed|ing)
allow(?:s|ed)?|permit(?:s|ted)? / forbid(?:s|den)?|prohibit(?:s|ed)?
accept(?:s|ed)? / reject(?:s|ed)?|refuse[sd]?
legal|legally / illegal|illegally
round(?:s|ed|ing)? up / round(?:s|ed|ing)? down
left / right
best / worst
longest / shortest
largest|biggest|greatest / smallest|tiniest
highest|tallest / lowest
fastest|quickest / slowest
oldest / youngest|newest
hottest|warmest / coldest
agree(?:s|d)? / disagree(?:s|d)?
encourage[sd]? / discourage[sd]?
advantages?|benefits?|pros / disadvantages?|drawbacks?|cons
"""
#: Opposites that say the same when what they compare changes sides: "A before B", "B after A".
_CONVERSES = """
more than|above|over|greater than|at least / less than|fewer than|below|under|at most
more|greater / less|fewer
before / after
larger|bigger / smaller
higher|taller / lower|shorter
longer / shorter
older / younger|newer
faster|quicker / slower
heavier / lighter
hotter|warmer / colder|cooler
earlier / later
"""
#: Words that do not tell the sides of a comparison.
_NO_SIDES = frozenset({"the", "a", "an", "to", "of", "is", "are", "was", "were", "be", "than", "or", "and"})
_WORD = regex.compile(r"\w+")


def _compiled(pairs: str) -> list[list["regex.Pattern[str]"]]:
    return [
        [regex.compile(rf"(?<!\w)(?:{words})(?!\w)") for words in line.replace(" / ", "/").split("/")]
        for line in pairs.strip().splitlines()
    ]


_PLAIN, _TURNING = _compiled(_PAIRS), _compiled(_CONVERSES)


def compare(reference: str, variant: str) -> str | None:
    """Which words have become their opposites, as clauses; None where none has, or each by way of a negation.

    Of "before" and "after" it is one only where the word beside it has stayed: what they compare may change sides.
    """
    one, other = as_read(reference), as_read(variant)
    found: dict[str, str] = {}
    for pairs, turning in ((_PLAIN, False), (_TURNING, True)):
        for pair in pairs:
            for here, there in (pair, pair[::-1]):
                lost, new = _surplus(here, one, other), _surplus(there, other, one)
                for match, opposite in zip(lost, new, strict=False):
                    if not turning or _stays(match, opposite):
                        found.setdefault(match[0], opposite[0])
    turned = abs(negations(reference).cues.total() - negations(variant).cues.total())
    if not found or turned == len(found):
        return None
    return difference(list(map(quoted, found)), list(map(quoted, found.values())))


def _surplus(pattern: "regex.Pattern[str]", text: str, other: str) -> list["regex.Match[str]"]:
    """The last matches in `text`, as many as it has more than `other`."""
    matches = list(pattern.finditer(text))
    return matches[len(pattern.findall(other)) :]


def _stays(match: "regex.Match[str]", opposite: "regex.Match[str]") -> bool:
    one, other = _beside(match), _beside(opposite)
    return one == other or any(word is not None and word == also for word, also in zip(one, other, strict=True))


def _beside(match: "regex.Match[str]") -> tuple[str | None, str | None]:
    """The words before and after that tell the sides of a comparison."""
    before = _WORD.findall(match.string, max(0, match.start() - 80), match.start())
    after = _WORD.findall(match.string, match.end(), match.end() + 80)
    sides = [next((word for word in words if word not in _NO_SIDES), None) for words in (before[::-1], after)]
    return sides[0], sides[1]
