"""What the meaning checks share: text with what cannot be seen taken out, and things that have changed places."""

from collections.abc import Sequence
from dataclasses import dataclass

import regex

_UNSEEN = regex.compile(r"\p{DI}")
_LETTERS = regex.compile(r"\p{L}++")
_LATIN_LETTER = regex.compile(r"\p{Latin}")
_LATIN = str.maketrans("аеорсхуіѕјһԁԛԝАВЕКМНОРСТХУІЅЈοΑΒΕΖΗΙΚΜΝΟΡΤΥΧ", "aeopcxyisjhdqwABEKMHOPCTXYISJoABEZHIKMNOPTYX")
_APOSTROPHES = str.maketrans(dict.fromkeys("’‘ʼ＇´ˈ‛", "'"))
#: What stands between things of a list whose order says nothing.
_LISTED = regex.compile(r"[\s,;&+*×·()]|\band\b|\bor\b|\bplus\b|\btimes\b|\bund\b|\bet\b|\by\b", regex.IGNORECASE)
_WORDS = regex.compile(r"[\p{L}\p{M}\p{N}]+")


@dataclass(frozen=True)
class Item:
    """Characters [start, end) of a text, and what they stand for: a number or a name."""

    start: int
    end: int
    shown: str
    key: object


def plain(text: str) -> str:
    """The text as it is read: no invisible characters, straight apostrophes, Latin letters for their look-alikes."""
    seen = _UNSEEN.sub("", text).translate(_APOSTROPHES)
    return _LETTERS.sub(lambda match: match[0].translate(_LATIN) if _LATIN_LETTER.search(match[0]) else match[0], seen)


def exchanged(reference: str, items: Sequence[Item], variant: str, others: Sequence[Item]) -> str | None:
    """Which things have changed places where nothing else differs, as a clause; None where none have.

    The order of a list ("2 + 3", "Romeo and Juliet"), of lines and of whole options says nothing.
    """
    keys, other_keys = [item.key for item in items], [item.key for item in others]
    if keys == other_keys or sorted(map(repr, keys)) != sorted(map(repr, other_keys)):
        return None
    if _without(reference, items) != _without(variant, others):
        return None
    if sorted(map(_words, reference.splitlines())) == sorted(map(_words, variant.splitlines())):
        return None
    places = [place for place, (one, other) in enumerate(zip(keys, other_keys, strict=True)) if one != other]
    between = reference[items[places[0]].end : items[places[-1]].start]
    for item in items[places[0] + 1 : places[-1]]:
        between = between.replace(item.shown, "")
    if not _LISTED.sub("", between):
        return None
    return f"{listed([items[place].shown for place in places])} have changed places"


def _without(text: str, items: Sequence[Item]) -> list[str]:
    """The words of a text with a mark in place of each item."""
    pieces, end = [], 0
    for item in items:
        pieces += [text[end : item.start], " \N{REPLACEMENT CHARACTER} "]
        end = item.end
    return _words("".join([*pieces, text[end:]]), _MARKED)


_MARKED = regex.compile(r"[\p{L}\p{M}\p{N}]+|\N{REPLACEMENT CHARACTER}")


def _words(text: str, pattern: "regex.Pattern[str]" = _WORDS) -> list[str]:
    return pattern.findall(text.casefold())


def difference(missing: Sequence[str], added: Sequence[str]) -> str | None:
    """What is missing and what is added, as clauses; None where nothing is."""
    if not missing and not added:
        return None
    if len(missing) == len(added):
        return "; ".join(f"{one} became {other}" for one, other in zip(missing, added, strict=True))
    return "; ".join(
        f"{listed(some)} {'is' if len(some) == 1 else 'are'} {what}"
        for some, what in ((missing, "missing"), (added, "added"))
        if some
    )


def quoted(text: str) -> str:
    """The text between quotation marks, cut where it is long."""
    return f"'{text}'" if len(text) <= 60 else f"'{text[:59]}…'"


def listed(parts: Sequence[str]) -> str:
    """ "a", "a and b", "a, b and c"; at most five, then how many more."""
    shown = [*parts[:5], *([f"{len(parts) - 5} more"] if len(parts) > 5 else [])]
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"
