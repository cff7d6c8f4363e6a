"""The numbers of a text, in digits and in English words, and whether another text says the same ones."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import regex

from analysis.meaning_text import Item, difference
from analysis.meaning_units import Beside, beside

_BELOW_TWENTY = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen"
    " eighteen nineteen"
)
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
_CARDINALS = {word: value for value, word in enumerate(_BELOW_TWENTY.split())}
_CARDINALS |= {word: 10 * value for value, word in enumerate(_TENS.split(), start=2)} | {"fourty": 40}
_SCALES = {"hundred": 100, "thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12}
_IRREGULAR = {
    "first": 1, "second": 2, "third": 3, "fifth": 5, "eighth": 8, "ninth": 9, "twelfth": 12,
}  # fmt: skip
_ORDINALS = {f"{word}th": value for word, value in _CARDINALS.items() if value and value not in _IRREGULAR.values()}
_ORDINALS = {word: value for word, value in _ORDINALS.items() if not word.endswith("yth")} | _IRREGULAR
_ORDINALS |= {f"{word[:-1]}ieth": value for word, value in _CARDINALS.items() if word.endswith("y")}

_WORD = "|".join(sorted([*_CARDINALS, *_ORDINALS, *_SCALES, "dozen"], key=len, reverse=True))
_RUN = regex.compile(
    rf"(?<!\w)(?:a\s+(?=(?:{'|'.join(_SCALES)}|dozen)\b))?(?:{_WORD})(?:(?:[\s-]|\s+and\s)\s*(?:{_WORD}))*(?!\w)",
    regex.IGNORECASE,
)
_PERCENT = regex.compile(r"\s?%|\s+per\s?cent\b", regex.IGNORECASE)
_SCALED = regex.compile(r"\s(hundred|thousand|million|billion|trillion)\b|(k)\b", regex.IGNORECASE)
_ORDINAL = regex.compile(r"(?:st|nd|rd|th)\b", regex.IGNORECASE)
_GROUPED = r"""\d{1,3}(?:[,'_\u00a0\u202f\u2009]\d{3})++(?!\d)(?:\.\d++)?+
             | \d{1,2}(?:,\d{2})+,\d{3}(?!\d)
             | \d{1,3}(?:\.\d{3}){2,}+(?!\d)"""
_DIGITS = r"(?<!\w)(?:(?<![\w)\].,'-])[-−])?(?:{}|\d++(?:(?<!\d\.\d+)\.\d++(?!\.\d))?+)"
_READINGS = tuple(
    regex.compile(_DIGITS.format(grouped), regex.VERBOSE)
    for grouped in (_GROUPED, _GROUPED + r"| [1-9]\d{0,2}(?:[ ]\d{3})++(?!\d)")
)
_HALF = regex.compile(r"(?<!\w)half(?=\s+(?:of|the|its|their|our|your|my|his|her)\b)", regex.IGNORECASE)
_MONTH = (
    r"(?:(?i:january|february|march|april|june|july|august|september|october|november|december)|May"
    r"|(?i:jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec)\b\.?)"
)
_MONTH_BEFORE = regex.compile(rf"(?<!\w){_MONTH}\s+(?:the\s+)?$")
_MONTH_AFTER = regex.compile(rf"\s+(?:of\s+)?{_MONTH}(?!\w)")
_DEFINITE = regex.compile(r"\b(?:the|these|those|all|its|their|our|your|my|both)\s+$", regex.IGNORECASE)


@dataclass(frozen=True)
class Number:
    """A number in a text; `sort` is "" for a plain one, "%" or "th".

    A loose number may be there or not, though not become another: in words, "one", "first" and "second" are often
    none, and "the two" only says how many there are. `counts` marks a plain "two", which may be added.
    """

    start: int
    end: int
    shown: str
    value: Fraction
    sort: str = ""
    loose: bool = False
    counts: bool = False

    @property
    def key(self) -> tuple[Fraction, str]:
        return self.value, self.sort


def numbers(text: str, *, blanks: bool = True) -> list[Number]:
    """The numbers in their order; with `blanks`, "1 000" is one thousand.

    Digits that follow a letter (H2O, x2) are part of a name.
    """
    found = [_in_digits(text, match) for match in _READINGS[blanks].finditer(text)]
    taken = {place for number in found for place in range(number.start, number.end)}
    for match in _RUN.finditer(text):
        if taken.isdisjoint(range(*match.span())):  # "5 million" is read already
            found += _in_words(text, match)
    found += [
        Number(match.start(), match.end(), f"'{match[0]}'", Fraction(50), "%", loose=True)
        for match in _HALF.finditer(text)
    ]
    return [_day(text, number) for number in sorted(found, key=lambda number: number.start)]


def _day(text: str, number: Number) -> Number:
    """A day of the month is the same with "th" and without."""
    if number.sort != "th" or not (
        _MONTH_BEFORE.search(text, max(0, number.start - 16), number.start) or _MONTH_AFTER.match(text, number.end)
    ):
        return number
    return replace(number, sort="", loose=False)


def compare(reference: str, variant: str, labels: frozenset[Fraction] = frozenset()) -> str | None:
    """What differs between the numbers of two texts and the units and signs beside them, as clauses, or None.

    `labels` are the values of option labels that differ on purpose: what mentions them may be missing. A number that
    only one text repeats is no difference, unless the copies are close together, as in "2 + 2". A blank between digits may
    group or separate, so texts are the same where they are in any reading.
    """
    found = []
    for one, other in ((True, True), (False, False), (True, False), (False, True)):
        readings = [
            (text, [replace(number, loose=True) if number.value in labels else number for number in read])
            for text, read in (
                (reference, numbers(reference, blanks=one)),
                (variant, numbers(variant, blanks=other)),
            )
        ]
        found.append(_difference(*readings) or _beside(*readings))
        if found[-1] is None:
            return None
    return found[0]


def items(text: str) -> list[Item]:
    return [Item(number.start, number.end, number.shown, number.key) for number in numbers(text)]


Reading = tuple[str, Sequence[Number]]


def _difference(reference: Reading, variant: Reading) -> str | None:
    missing, added = _leftover(reference[1], variant[1]), _leftover(variant[1], reference[1])
    copies, other_copies = _apart(reference, missing, variant[1]), _apart(variant, added, reference[1])
    if not (copies and other_copies):
        missing = [number for number in missing if number.start not in copies]
        added = [number for number in added if number.start not in other_copies]
    exchange = not {number.sort for number in missing}.isdisjoint(number.sort for number in added)
    if not exchange:
        missing = [number for number in missing if not number.loose]
        added = [number for number in added if not (number.loose or number.counts)]
    return difference([number.shown for number in missing], [number.shown for number in added])


def _leftover(numbers: Sequence[Number], others: Sequence[Number]) -> list[Number]:
    """The numbers that have no counterpart; strict ones find theirs first."""
    free = Counter(other.key for other in others)
    left = []
    for number in sorted(numbers, key=lambda number: number.loose):
        if free[number.key]:
            free[number.key] -= 1
        else:
            left.append(number)
    return sorted(left, key=lambda number: number.start)


def _apart(reading: Reading, left: Sequence[Number], others: Sequence[Number]) -> frozenset[int]:
    """The starts of those of `left` that the other text has less often, three words or more after the copy before."""
    text, found = reading
    keys = {other.key for other in others}
    if keys.isdisjoint(number.key for number in left):
        return frozenset()
    ends: dict[tuple[Fraction, str], int] = {}
    close = set()
    for number in found:
        if number.key in ends and len(_TOKEN.findall(text, ends[number.key], number.start)) < 3:
            close.add(number.start)
        ends[number.key] = number.end
    return frozenset(number.start for number in left if number.key in keys and number.start not in close)


_TOKEN = regex.compile(r"\w+")


def _beside(reference: Reading, variant: Reading) -> str | None:
    """A number with another unit or sign; one that has none in either text is no difference."""
    one, other = _by_key(reference), _by_key(variant)
    for key in one.keys() & other.keys():
        for part in ("unit", "sign", "operator"):
            there, here = (
                {getattr(item, part): item for item in items if getattr(item, part)} for items in (one[key], other[key])
            )
            lost = [there[name] for name in there.keys() - here.keys()]
            new = [here[name] for name in here.keys() - there.keys()]
            if lost and new:
                return difference(
                    [f"'{reference[0][item.start : item.end].strip()}'" for item in lost],
                    [f"'{variant[0][item.start : item.end].strip()}'" for item in new],
                )
    return None


def _by_key(reading: Reading) -> dict[tuple[Fraction, str], list[Beside]]:
    text, found = reading
    by_key: dict[tuple[Fraction, str], list[Beside]] = {}
    for number in found:
        by_key.setdefault(number.key, []).append(beside(text, number.start, number.end))
    return by_key


def _in_digits(text: str, match: "regex.Match[str]") -> Number:
    body, end, sort = match[0], match.end(), ""
    if body.count(".") > 1:
        body = body.replace(".", "")
    value = Fraction(regex.sub(r"[,'_\s]", "", body.replace("−", "-")))
    if (scaled := _SCALED.match(text, end)) is not None:
        value *= 1000 if scaled[2] else _SCALES[scaled[1].lower()]
        end = scaled.end()
    if (suffix := _ORDINAL.match(text, end)) is not None:
        end, sort = suffix.end(), "th"
    elif (percent := _PERCENT.match(text, end)) is not None:
        end, sort = percent.end(), "%"
    return Number(match.start(), end, text[match.start() : end], value, sort)


def _in_words(text: str, match: "regex.Match[str]") -> list[Number]:
    """The numbers of a run of number words: "two thousand and five" is one, "two and three" are two."""
    found: list[Number] = []
    total, current = 0, None  # of the number so far: whole thousands, and what is below
    start = end = match.start()
    smallest = 10**15  # the last scale, which the next one has to stay below

    def finish(sort: str = "") -> None:
        nonlocal total, current, smallest
        if current is not None or total:
            found.append(_worded(text, start, end, total + (current or 0), sort))
        total, current, smallest = 0, None, 10**15

    joined = ""
    for word in regex.finditer(r"\w+", match[0].lower()):
        name, place = word[0], match.start() + word.start()
        if name in ("and", "a"):
            joined = name
            continue
        value = _CARDINALS.get(name, _ORDINALS.get(name))
        if value is not None:
            open_hundreds = (current is not None and current % 100 == 0 and current > 0) or (current is None and total)
            open_tens = current is not None and current % 100 in range(20, 100, 10) and 0 < value < 10
            if not (open_hundreds or (open_tens and joined != "and")):
                finish()
                start = place
            current = (current or 0) + value
            end = match.start() + word.end()
            if name in _ORDINALS:
                finish("th")
        elif name == "dozen" or name == "hundred":
            times = 12 if name == "dozen" else 100
            if current is None or not 0 < current < 100:
                finish()
                start, current = place, 1
            current *= times
            end = match.start() + word.end()
        else:
            scale = _SCALES[name]
            if current is None or scale >= smallest:
                finish()
                start, current = place, 1
            total, current, smallest = total + current * scale, None, scale
            end = match.start() + word.end()
        joined = ""
    finish()
    if found and (percent := _PERCENT.match(text, match.end())) is not None:
        last = found.pop()
        found.append(Number(last.start, percent.end(), text[last.start : percent.end()], last.value, "%"))
    return found


def _worded(text: str, start: int, end: int, value: int, sort: str) -> Number:
    definite = _DEFINITE.search(text, max(0, start - 12), start) is not None
    loose = definite or value == 1 or (sort == "th" and value == 2)
    return Number(start, end, f"'{text[start:end]}'", Fraction(value), sort, loose, counts=value == 2)
