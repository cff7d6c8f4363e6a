"""What a rewording never touches: the protected parts of a text, found by scans whose work grows with its length.

Every part has a class, because a rule whose very purpose is such a part lifts that class (and no
other): numerals lift "number", the order of options lifts "option".
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from analysis.variants import options

Class = Literal["placeholder", "option", "quote", "code", "number", "address", "marked"]

LINE_BREAK = re.compile(r"\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]")

#: Longest placeholder, quotation and brace pair that counts as one; a longer one is a slip of a mark.
_LONGEST_QUOTE = 500
_LONGEST_BRACES = 2_000
_APOSTROPHES = 6

_PLACEHOLDER = re.compile(
    r"<[A-Za-z_/|][^<>\n\r]{0,80}+>"  # <name>, </s>, <|end|>
    r"|%\([A-Za-z_]\w{0,60}\)[a-z]"  # %(name)s
    r"|%[sdfr](?!\w)"
    r"|\$[A-Za-z_]\w{0,60}"
    r"|\[\[?[A-Z][A-Z0-9_ ]{1,40}\]\]?"  # [NAME]
    r"|_{2,}"  # a blank to be filled in
)
_MONTH = (
    r"(?:Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?"
    r"|Sep(?:t(?:ember)?)?|Oct(?:ober)?|Nov(?:ember)?|Dec(?:ember)?)\.?"
)
_DATE = re.compile(rf"\b(?:{_MONTH} \d{{1,2}}(?:st|nd|rd|th)?(?:,? \d{{4}})?|\d{{1,2}}\.? {_MONTH}(?: \d{{4}})?)\b")
_NUMBER = re.compile(
    r"[$€£¥+\-−]?(?<!\w)[^\W_]*\d\w*(?:(?:[.,:/\-–\u2009\u00a0\u202f'’]|(?<=\d) (?=\d{3}(?!\d)))\d\w*)*(?: ?[%°])?"
)
_ADDRESS = re.compile(
    r"\b(?:https?|ftp|file|s3)://[^\s<>\"]+"
    r"|\bwww\.[^\s<>\"]+"
    r"|(?<![\w.+\-])[\w.+\-]{1,100}+@[\w\-]{1,63}(?:\.[\w\-]{1,63}){1,8}"
    r"|(?<![\w.\-])(?:[A-Za-z0-9\-]{1,63}\.){1,8}(?:com|org|net|io|dev|ai|edu|gov|info|app|co|uk|de|fr|es|it|ch|eu|cn|jp)"
    r"(?![\w\-])(?:/[^\s<>\"]*)?"
    r"|(?<![\w:])(?:[0-9A-Fa-f]{1,4}:){3,7}[0-9A-Fa-f]{1,4}(?!\w)"
)
_NAME_IN_CODE = re.compile(
    r"(?<![\w])(?:[A-Za-z]:\\|~/|\.{1,2}/|/)[\w.\-]+(?:[/\\][\w.\-]+)*"  # paths
    r"|(?<!\w)[A-Za-z0-9]+_\w+"  # snake_case
    r"|(?<!\w)[a-z]+[A-Z]\w*"  # camelCase
    r"|(?<![\w.])\w+(?:\.\w+)*\(\)"
    r"|(?<![\w.\-])[\w\-]{1,100}+\.(?:py|js|ts|csv|json|txt|md|html|pdf|xml|yaml|yml|toml|sh|sql|exe|png|jpg)(?!\w)"
    r"|(?<!\w)[@#]\w+"
    r"|(?<!\S)--?[a-z][\w\-]*"
)
_CODE_LINE = re.compile(
    r"[ \t]*(?:def \w+ *\(|class \w+ *[(:{]|import [a-z_][\w.]*(?:$|,| as )|from [\w.]+ import |for \w.* in .*:\s*$"
    r"|(?:if|elif|while|with) .*:\s*$|(?:else|try|finally):\s*$|except\b.*:\s*$|print\(|#include\b|#!/"
    r"|(?:async )?function \w*\(|(?:const|let|var) \w+ *=|(?:public|private|static) \w+|return\b.*;\s*$|>>> "
    r"|(?:SELECT|INSERT INTO|UPDATE|CREATE TABLE) |\w[\w.\[\]]* *[+\-*/]?= *[\w\[({\"'].*;?\s*$(?<=[;)\]}\"'])|[}\])]+[;,]?\s*$)"
)
_INDENTED = re.compile(r"(?:\t| {2,})\S")
_COMMENT = re.compile(r"[ \t]*(?:#|//)(?:\s|$)")
_QUOTES = {"“": "”", "‘": "’", "«": "»", "„": "“”", "「": "」", "『": "』", "《": "》"}


@dataclass(frozen=True)
class Span:
    """Characters [start, end) and why they are protected."""

    start: int
    end: int
    kind: Class


def protected_spans(text: str) -> tuple[tuple[int, int], ...]:
    """The characters that rewordings leave alone, as ordered spans that do not overlap.

    Placeholders, answer options with their labels, quotations, code, numbers, and web, mail and IP addresses.
    """
    return merged((span.start, span.end) for span in classified(text))


def classified(text: str) -> tuple[Span, ...]:
    """The protected parts by class, in no order; they may overlap."""
    found = [Span(start, end, "placeholder") for start, end in _braces(text)]
    for pattern, kind in _PATTERNS:
        for match in pattern.finditer(text):
            end = match.end()
            while kind == "address" and text[end - 1] in ".,;:!?)'’":
                end -= 1
            found.append(Span(match.start(), end, kind))
    found += [Span(start, end, "quote") for start, end in _quotations(text)]
    found += [Span(start, end, "code") for start, end in _code(text)]
    found += [Span(block.start, block.end, "option") for block in options.blocks(text)]
    return tuple(found)


def merged(spans: Iterable[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """The union of the spans, in order."""
    union: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if union and start < union[-1][1]:
            union[-1] = (union[-1][0], max(end, union[-1][1]))
        elif end > start:
            union.append((start, end))
    return tuple(union)


_PATTERNS: tuple[tuple[re.Pattern[str], Class], ...] = (
    (_PLACEHOLDER, "placeholder"),
    (_DATE, "number"),
    (_NUMBER, "number"),
    (_ADDRESS, "address"),
    (_NAME_IN_CODE, "code"),
)


def _braces(text: str) -> list[tuple[int, int]]:
    """Every balanced pair of braces that is not too long, with a `$` or `#` before it."""
    opened: list[int] = []
    pairs = []
    for match in re.finditer(r"[{}]", text):
        if match[0] == "{":
            opened.append(match.start())
        elif opened:
            start = opened.pop()
            if match.end() - start <= _LONGEST_BRACES:
                pairs.append((start - (start > 0 and text[start - 1] in "$#"), match.end()))
    return pairs


def _quotations(text: str) -> list[tuple[int, int]]:
    found, reached = [], 0
    for match in re.finditer(r"[\"“‘«„「『《]|(?<!\w)'(?=\S)", text):
        start, mark = match.start(), match[0]
        if start < reached:
            continue
        limit = min(len(text), start + _LONGEST_QUOTE)
        closing = _QUOTES.get(mark, mark)
        ends = [end for end in (_closing(text, one, start + 1, limit) for one in closing) if end >= 0]
        if ends and not LINE_BREAK.search(text, start, min(ends)):
            reached = min(ends) + 1
            found.append((start, reached))
    return found


def _closing(text: str, mark: str, start: int, limit: int) -> int:
    """Where the quotation ends, or -1. An apostrophe inside a word ends none, and after a few the quotation is none."""
    end = text.find(mark, start, limit)
    for _ in range(_APOSTROPHES):
        if not (mark in "'’" and 0 <= end < len(text) - 1 and text[end + 1].isalnum()):
            return end
        end = text.find(mark, end + 1, limit)
    return -1


def _code(text: str) -> list[tuple[int, int]]:
    """Fenced blocks (an open fence reaches to the end), spans between back-ticks, lines that read like code."""
    found = []
    reached = 0
    while (start := text.find("```", reached)) >= 0:
        end = text.find("```", start + 3)
        reached = len(text) if end < 0 else end + 3
        found.append((start, reached))
    found += [match.span() for match in re.finditer(r"`[^`\r\n]{1,300}+`", text)]
    lines = _lines(text)
    inside = False
    for number, (start, end) in enumerate(lines):
        line = text[start : min(end, start + 300)]
        if _CODE_LINE.match(line) or (inside and (_INDENTED.match(line) or _COMMENT.match(line))):
            if not inside and number and _COMMENT.match(text[lines[number - 1][0] : lines[number - 1][1]][:300]):
                found.append(lines[number - 1])
            inside = True
            found.append((start, end))
        elif line.strip():
            inside = False
    return found


def _lines(text: str) -> list[tuple[int, int]]:
    """The lines without their breaks."""
    spans, start = [], 0
    for match in LINE_BREAK.finditer(text):
        spans.append((start, match.start()))
        start = match.end()
    return [*spans, (start, len(text))]
