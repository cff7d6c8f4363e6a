"""Rewordings of the surface: letter case, punctuation, blanks and line breaks."""

import itertools
import random
import re
from collections.abc import Iterator

import regex

from analysis.variants import english
from analysis.variants.source import Change, Piece, Refused, Source, combined, in_turn, shuffled
from analysis.variants.spans import LINE_BREAK

_LETTERS = regex.compile(r"\p{L}[\p{L}\p{M}]*(?:['’]\p{L}[\p{L}\p{M}]*)*")
#: A word of one letter may be a label or a formula's variable.
_EMPHASIS = 4
_MOST_WORDS = 200


def casing(source: Source, rng: random.Random) -> Iterator[Change]:
    """All letters small or capital, words capitalised, sentence starts and names changed, one word in capitals."""
    text = source.text
    words = [match.span() for match in _LETTERS.finditer(text) if source.free(*match.span())]
    if not words:
        raise Refused("the text has no letters outside its protected parts")
    if not any(text[start:end].lower() != text[start:end].upper() for start, end in words):
        raise Refused("the script of this text has no upper and lower case")
    if re.search("[ıİğĞ]", text):
        raise Refused("the text has Turkish letters, and which i belongs to which I cannot be told")
    first = {start for start, _ in words if source.starts_sentence(start)}

    def each(change: "str", only: list[tuple[int, int]] | None = None) -> Change:
        return Change(tuple(_cased(text, start, end, change) for start, end in (words if only is None else only)))

    starts = [span for span in words if span[0] in first]
    names = [span for span in words if span[0] not in first and text[span[0]].isupper() and _is_title(text, *span)]
    wholes = [[each("lower")], [each("upper")], [each("title")]]
    if starts:
        wholes.append([each("swap", starts)])
    if names:
        wholes.append([each("lower", names)])
    long = [span for span in words if span[1] - span[0] >= _EMPHASIS]
    chosen = rng.sample(long, min(len(long), _MOST_WORDS))
    emphasised = [each("upper", [span]) for span in chosen]
    swapped = [each("swap", [span]) for span in chosen if _is_title(text, *span) or text[slice(*span)].islower()]
    return in_turn([*wholes, emphasised, swapped], rng)


def _is_title(text: str, start: int, end: int) -> bool:
    return text[start].isupper() and not text[start:end].isupper()


def _cased(text: str, start: int, end: int, change: str) -> Piece:
    word = text[start:end]
    if change == "lower":
        return start, end, word.lower()
    if change == "upper":
        return start, end, word.upper()
    first = word[0].lower() if change == "swap" and word[0].isupper() else word[0].upper()
    return start, end, first + word[1:]


_FINAL = re.compile(r"(?:[.!?:,;…]|[。！？：，；؟])+$")
_SAME = {
    ".": ["", "!", "…", " ."],
    "!": [".", "", "!!", " !"],
    "?": ["", "??", " ?", "?!"],
    ":": ["", " :", "…", "::"],
    ",": ["", "…", " ,", ";"],
    ";": ["", ".", ",", " ;"],
    "…": ["", "...", " …"],
    "...": ["", "…", " ..."],
    "。": [".", "", "！"],
    "！": ["!", "", "。"],
    "？": ["?", "", "？？"],
    "：": [":", "", " :"],
    "，": [",", "", "……"],
    "；": [";", "", "，"],
    "??": ["?", "", "???"],
    "???": ["?", "??", ""],
    "!!": ["!", ".", ""],
    "!!!": ["!", "!!", ""],
    "?!": ["?", "!", "??"],
    "؟": ["", "؟؟", " ؟"],
}


def final_punctuation(source: Source, rng: random.Random) -> Iterator[Change]:
    """The mark at the very end left out, doubled, spaced, exchanged for one that says the same, or added."""
    text, end = source.text, source.end
    match = _FINAL.search(text, max(0, end - 8), end)
    start = match.start() if match else end
    if match and (after := _SAME.get(match[0])):
        if not source.free(start, end):
            raise Refused("the final mark belongs to a protected part of the text")
        if not text[:start].strip():
            after = [mark for mark in after if mark]
        return shuffled((Change(((start, end, mark),)) for mark in after), rng)
    closing = next((span.kind for span in source.spans if span.end == end and span.kind in ("code", "placeholder")), "")
    if closing:
        raise Refused(
            f"the text ends in {'code' if closing == 'code' else 'a placeholder'}, to which a mark would be added"
        )
    last = text[end - 1 : end]
    if not (last.isalnum() or last in ")]}\"'”’»」%>`" or regex.match(r"\p{M}|\p{Lo}", last)):
        raise Refused(f"the text ends in {last!r}, where a final mark would change what is said")
    wide = regex.search(r"[\p{Han}\p{Hiragana}\p{Katakana}]", last) is not None
    if source.is_finished:
        marks = ["。", "！"] if wide else [".", "!", " ."]
        first = re.match(r"\w+", text[source.sentences[-1][0] :])
        if first and first[0].casefold() in english.QUESTION_WORDS:
            marks = ["?", " ?", "??"]
    elif source.content is not None and not re.match(
        r"(?i)(?:please )?(?:complete|continue|finish)\b", text[source.start :]
    ):
        raise Refused("the text ends in the content of an instruction, which a mark would change")
    elif source.content is not None:
        marks = ["…", "..."]
    else:
        marks = ["：", "……", ":"] if wide else [":", "…", "...", " :"]
    return shuffled((Change(((end, end, mark),)) for mark in marks), rng)


