"""How a tokenised prompt is cut into cells that people can read, and how a cell's text is shown.

A tokenizer cuts text where it likes, also inside a character. Cells are the smallest groups of
tokens that cut no user-visible character (UAX #29 grapheme cluster), or unions of those: words,
sentences, lines. Text is never lost: the cells' texts put together are the prompt.
"""

import html
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, cast

import numpy as np
import regex
from jaxtyping import Float

from analysis.results import Tokens

Grouping = Literal["token", "word", "sentence", "line"]
GROUPINGS: tuple[Grouping, ...] = ("token", "word", "sentence", "line")

_CLUSTER = regex.compile(r"\X")
_WORD_BOUNDARY = regex.compile(r"(?w)\b")


@dataclass(frozen=True)
class Cell:
    """Neighbouring tokens that are shown as one piece of text.

    `text` is characters `start` to `end` of the prompt, and holds whole characters. `tokens` are
    the positions of its tokens; it is empty only where a tokenizer made no token of the whole text.
    `role` is the first token's; `control` says that every token of the cell is a control token.
    `name` is the text, or, where the text is empty (a BOS that the tokenizer added), the piece.
    """

    text: str
    start: int
    end: int
    tokens: range
    role: str
    control: bool
    name: str


def cells(tokens: Tokens, by: Grouping = "token") -> tuple[Cell, ...]:
    """`tokens` in cells, in order; every token is in exactly one.

    "token" cells are the smallest. A larger unit takes each token cell that has most of its
    characters in it (the earlier unit where they are even), ends where the role changes, and holds
    no control token besides itself and no token without text: these stay cells of their own. Text
    that the tokenizer left out belongs to the next token, at the end to the last one.
    """
    smallest = _token_cells(tokens)
    if by == "token":
        return smallest
    ends = {"word": _word_ends, "sentence": _sentence_ends, "line": _line_ends}[by](tokens.text)
    groups: list[list[Cell]] = []
    last = (-1, "")
    for cell, unit in zip(smallest, _units_of(smallest, ends), strict=True):
        alone = cell.control or not cell.text
        key = (unit, cell.role)
        if alone or key != last:
            groups.append([])
        groups[-1].append(cell)
        last = (-1, "") if alone else key
    return tuple(_joined(group) for group in groups)


def grouped(
    scores: Float[np.ndarray, "*axes token"], groups: Sequence[Cell], magnitude: bool = False
) -> Float[np.ndarray, "*axes cell"]:
    """Token scores summed to cells; of their absolute values in a magnitude view.

    Float64. A score that could not be computed (NaN) makes its cell's sum NaN, not 0.
    """
    values = np.asarray(scores, dtype=np.float64)
    if values.shape[-1] != sum(len(cell.tokens) for cell in groups):
        raise ValueError(f"{values.shape[-1]} scores for {sum(len(cell.tokens) for cell in groups)} tokens")
    values = np.abs(values) if magnitude else values
    sums = [values[..., cell.tokens.start : cell.tokens.stop].sum(axis=-1) for cell in groups]
    return np.stack(sums, axis=-1) if sums else values[..., :0]


def by_role(
    tokens: Tokens, scores: Float[np.ndarray, " token"], magnitude: bool = False
) -> dict[str, tuple[int, float]]:
    """Tokens and summed score (of absolute values in a magnitude view) of every role, in order of first appearance."""
    values = np.abs(scores) if magnitude else np.asarray(scores)
    places = {role: [t for t, own in enumerate(tokens.roles) if own == role] for role in dict.fromkeys(tokens.roles)}
    return {role: (len(own), float(values[own].sum(dtype=np.float64))) for role, own in places.items()}


def graphemes(text: str) -> list[str]:
    """The user-visible characters of `text`: extended grapheme clusters of UAX #29."""
    return cast(list[str], _CLUSTER.findall(text))


def words(text: str) -> list[str]:
    """`text` in words, blanks and marks, after UAX #29; scripts without blanks come out by character."""
    cuts = sorted({0, len(text), *(match.start() for match in _WORD_BOUNDARY.finditer(text))})
    return [text[start:end] for start, end in itertools.pairwise(cuts)]


# --- from token spans to cells


