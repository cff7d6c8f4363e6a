"""Answer options in a text: where their labels and contents are, and how a right answer follows them."""

import bisect
import functools
import re
from dataclasses import dataclass

from analysis.variants import english

_BREAKS = r"\n\r\v\f\x1c-\x1e\x85\u2028\u2029"
#: The start and the end of a line, whatever breaks it: "^" and "$" know "\\n" alone.
LINE_START = rf"(?<![^{_BREAKS}])"
LINE_END = rf"(?![^{_BREAKS}])"
_LINE = re.compile(
    rf"{LINE_START}(?P<before>[ \t]*(?:[-*•][ \t]+)?)(?P<open>\*\*|[(\[（]?)"
    r"(?P<word>(?:[Oo]ption|[Cc]hoice|选项|选择)[ \t]?)?(?P<label>[A-Za-z]|\d{1,2})"
    rf"(?P<close>\*\*[.):]|[.):：、\]）]+(?:\*\*)?)(?P<gap>[ \t\u3000]*)(?P<content>[^\s{_BREAKS}][^{_BREAKS}]*?)?[ \t]*{LINE_END}"
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
    r"|\bthe (?:other|first|last|next) (?:one|two|three|option|answer|choice)s?\b"
    r"|以上|上述|皆非|皆是|前者|后者|都不是|都对|都错"
    r"|\b(?:todas|ninguna|ninguno) (?:de )?(?:las|los|las) (?:anteriores|opciones)\b|\b(?:todas|ninguna) las anteriores\b"
    r"|ci-dessus|\b(?:keine|alle) (?:der|davon)\b|\balle genannten\b|\bnessuna delle\b|\btutte le\b",
    re.IGNORECASE,
)
_ENUMERATION = re.compile(
    r"\(?(?<!\w)(?:[A-Za-z]|\d{1,2})\b\)?(?:, ?(?:or |and )?\(?\b(?:[A-Za-z]|\d{1,2})\b\)?"
    r"| (?:or|and) \(?\b(?:[A-Za-z]|\d{1,2})\b\)?|/(?:[A-Za-z]|\d{1,2})\b){1,8}"
)
#: An example's answer, which belongs to the options before it.
_ANSWERED = re.compile(
    rf"(?:answer|antwort|réponse|respuesta|risposta|答案|a)\s*[:：][ \t]*[(\[]?\w{{1,2}}[)\].]*{LINE_END}", re.I
)
_CHOOSES = re.compile(r"\b(?:which|choose|choices?|select|pick|options?)\b|选项|选择", re.IGNORECASE)


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
        between = text[run[-1].end : match.start()] if run else ""
        if run and _follows(run[-1], option) and not between.strip():
            run.append(option)
            spans.append((begins, option.end))
            continue
        found += _block(text, run, spans, asks)
        run, spans = ([option], [(begins, option.end)]) if option.label in "Aa1" else ([], [])
    found += _block(text, run, spans, asks)
    if not found:
        found = _inline_blocks(text, asks)
    return tuple(found)


def referring(text: str, block: Block) -> str | None:
    """The first content that speaks of other options ("all of the above", "A or B"), so that the order carries meaning."""
    label = "|".join(option.label for option in block.options)
    one = rf"\(?(?<!\w)(?:{label})(?!\w)\)?"
    names = re.compile(
        rf"\b(?:both|neither|either|only|just|not|except|same as|see|options?|choices?|answers?) {one}(?! [a-z])"
        rf"|{one} (?:only|alone|is|are)\b|{one}(?:,? (?:and|or|nor|und|oder|et|ou|y|o) |(?:,| ?[&+/和或]) ?){one}",
        re.IGNORECASE,
    )
    contents = (text[option.start : option.end] for option in block.options)
    return next((content for content in contents if _REFERS.search(content) or names.search(content)), None)


@dataclass(frozen=True)
class Mention:
    """A label named outside the options, [start, end); `whole` where it is part of an enumeration of all labels."""

    start: int
    end: int
    label: str
    listed: bool
    whole: bool