_STRAIGHT_QUOTES = re.compile(r"(?<!\w)\"(?=[^\s\"])([^\"\r\n]{1,300})\"(?!\w)")
_CURLY_QUOTES = re.compile(r"“([^“”\r\n]{1,300})”")
_SERIES = re.compile(r",[ ]\w+(?:[ ]\w+){0,3}(?P<comma>,?)[ ](?:and|or)[ ]")
_LIST = re.compile(r"\w,(?: \w+(?: \w+)?,)+(?= \w)(?P<last>(?= (?:and|or) ))?")
_DASH = re.compile(r"(?<=\w) (?P<dash>-|–|—|--) (?=[^\W\d])")
_INTRODUCTION = re.compile(
    r"(?:however|therefore|finally|first|then|now|next|here|also|thus|so|instead)(?P<comma>,?) (?=\w)", re.I
)
_CONJUNCTION = re.compile(r"\w(?P<comma>,?) (?:but|so|because|although|while) (?=\w)")
_SHORT = re.compile(r"\b(?:e\.g\.|i\.e\.)(?P<comma>,?) ")


def inner_punctuation(source: Source, rng: random.Random) -> Iterator[Change]:
    """Curly and straight marks, the comma before the last of a series, commas that may be there or not, dashes, dots.

    Lifts "quote" for the quotation marks alone: what they enclose stays.
    """
    text = source.text
    places: list[list[list[Piece]]] = []
    protected = source.protected({"quote"})

    def add(start: int, end: int, *afters: str) -> None:
        if end <= source.end and protected.free(start, end):
            places.append([[(start, end, after)] for after in afters])

    for match in re.finditer(r"(?<=\w)['’](?=\w)", text):
        add(*match.span(), "’" if match[0] == "'" else "'")
    for pattern, pairs in ((_STRAIGHT_QUOTES, ("“”", "''")), (_CURLY_QUOTES, ('""', "‘’"))):
        for match in pattern.finditer(text):
            start, end = match.span()
            inside = match[1]
            usable = [pair for pair in pairs if not (pair in ("''", "‘’") and re.search("['’‘]", inside))]
            if protected.free(start, start + 1) and protected.free(end - 1, end):
                places.append([[(start, start + 1, pair[0]), (end - 1, end, pair[1])] for pair in usable])
    for pattern in (_SERIES, _INTRODUCTION, _CONJUNCTION, _SHORT):
        for match in pattern.finditer(text):
            if pattern is _INTRODUCTION and not source.starts_sentence(match.start()):
                continue
            if pattern is _SERIES and not match["comma"] and not _is_series(source, match.start()):
                continue
            if source.free(*match.span("comma")):
                add(*match.span("comma"), "" if match["comma"] else ",")
    for match in _DASH.finditer(text):
        add(*match.span("dash"), *(dash for dash in ("-", "–", "—") if dash != match["dash"]))
    for match in re.finditer(r"(?<=\w)(?:\.\.\.|…)(?= \w)", text):
        add(*match.span(), "…" if match[0] == "..." else "...")
    for match in _LIST.finditer(text):
        commas = [match.start() + comma.start() for comma in re.finditer(",", match[0])]
        items = re.findall(r"(?<=, )[^,]+(?=,)", match[0])
        # two commas without "and" may enclose an apposition
        series = match["last"] is not None or (len(commas) > 2 and not any(" " in item for item in items))
        if series and all(source.free(place, place + 1) for place in commas):
            places = [place for place in places if not match.start() <= place[0][0][0] < match.end()]
            afters = [[(place, place + 1, ";") for place in commas]]
            if match["last"] is not None:
                afters.append([(commas[-1], commas[-1] + 1, "")])
            places.append(afters)
    for match in re.finditer(r"(?<=\w)[，；：、](?=\w)", text):
        if source.free(*match.span()):
            add(*match.span(), {"，": ",", "；": ";", "：": ":", "、": "，"}[match[0]])
    for match in re.finditer(r"(?<=[^\W\d_]):(?= [^\s])", text):
        # the colon of a label belongs to all labels, and "format" changes it
        if source.free(*match.span()) and match.end() == source.content:
            add(*match.span(), " -" if not text[match.end() + 1].isdigit() else " :")
    places = _apart(places)
    if not places:
        raise Refused("the text has no quotation mark, comma, colon, dash or apostrophe that can be exchanged safely")
    return combined(places, rng)