def _token_cells(tokens: Tokens) -> tuple[Cell, ...]:
    text = tokens.text
    if not tokens.ids:
        return (Cell(text, 0, len(text), range(0), "text", False, text),) if text else ()
    floor, ceiling = _cluster_bounds(text)
    groups: list[tuple[int, int, int]] = []  # the first token, and the characters from its own spans
    for index, (start, end) in enumerate(tokens.spans):
        start, end = max(0, min(start, len(text))), max(0, min(end, len(text)))
        if end <= start:  # a lone blank, trimmed from the offsets, or a token that stands for no text
            start = end = groups[-1][2] if groups and _stands_for_no_text(tokens, index) else ceiling[end]
        else:
            start, end = floor[start], ceiling[end]
        first = index
        while groups and groups[-1][2] > start:  # both hold a part of one character
            first, earlier, later = groups.pop()
            start, end = min(start, earlier), max(end, later)
        groups.append((first, start, end))

    takes_text = [end > start or not _stands_for_no_text(tokens, first) for first, start, end in groups]
    last = max((place for place, takes in enumerate(takes_text) if takes), default=len(groups) - 1)
    stops = [first for first, _, _ in groups[1:]] + [len(tokens)]
    found, reached = [], 0
    for place, (first, _, end) in enumerate(groups):
        start = reached
        if place == last:
            reached = len(text)
        elif takes_text[place]:
            reached = max(reached, end)
        found.append(_cell(tokens, range(first, stops[place]), start, reached))
    return tuple(found)


def _stands_for_no_text(tokens: Tokens, index: int) -> bool:
    start, end = tokens.spans[index]
    return end <= start and tokens.control[index]


def _cluster_bounds(text: str) -> tuple[list[int], list[int]]:
    """For each offset, the nearest offsets at or before it and at or after it that cut no character."""
    floor, ceiling = [0], [0]
    for match in _CLUSTER.finditer(text):
        length = match.end() - match.start()
        floor += [match.start()] * (length - 1) + [match.end()]
        ceiling += [match.end()] * length
    return floor, ceiling


def _cell(tokens: Tokens, indices: range, start: int, end: int) -> Cell:
    text = tokens.text[start:end]
    role = tokens.roles[indices.start]
    if role == "added" and text:  # a blank of the user's, trimmed from the offsets
        role = "text"
    control = all(tokens.control[index] for index in indices)
    return Cell(text, start, end, indices, role, control, text or tokens.pieces[indices.start])


def _joined(group: Sequence[Cell]) -> Cell:
    if len(group) == 1:
        return group[0]
    text = "".join(cell.text for cell in group)
    indices = range(group[0].tokens.start, group[-1].tokens.stop)
    return Cell(text, group[0].start, group[-1].end, indices, group[0].role, False, text)


# --- larger units, as the offsets of their ends


def _units_of(smallest: Sequence[Cell], ends: Sequence[int]) -> Iterator[int]:
    """For each cell the unit that has most of its characters."""
    unit = 0
    for cell in smallest:
        while unit < len(ends) - 1 and ends[unit] <= cell.start:
            unit += 1
        best, most, start, candidate = unit, 0, cell.start, unit
        while start < cell.end:
            stop = min(ends[candidate], cell.end)
            if stop - start > most:
                best, most = candidate, stop - start
            start, candidate = stop, candidate + 1
        yield best


_BLANKS = regex.compile(r"[\p{Zs}\t]+")
_LINE_END = regex.compile(r"\r\n|[\n\r\x85\u2028\u2029]")


def _word_ends(text: str) -> list[int]:
    """Words and marks with the blanks before them; blanks before a line's end go with the line's end."""
    ends: list[int] = []
    position, after_blanks = 0, False
    for word in words(text):
        position += len(word)
        if not after_blanks or not ends:
            ends.append(position)
        else:
            ends[-1] = position
        after_blanks = _BLANKS.fullmatch(word) is not None
    return ends


# Full stops after an initial, a usual abbreviation or an item's number end no sentence, nor do those
# that a small letter follows.
_SENTENCE_END = regex.compile(
    r"""(?: [。！？｡]++
          | (?<![\p{STerm}…]) [\p{STerm}…]++ (?<!(?<![\p{STerm}…])[.]) (?=[\p{Pe}\p{Pf}"'*_]{0,3}(?:\s|$))
          | (?<![\p{STerm}…]) [.] (?<! (?:^|[\s(\[]) (?:\p{Lu}|Mrs?|Ms|Dr|Prof|St|No|vs|cf|etc|e[.]g|i[.]e) [.] )
            (?<! (?:^|\n) [ \t]{0,8} \d{1,3} [.] ) (?=[\p{Pe}\p{Pf}"'*_]{0,3}(?:\s|$)) (?! \s+ \p{Ll} )
        ) [\p{Pe}\p{Pf}"'*_]{0,3}""",
    regex.VERBOSE | regex.VERSION1,
)


