"""What the meaning checks share: text with what cannot be seen taken out, and things that have changed places."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import regex

_UNSEEN = regex.compile(r"\p{DI}")
_LETTERS = regex.compile(r"\p{L}++")
_LATIN_LETTER = regex.compile(r"\p{Latin}")
_LATIN = str.maketrans("аеорсхуіѕјһԁԛԝАВЕКМНОРСТХУІЅЈοΑΒΕΖΗΙΚΜΝΟΡΤΥΧ", "aeopcxyisjhdqwABEKMHOPCTXYISJoABEZHIKMNOPTYX")
_APOSTROPHES = str.maketrans(dict.fromkeys("’‘ʼ＇´ˈ‛", "'"))
#: What stands between things of a list whose order says nothing.
_LISTED = regex.compile(r"[\s,;&+*×·()]|\band\b|\bor\b|\bplus\b|\btimes\b|\bund\b|\bet\b|\by\b", regex.IGNORECASE)
_BLANKS = regex.compile(r"\s+")
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


def one_blank(text: str) -> str:
    """The text with one blank, or one line break, where there are several."""
    return _BLANKS.sub(lambda match: "\n" if "\n" in match[0] else " ", text)


def mended(text: str, other: str, words: Collection[str]) -> str:
    """`text` with the slips of the keyboard in `words`, small, undone where `other` has the word itself."""
    found = set(_WORDS.findall(text.casefold()))
    for word in set(words) & set(_WORDS.findall(other.casefold())):
        for slip in found - set(words):
            if _is_slip(slip, word):
                text = regex.sub(rf"(?<!\w){slip}(?!\w)", word, text, flags=regex.IGNORECASE)
    return text


_ROWS = ("qwertyuiop", "asdfghjkl", "zxcvbnm")
_KEYS = {key: (number, place) for number, row in enumerate(_ROWS) for place, key in enumerate(row)}


def _is_slip(slip: str, word: str) -> bool:
    """Whether two letters are exchanged, or one is left out, doubled or its neighbour; the first and last stay."""
    if len(word) < 4 or abs(len(slip) - len(word)) > 1 or (slip[:1], slip[-1:]) != (word[0], word[-1]):
        return False
    if len(slip) != len(word):
        longer, shorter = sorted((slip, word), key=len, reverse=True)
        cut = [place for place in range(len(longer)) if longer[:place] + longer[place + 1 :] == shorter]
        return bool(cut) and (longer == word or any(longer[at] in (longer[at - 1], longer[at + 1]) for at in cut))
    changed = [place for place, (one, two) in enumerate(zip(slip, word, strict=True)) if one != two]
    if len(changed) == 2:
        one, two = changed
        return two == one + 1 and (slip[one], slip[two]) == (word[two], word[one])
    return len(changed) == 1 and _are_near(slip[changed[0]], word[changed[0]])


def _are_near(key: str, other: str) -> bool:
    if key not in _KEYS or other not in _KEYS:
        return False
    (row, place), (other_row, other_place) = sorted((_KEYS[key], _KEYS[other]))
    return (other_row - row, place - other_place) in ((0, -1), (1, 0), (1, 1))


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