def _is_series(source: Source, comma: int) -> bool:
    """Whether the comma stands in a series and not after an introduction: another one before it, or a text's first noun."""
    before = re.split(r"[.!?:;\r\n]\s*", source.text[max(0, comma - 80) : comma])[-1]
    return re.search(r"\w, \w+(?: \w+)?$", before) is not None or (
        re.fullmatch(r"[a-z]+", before) is not None and before not in english.KNOWN
    )


def _apart(places: list[list[list[Piece]]]) -> list[list[list[Piece]]]:
    """The places in order, without those that overlap an earlier one."""
    kept, reached = [], -1
    for place in sorted(places, key=lambda place: place[0][0][0] if place else 0):
        if place and place[0][0][0] > reached:
            kept.append(place)
            reached = max(end for _, end, _ in place[0])
    return kept


def whitespace(source: Source, rng: random.Random) -> Iterator[Change]:
    """Blanks doubled, left out after a colon or put around the text, tabs, empty lines, line breaks made blanks.

    Blanks between the words of a sentence are doubled but never left out, line starts stay.
    """
    text = source.text
    end, size = source.end, len(text)
    families: list[list[Change]] = []
    if end == size:
        families += [[Change(((size, size, after),))] for after in (" ", "\n")]
    elif source.free(end, size):
        families += [[Change(((end, size, ""),))], [Change(((size, size, " "),))]]
    if source.start == 0:
        families.append([Change(((0, 0, before),)) for before in (" ", "\n")])
    elif source.free(0, source.start):
        families.append([Change(((0, source.start, ""),))])

    def spans(pattern: str) -> list[tuple[int, int]]:
        return [match.span() for match in re.finditer(pattern, text) if source.free(*match.span())]

    def singly(places: list[tuple[int, int]], *afters: str) -> list[Change]:
        chosen = rng.sample(places, min(len(places), _MOST_WORDS))
        return [Change(((start, stop, after),)) for start, stop in chosen for after in afters]

    def together(places: list[tuple[int, int]], after: str) -> list[Change]:
        return [Change(tuple((start, stop, after) for start, stop in places))] if places else []

    gaps, colons = spans(r"(?<=\S)[ ](?=\S)"), spans(r"(?<=[^\W\d_]:) (?=[^\s/])")
    between = [(one[1], two[0]) for one, two in itertools.pairwise(source.sentences)]
    between = [gap for gap in between if text[slice(*gap)] == " " and source.free(*gap)]
    families += [together(gaps, "  "), singly(gaps, "  "), singly(gaps, "\t")]
    families += [singly(spans(r"(?<=\S)[ \t]{2,}(?=\S)"), " ")]
    families += [together(colons, ""), singly(colons, "\n"), singly(between, "\n", "\n\n")]
    families += _line_breaks(source, rng)
    return in_turn(families, rng)


def _line_breaks(source: Source, rng: random.Random) -> list[list[Change]]:
    """Single breaks doubled or made a blank, doubled ones single, Windows breaks made plain."""
    text = source.text
    breaks = [match.span() for match in LINE_BREAK.finditer(text, source.start, source.end)]
    single = [
        (start, stop)
        for start, stop in breaks
        if text[start - 1] not in "\r\n " and text[stop] not in "\r\n \t" and source.free(start, stop)
    ]
    several = [
        match.span()
        for match in re.finditer(r"(?<=[^\r\n])(\r\n|\r|\n)\1+(?=[^\r\n])", text)
        if source.free(*match.span())
    ]
    edges = {edge for span in source.spans if span.kind == "option" for edge in (span.start, span.end)}
    single = rng.sample(single, min(len(single), _MOST_WORDS))
    families = [
        [Change(((start, stop, text[start:stop] * 2),)) for start, stop in single],
        [Change(((start, stop, " "),)) for start, stop in single if start not in edges and stop not in edges],
        [
            Change(((start, stop, "\r\n" if text[start : start + 2] == "\r\n" else text[start]),))
            for start, stop in several
        ],
    ]
    if single:
        families.append([Change(tuple((start, stop, text[start:stop] * 2) for start, stop in single))])
    windows = [span for span in single if text[slice(*span)] == "\r\n"]
    if windows:
        families.append([Change(tuple((start, stop, "\n") for start, stop in windows))])
    return families
