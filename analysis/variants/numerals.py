"""Numbers in digits and in words."""

import random
import re
from collections.abc import Iterator

from analysis.variants import english
from analysis.variants.source import Change, Piece, Refused, Source, combined

_TO_NINE = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
_TEENS = ("thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen")
_UNITS = (*_TO_NINE, "ten", "eleven", "twelve", *_TEENS)
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_SIGNS = {"+": "plus", "-": "minus", "−": "minus", "*": "times", "×": "times", "/": "divided by", "÷": "divided by"}
_SUM = re.compile(
    r"(?<![\w.,+\-*/×÷=()])(?<!\w )\d{1,3}(?: [+\-−*×/÷] \d{1,3}){1,6}(?![\w(])(?![.,]\d)(?! [+\-−*×/÷^(])"
)
_NUMBER = re.compile(r"(?<![\w.,:/\-–+$€£¥#%'’@])(?<![$€£¥#] )\d{1,3}(?![\w:/%°'’])(?![.,\-–]\w)(?! ?[%°])(?! \d)")
_LONG = re.compile(r"(?<![\w.,:/\-+$€£¥#])(?:\d{1,3}(?:,\d{3})+|\d{5,15})(?![\w:/%])(?![.,\-]\d)")
_WORD = re.compile(
    rf"(?<![\w\-])(?:(?:{'|'.join(_TENS)})(?:-(?:{'|'.join(_UNITS[1:10])}))?"
    rf"|{'|'.join(sorted(_UNITS, key=len, reverse=True))})(?![\w\-])",
    re.IGNORECASE,
)
#: Nouns that "one" may count; elsewhere it may be a pronoun.
_COUNTED = re.compile(
    r" (?:word|sentence|paragraph|line|letter|example|number|digit|bullet|item|answer|token|page|colou?r|phrase)\b",
    re.I,
)
_MIXED = re.compile(r" (?:hundred|thousand|million|billion|and a half|dozen|half|third|quarter)", re.I)
#: Beside these a number is a part of a sum, a sequence, a pair or a telephone number …
_NUMERAL = rf"(?:\d|(?<![a-z])(?:{'|'.join((*_UNITS, *_TENS))})(?![a-z]))"
_TIED_BEFORE = re.compile(rf"(?:{_NUMERAL}[^\w.!?]{{0,3}}|[=<>^+*×÷/(\[{{]\s*|\b[xX×] )$", re.I)
_TIED_AFTER = re.compile(
    rf"[^\w.!?]{{0,3}}{_NUMERAL}|\s*[=<>^+*×÷/)\]}}]|\s*[−-]\s*[\d(]| [xX×] |\s*\("
    r"| (?:feet|foot|hours?|minutes?|pounds?) \d"
    # … and before these of a date, a time or a measure
    r"| (?:of )?(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\b|(?:st|nd|rd|th)\b"
    r"| ?(?:a\.?m|p\.?m|o['’]clock|AD|BC|BCE|CE|percent|k?m|[cm]m|[km]?g|m?l|m?s|h|min|lb|oz|ft|mph|[kMGT]B|Hz|°\w)\b",
    re.I,
)
#: Nouns whose number is a name, also in small letters, and measures in two parts ("5 feet 3").
_NUMBERED = re.compile(
    r"(?<!\w)(?:chapter|page|section|step|figure|table|number|no\.?|year|room|level|grade|version|line|item|question|example"
    r"|class|option|part|track|volume|verse|day|week|exercise|problem|type|phase|model|row|column|size|team|group|rule|case"
    r"|feet|foot|hours?|minutes?|pounds?|\w*[a-z][A-Z]\w*) $"
)
#: What is written in digits before these is no quantity.
_CODE = re.compile(
    r"\b(?:call|dial|phone|tel|fax|zip|code|id|number|no|nr|pin|order|ticket|isbn|account|invoice|key|password|seed|port|at"
    r")(?: is)?[.:#]? ?$",
    re.I,
)