def mentions(text: str, block: Block) -> list[Mention]:
    """The places outside `block` that name one of its labels, or may.

    Left out: the article "a", an open answer cue "A:", and the answers of earlier lists.
    """
    labels = {option.label.casefold(): option.label for option in block.options}
    earlier = [match.span() for match in _ANSWERED.finditer(text, 0, block.start)] if blocks(text)[0] != block else []
    skipped = [(other.start, other.end) for other in blocks(text)] + earlier
    skipped.sort()
    starts = [start for start, _ in skipped]
    listed: dict[int, bool] = {}
    for match in _ENUMERATION.finditer(text):
        ones = [
            (match.start() + one.start(), one[0].casefold())
            for one in re.finditer(r"\b(?:[A-Za-z]|\d{1,2})\b", match[0])
        ]
        named = [name for _, name in ones if name in labels]
        listed |= {start: len(set(named)) == len(labels) == len(ones) for start, name in ones if name in labels}
    found = []
    for match in re.finditer(rf"(?<![\w'’])(?:{'|'.join(labels)})(?!\w|['’](?:m|ve|ll|d|re|t)\b)", text, re.IGNORECASE):
        start, end = match.span()
        last = bisect.bisect_right(starts, start) - 1
        if last >= 0 and start < skipped[last][1]:
            continue
        if start not in listed and (_is_article(text, start, end) or _is_cue(text, start, end)):
            continue
        found.append(Mention(start, end, labels[match[0].casefold()], start in listed, listed.get(start, False)))
    return found


def _is_article(text: str, start: int, end: int) -> bool:
    """Whether "a" or "A" stands before the word of a noun phrase."""
    noun = re.match(r" ([a-z]{2,})", text[end : end + 30])
    if text[start:end] not in ("a", "A") or not noun or noun[1] in english.FUNCTION_WORDS:
        return False
    return text[start] == "a" or not re.search(r"[A-Za-z,] $", text[max(0, start - 2) : start])


def _is_cue(text: str, start: int, end: int) -> bool:
    """Whether "A:" opens the place of an answer, at the start of a line or the end of the text."""
    return text[start:end] == "A" and re.match(rf"[:：][ \t]*{LINE_END}", text[end:]) is not None


def follows(answer: str | None, text: str, block: Block, labels: dict[str, str]) -> tuple[bool, str | None]:
    """Whether it is certain what `answer` becomes where labels change after `labels`, and what: None if it stays.

    The content of an option stays. A text with a label as a word of its own is certain only where `relabelled` reads it.
    """
    if not answer:
        return True, None
    new = relabelled(answer, text, block, labels)
    if new is not None:
        return True, new
    if answer.strip().casefold() in {text[option.start : option.end].strip().casefold() for option in block.options}:
        return True, None
    label = "|".join(option.label for option in block.options)
    named = re.finditer(
        rf"(?<![\w'’])(?:{label})(?!\w|['’](?:m|ve|ll|d|re|t)\b)", answer.replace("_", " "), re.IGNORECASE
    )
    return all(_is_article(answer, *match.span()) and answer[match.start()] == "a" for match in named), None


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


def _block(text: str, run: list[Option], spans: list[tuple[int, int]], asks: bool, inline: bool = False) -> list[Block]:
    if len(run) < 2 or (run[0].label.isdigit() and not asks):
        return []
    contents = [text[option.start : option.end] for option in run]
    if run[0].label.isdigit() and (
        any(content.endswith(("?", "？")) for content in contents)
        or (not _CHOOSES.search(text) and all(_commands(content) for content in contents))
    ):
        return []  # questions or tasks one after another
    return [Block(tuple(run), spans[0][0], spans[-1][1], inline)]


def _commands(content: str) -> bool:
    word = re.match(r"[A-Za-z]+(?= )", content)
    return word is not None and word[0].casefold() in english.IMPERATIVES


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
            found += _block(text, parsed, [(run[0].start(), 0), (0, parsed[-1].end)], asks, inline=True)
    return found


def _next_label(match: re.Match[str], other: re.Match[str], text: str) -> bool:
    one = Option(match["label"], 0, match["open"], match["close"], 0, 0)
    two = Option(other["label"], 0, other["open"], other["close"], 0, 0)
    return _follows(one, two) and not re.search(f"[{_BREAKS}]", text[match.end() : other.start()])


def _end_of_line(text: str, start: int) -> int:
    limit = min(len(text), start + _LONGEST + 50)
    match = re.compile(f"[{_BREAKS}]").search(text, start, limit)
    return match.start() if match else limit
