"""Answer options in a text: where their labels and contents are, and how a right answer follows them."""

import functools
import re
from dataclasses import dataclass

_LINE = re.compile(
    r"^(?P<before>[ \t]*)(?P<open>[(\[（]?)(?P<word>(?:[Oo]ption|[Cc]hoice|选项|选择)[ \t]?)?(?P<label>[A-Za-z]|\d{1,2})"
    r"(?P<close>[.):：、\]）]+)(?P<gap>[ \t\u3000]*)(?P<content>[^\s\r\n][^\r\n]*?)?[ \t]*\r?$",
    re.MULTILINE,
)
_INLINE = re.compile(
    r"(?<![^\s,;:?.，；：？。/|])(?P<open>[(\[]?)(?P<label>[A-Za-z]|\d{1,2})(?P<close>[.)\]])(?P<gap>[ \t]+)"
)
_CUE = re.compile(
    r"(?:^|[ \t]+)(?:the )?(?:correct )?(?:answer|antwort|réponse|respuesta|risposta|答案)\s*[:：]", re.IGNORECASE
)
_NEXT_SENTENCE = re.compile(r"(?<=[.?!])[ ]+(?=[A-Z][a-z]* )")
#: Longest content of an option that shares its line with others, in characters.
_LONGEST = 300
_ASKS = re.compile(
    r"[?？]|\b(?:answer|choose|choice|choices|option|options|select|pick|which)\b|答案|选项|选择|：\s*$",
    re.IGNORECASE | re.MULTILINE,
)
_REFERS = re.compile(
    r"\b(?:all|none|both|any|either|neither|some|two|one|each) of (?:the )?"
    r"(?:above|below|these|those|them|following|other|others|options|answers|choices)\b"
    r"|^(?:both|neither|either|all|any|none|all three|all four)\W*$"
    r"|\b(?:above|below|previous|preceding|aforementioned)\b"
    r"|\b(?:both|neither|either|only|options?|choices?|answers?) \(?[A-Z0-9]\)?(?!\w)"
    r"|(?<!\w)\(?[A-H1-9]\)?,? (?:and|or|nor|&) \(?[A-H1-9]\)?(?!\w)"
    r"|\bthe (?:other|first|last|next) (?:one|two|three|option|answer|choice)s?\b"
    r"|以上|上述|皆非|皆是|前者|后者|都不是|都对|都错"
    r"|\b(?:todas|ninguna|ninguno) (?:de )?(?:las|los|las) (?:anteriores|opciones)\b|\b(?:todas|ninguna) las anteriores\b"
    r"|ci-dessus|\b(?:keine|alle) (?:der|davon)\b|\balle genannten\b|\bnessuna delle\b|\btutte le\b",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Option:
    """One answer option: its label's letter or number, and its content [start, end)."""

    label: str
    label_start: int  # of the letter itself, without brackets
    open: str  # "(" or ""
    close: str  # ")", "." …
    start: int
    end: int
    word: str = ""  # "Option " before the label


@dataclass(frozen=True)
class Block:
    """Options that belong together, in order; characters [start, end) from the first label to the last content."""

    options: tuple[Option, ...]
    start: int
    end: int
    inline: bool


@functools.lru_cache(8)
def blocks(text: str) -> tuple[Block, ...]:
    """The lists of answer options: labels A, B, C … or 1, 2, 3 …, a line each, or after one another on a line.

    Numbered lines count only where the text asks for an answer: else they may be steps.
    """
    asks = _ASKS.search(text) is not None
    found, run = [], list[Option]()
    spans: list[tuple[int, int]] = []
    for match in _LINE.finditer(text):
        if match["content"] is None:
            continue
        option = Option(
            match["label"],
            match.start("label"),
            match["open"],
            match["close"],
            match.start("content"),
            match.end("content"),
            match["word"] or "",
        )
        begins = match.end("before")
        between = text[run[-1].end : begins] if run else ""
        if run and _follows(run[-1], option) and not between.strip():
            run.append(option)
            spans.append((begins, option.end))
            continue
        found += _block(run, spans, asks)
        run, spans = ([option], [(begins, option.end)]) if option.label in "Aa1" else ([], [])
    found += _block(run, spans, asks)
    if not found:
        found = _inline_blocks(text, asks)
    return tuple(found)


def referring(text: str, block: Block) -> str | None:
    """The first content that speaks of other options ("all of the above"), so that the order carries meaning."""
    contents = (text[option.start : option.end] for option in block.options)
    return next((content for content in contents if _REFERS.search(content)), None)


def relabelled(answer: str, text: str, block: Block, labels: dict[str, str]) -> str | None:
    """`answer` with its label changed after `labels` ("B" → "C"); None where it names no label.

    Read as a label: the label alone, in brackets, with its mark, after "Option", or before its own content.
    """
    words = "|".join(sorted({re.escape(option.word.strip()) for option in block.options if option.word}) or ["(?!)"])
    match = re.fullmatch(
        rf"(\s*[(\[（]?(?:(?:{words}|option|choice|answer)\s*)?[(\[（]?)([A-Za-z]|\d{{1,2}})([.):：、\]）]*)(\s*)(.*)",
        answer,
        re.IGNORECASE | re.DOTALL,
    )
    if not match:
        return None
    before, label, close, gap, rest = match.groups()
    own = next((option for option in block.options if option.label.casefold() == label.casefold()), None)
    if own is None or (rest and (not close or rest.strip() != text[own.start : own.end].strip())):
        return None
    new = labels[own.label]
    if label != own.label:
        new = new.lower() if label.islower() else new.upper()
    return f"{before}{new}{close}{gap}{rest}"


def _follows(option: Option, other: Option) -> bool:
    """Whether `other` is the next of the same kind of label."""
    if (option.open, option.close, option.word) != (other.open, other.close, other.word):
        return False
    if option.label.isdigit():
        return other.label.isdigit() and int(other.label) == int(option.label) + 1
    return not other.label.isdigit() and ord(other.label) == ord(option.label) + 1


def _block(run: list[Option], spans: list[tuple[int, int]], asks: bool, inline: bool = False) -> list[Block]:
    if len(run) < 2 or (run[0].label.isdigit() and not asks):
        return []
    return [Block(tuple(run), spans[0][0], spans[-1][1], inline)]


def _inline_blocks(text: str, asks: bool) -> list[Block]:
    """Options after one another on a line; the last ends at the line's end, at its final mark, or at an answer cue."""
    found = []
    matches = list(_INLINE.finditer(text))
    place = 0
    while place < len(matches):
        run = [matches[place]]
        while place + 1 < len(matches) and _next_label(run[-1], matches[place + 1], text):
            place += 1
            run.append(matches[place])
        place += 1
        if len(run) < 2 or run[0]["label"] not in "Aa1":
            continue
        options = []
        for number, match in enumerate(run):
            last = number == len(run) - 1
            following = matches[place].start() if place < len(matches) else len(text)
            end = min(_end_of_line(text, match.end()), following) if last else run[number + 1].start()
            content = text[match.end() : end]
            if last and (cue := _CUE.search(content) or _NEXT_SENTENCE.search(content)):
                content = content[: cue.start()]
            content = content.rstrip(" \t,;/|，；")
            if not last:
                content = re.sub(r"[ \t,]+(?:or|and|oder|ou)$", "", content)
            options.append((match, content))
        if not options[0][1].endswith((".", "?", "!")):
            match, content = options[-1]
            options[-1] = (match, content.rstrip(" .?!。？！"))
        if all(0 < len(content) <= _LONGEST for _, content in options):
            parsed = [
                Option(m["label"], m.start("label"), m["open"], m["close"], m.end(), m.end() + len(content))
                for m, content in options
            ]
            found += _block(parsed, [(run[0].start(), 0), (0, parsed[-1].end)], asks, inline=True)
    return found


def _next_label(match: re.Match[str], other: re.Match[str], text: str) -> bool:
    one = Option(match["label"], 0, match["open"], match["close"], 0, 0)
    two = Option(other["label"], 0, other["open"], other["close"], 0, 0)
    return _follows(one, two) and not re.search(r"[\r\n]", text[match.end() : other.start()])


def _end_of_line(text: str, start: int) -> int:
    limit = min(len(text), start + _LONGEST + 50)
    match = re.compile(r"[\r\n]").search(text, start, limit)
    return match.start() if match else limit
