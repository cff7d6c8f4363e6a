"""What stands beside a number: its unit or currency, the sign that compares it, and the operator."""

from dataclasses import dataclass

import regex

#: A group a name, its other names after it.
_ALIASES = """
$ dollar dollars usd us$|€ euro euros eur|£ gbp|¥ yen jpy|₹ rupee rupees inr|cent cents
km kilometer kilometers kilometre kilometres|mile miles|meter meters metre metres|foot feet ft|inch inches|yard yards
cm centimeter centimeters centimetre centimetres|mm millimeter millimeters millimetre millimetres|km/h kph|mph
kg kilo kilos kilogram kilograms|gram grams|mg milligram milligrams|lb lbs|ounce ounces oz|ton tons tonne tonnes
second seconds sec secs|minute minutes min mins|hour hours hr hrs|day days|week weeks|month months|year years
am a.m|pm p.m|decade decades|century centuries|celsius °c|fahrenheit °f|kelvin|ml milliliter milliliters millilitre millilitres
liter liters litre litres|gallon gallons|kb kilobyte kilobytes|mb megabyte megabytes|gb gigabyte gigabytes
tb terabyte terabytes|word words|sentence sentences|paragraph paragraphs|page pages|watt watts|kilowatt kilowatts
letter letters character characters
"""
_GROUPS = [group.split() for group in _ALIASES.strip().replace("\n", "|").split("|")]
_UNITS = {alias: group[0] for group in _GROUPS for alias in group}
_NAMES = "|".join(sorted(map(regex.escape, _UNITS), key=len, reverse=True))
_BEFORE = regex.compile(r"(?:(?<!\w)(?:us\$|usd|eur|gbp|jpy|inr)|[$€£¥₹])\s?$", regex.IGNORECASE)
_AFTER = regex.compile(rf"[\s-]?(?:degrees?\s|°\s(?=[cf]\b))?({_NAMES})(?![\w/])", regex.IGNORECASE)
_SYMBOL = regex.compile(r"\s?([$€£¥₹])")
_SIGN = r">=|<=|≥|≤|>|<|!=|≠|==?"
#: An arrow is no sign, nor is the mark of a list.
_SIGN_BEFORE = regex.compile(rf"(?<![=<>!~|:-])({_SIGN})\s?$")
_OPERATOR = regex.compile(r"(?<=(?:\d|\)|(?<!\w)[a-z])\s)([-+*/×÷−^–])\s$")
_SIGN_AFTER = regex.compile(rf"\s?({_SIGN})(?![=<>])")
_TURNED = {">": "<", "<": ">", ">=": "<=", "<=": ">="}
_SAME = {"≥": ">=", "≤": "<=", "≠": "!=", "==": "=", "×": "*", "÷": "/", "−": "-", "–": "-"}


@dataclass(frozen=True)
class Beside:
    """A unit, a sign of comparison and an operator, each "" where there is none; [start, end) holds them all."""

    start: int
    end: int
    unit: str
    sign: str
    operator: str


def beside(text: str, start: int, end: int) -> Beside:
    """What stands beside the number [start, end). "5 < x" has the sign of "x > 5"."""
    first, last, unit, sign, operator = start, end, "", "", ""
    if (match := _BEFORE.search(text, max(0, start - 5), start)) is not None:
        first, unit = match.start(), _UNITS[match[0].strip().casefold()]
    elif (match := _AFTER.match(text, end)) is not None or (match := _SYMBOL.match(text, end)) is not None:
        last, unit = match.end(), _UNITS[match[1].casefold()]
    if (match := _OPERATOR.search(text, max(0, first - 8), first)) is not None:
        first, operator = match.start(), _SAME.get(match[1], match[1])
    if (match := _SIGN_BEFORE.search(text, max(0, first - 8), first)) is not None:
        first, sign = match.start(), _SAME.get(match[1], match[1])
    elif (match := _SIGN_AFTER.match(text, last)) is not None:
        turned = _SAME.get(match[1], match[1])
        last, sign = match.end(), _TURNED.get(turned, turned)
    return Beside(first, last, unit, sign, operator)