def numerals(source: Source, rng: random.Random) -> Iterator[Change]:
    """Whole numbers up to 999 in words or digits, sums in words, thousands with or without commas.

    Lifts "number" for these. Numbers that are a part of something stay: decimals, dates, years, units with a sign,
    versions, labels ("Sentence 1"), and "one" where it counts nothing.
    """
    text = source.text
    places: list[list[list[Piece]]] = []
    allowed = source.protected({"number"})
    in_english = source.is_english or re.search(r"[^\W\d_]", text) is None
    sums = [match for match in _SUM.finditer(text) if in_english and allowed.free(*match.span())]
    for match in sums:
        terms = re.findall(r"\d+|[^\d ]", match[0])
        words = " ".join(_SIGNS.get(term) or in_words(int(term)) for term in terms)
        places.append([[(*match.span(), words)]])
    inside = [match.span() for match in sums]
    for match in _NUMBER.finditer(text):
        if (
            not in_english
            or opens_list_item(text, *match.span())
            or any(start <= match.start() < end for start, end in inside)
            or not allowed.free(*match.span())
        ):
            continue
        if (
            not names_a_label(text, match.start())
            and not _is_tied(text, *match.span())
            and (match[0] == "0" or not match[0].startswith("0"))
        ):
            words = in_words(int(match[0]))
            if source.starts_sentence(match.start()) and text[: match.start()].rstrip()[-1:] not in (":", "："):
                words = words[0].upper() + words[1:]
            places.append([[(*match.span(), words)]])
    for match in _LONG.finditer(text):
        if allowed.free(*match.span()):
            plain = match[0].replace(",", "")
            after = plain if "," in match[0] else f"{int(plain):,}"
            before = text[max(0, match.start() - 30) : match.start()]
            if match[0].startswith("0") or ("," not in match[0] and (len(plain) > 9 or _CODE.search(before))):
                continue
            places.append([[(*match.span(), after)]])
    for match in _WORD.finditer(text) if in_english else ():
        after = text[match.end() : match.end() + 20]
        if (
            source.free(*match.span())
            and not _is_tied(text, *match.span())
            and not _MIXED.match(after)
            and not re.search(r"\b(?:hundred|thousand)(?: and)? $", text[max(0, match.start() - 20) : match.start()])
            and (match[0].casefold() != "one" or _COUNTED.match(after))
            and (match[0].islower() or source.starts_sentence(match.start()))
        ):
            places.append([[(*match.span(), str(_value(match[0])))]])
    if not places:
        raise Refused("the text has no number that can be written another way safely")
    places.sort(key=lambda place: place[0][0][0])
    return combined(places, rng)


def _is_tied(text: str, start: int, end: int) -> bool:
    """Whether the number is a part of something that is written as it is: a sequence, a formula, a date, a name."""
    before, after = text[max(0, start - 30) : start], text[end : end + 20]
    return bool(_TIED_BEFORE.search(before) or _NUMBERED.search(before) or _TIED_AFTER.match(after))


def opens_list_item(text: str, start: int, end: int) -> bool:
    """Whether the number is the "1." or "1)" at the start of a line."""
    return text[end : end + 1] in (".", ")") and text[max(0, start - 1) : start] in ("", "\n", "\r")


def names_a_label(text: str, start: int) -> bool:
    """Whether the number belongs to the capitalised noun before it, as in "Sentence 1"."""
    before = re.search(r"(?<!\w)([A-Z]\w*) $", text[max(0, start - 30) : start])
    return before is not None and before[1].casefold() not in english.KNOWN - english.FIELDS


def in_words(number: int) -> str:
    """0 to 999 in English."""
    if number < 20:
        return _UNITS[number]
    if number < 100:
        tens, unit = divmod(number, 10)
        return _TENS[tens - 2] + (f"-{_UNITS[unit]}" if unit else "")
    hundreds, rest = divmod(number, 100)
    return f"{_UNITS[hundreds]} hundred" + (f" and {in_words(rest)}" if rest else "")


def _value(words: str) -> int:
    first, _, unit = words.casefold().partition("-")
    tens = (_TENS.index(first) + 2) * 10 if first in _TENS else _UNITS.index(first)
    return tens + (_UNITS.index(unit) if unit else 0)