def _sentence_ends(text: str) -> list[int]:
    """Sentences with the blanks before them; the end of a line ends a sentence and belongs to it."""
    ends = {match.end() for match in _SENTENCE_END.finditer(text)}
    lines = _line_ends(text)
    for start, end in zip([0, *lines], lines, strict=False):
        # The line's end belongs to its last sentence, so a sentence end just before it moves behind it.
        body = text[start:end].rstrip()
        ends.difference_update(range(start + len(body), end))
    return sorted(ends.union(lines) - {0})


def _line_ends(text: str) -> list[int]:
    """Lines with their line break."""
    ends = [match.end() for match in _LINE_END.finditer(text)]
    return ends if ends and ends[-1] == len(text) else [*ends, len(text)]


# --- how text is shown

_JOINING_SCRIPTS = (
    r"\p{Arabic}\p{Syriac}\p{Nko}\p{Devanagari}\p{Bengali}\p{Gurmukhi}\p{Gujarati}\p{Oriya}\p{Tamil}\p{Telugu}"
    r"\p{Kannada}\p{Malayalam}\p{Sinhala}\p{Khmer}\p{Myanmar}\p{Mongolian}"
)
_SPECIAL = regex.compile(
    rf"""
    (?P<shaped>  # invisible characters that do their work here: in emoji, flags, joining scripts, glyph variants
        \U0001F3F4 [\U000E0020-\U000E007E]+ \U000E007F
      | \p{{ExtPict}} \p{{EMod}}? [\uFE0E\uFE0F]? (?: \u200D \p{{ExtPict}} \p{{EMod}}? \uFE0F? )*
      | [0-9\#*] \uFE0F \u20E3
      | [[{_JOINING_SCRIPTS}]--\p{{M}}] \p{{M}}{{0,8}} [\u200C\u200D]
      | \p{{Han}} [\uFE00-\uFE02\U000E0100-\U000E01EF]
      | \p{{Mongolian}} [\u180B-\u180D\u180F] )
  | (?P<newline> \n )
  | (?P<tab> \t )
  | (?P<edge> (?<!\S)[ ] | [ ](?![\S--\p{{M}}]) )
  | (?P<invisible> [\p{{Cc}}\p{{Cn}}\p{{Co}}\p{{Cs}}\p{{Zl}}\p{{Zp}}\p{{DI}}\u2800\uFFF9-\uFFFB] | [\p{{Zs}}--[\ ]] )
  | (?P<lone> (?<![^\p{{Z}}\p{{C}}]) \p{{M}} )
    """,
    regex.VERBOSE | regex.VERSION1,
)


def shown_parts(text: str) -> tuple[tuple[str, str], ...]:
    """`text` in parts, each with how it is shown; the two are equal where it is shown as it is.

    A space at an edge or beside another blank is ·, a newline ⏎, a tab ⇥; other blanks and invisible,
    control, unassigned and direction characters are their code point, ⟨U+200B⟩; a combining mark with
    no letter to stand on gets a dotted circle.
    """
    parts: list[tuple[str, str]] = []
    literal_from = 0
    for match in _SPECIAL.finditer(text):
        if match.lastgroup == "shaped":
            continue
        if match.start() > literal_from:
            parts.append((text[literal_from : match.start()],) * 2)
        parts.append((match.group(), _glyph(match.group(), match.lastgroup)))
        literal_from = match.end()
    if literal_from < len(text):
        parts.append((text[literal_from:],) * 2)
    return tuple(parts)


def _glyph(character: str, kind: str | None) -> str:
    match kind:
        case "newline":
            return "⏎"
        case "tab":
            return "⇥"
        case "edge":
            return "·"
        case "lone":
            return "◌" + character
    return f"⟨U+{ord(character):04X}⟩"


def shown(text: str) -> str:
    """`text` on one line, with everything in it visible; see `shown_parts`."""
    return "".join(glyph for _, glyph in shown_parts(text))


def plotly_text(text: str) -> str:
    """`text` for Plotly, which reads tags, entities and $…$ in every label.

    Quotes stay: Plotly knows no entity for them.
    """
    return html.escape(shown(text), quote=False).replace("$", "&#36;")
