"""What a rule reads: the text with its protected parts and its sentences; and what it gives back."""

import bisect
import itertools
import random
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from analysis.variants import english
from analysis.variants.spans import Class, Span, merged

#: [start, end) of the source and what it becomes.
Piece = tuple[int, int, str]

#: Combinations of edits are listed up to this many; more are drawn at random.
LISTED = 512
#: At most this many places of a text take part in combinations.
MAX_PLACES = 400


class Refused(ValueError):
    """The rule has nothing safe to offer for this text; the sentence says why."""


@dataclass(frozen=True)
class OptionContext:
    """The set's answers, which a changed order or changed labels of options may move."""

    expected: str | None = None
    target: str | None = None
    candidates: tuple[str, ...] = ()


@dataclass(frozen=True)
class Change:
    """One rewording: its pieces in any order, without overlap, and where the right answer moves (None: nowhere)."""

    pieces: tuple[Piece, ...]
    expected: str | None = None
    target: str | None = None


@dataclass(frozen=True)
class Source:
    """The text, its protected parts by class, and the set's answers."""

    text: str
    spans: tuple[Span, ...] = ()
    options: OptionContext = OptionContext()

    def protected(self, lifted: Iterable[Class] = ()) -> "Protected":
        """The spans of all classes but those lifted; what the user marked is never lifted."""
        gone = set(lifted) - {"marked"}
        return Protected(merged((span.start, span.end) for span in self.spans if span.kind not in gone))

    @cached_property
    def all_protected(self) -> "Protected":
        return self.protected()

    def free(self, start: int, end: int) -> bool:
        """Whether no protected part is touched; an insertion may stand at the edge of one."""
        return self.all_protected.free(start, end)

    @cached_property
    def start(self) -> int:
        """Of the first character that is no blank."""
        return len(self.text) - len(self.text.lstrip())

    @cached_property
    def end(self) -> int:
        """After the last character that is no blank."""
        return len(self.text.rstrip())

    @cached_property
    def sentences(self) -> tuple[tuple[int, int], ...]:
        """Sentences without outer blanks; a line break ends one."""
        return tuple(_sentences(self.text))

    @cached_property
    def is_english(self) -> bool:
        return english.looks_english(self.text)

    @cached_property
    def content(self) -> int | None:
        """Where the content to be worked on starts, after the colon of an instruction ("Translate to Spanish: …")."""
        for start, _ in self.sentences[:100]:
            match = _INSTRUCTS.match(self.text, start)
            if match and match["verb"].casefold() in english.IMPERATIVES:
                label = not match["polite"] and not match["rest"].strip() and match["verb"].casefold() in english.FIELDS
                if not label:
                    return match.end()
        return None

    @cached_property
    def is_finished(self) -> bool:
        """Whether the text ends with a sentence of its own, so that text after it starts anew.

        A closing mark says so; without one only a last line that starts like an instruction or a question. A text whose
        end is the content of an instruction ("Complete the sentence: The quick") does not.
        """
        if self.content is not None:
            return False  # what is added would be read as a part of the content
        body = self.text[: self.end].rstrip("\"'”’)]»」』")
        if body.endswith((".", "!", "?", "。", "！", "？", "…")) and not body.endswith(("...", "…")):
            return True
        if not self.sentences or body.endswith(
            (":", "：", ",", "，", "=", ">", "-", "–", "—", "(", "[", "{", ";", "|", "/")
        ):
            return False
        start, end = self.sentences[-1]
        words = re.findall(r"[^\W\d_]+", self.text[start : min(end, start + 2_000)].casefold())
        return (
            len(words) > 1
            and words[0] in english.IMPERATIVES | english.QUESTION_WORDS
            and words[-1] not in english.OPEN
        )

    @cached_property
    def starts_with_prose(self) -> bool:
        """Whether a sentence can stand in front on the same line: not before code, a heading, a list or a table."""
        if _TURN.match(self.text, self.start) or re.match(
            r"[#>|*\-=`~]|\d+[.)]|[(\[]?[A-Za-z1][.)\]] ", self.text[self.start : self.start + 6]
        ):
            return False
        return not any(span.kind == "code" and span.start <= self.start < span.end for span in self.spans)

    @cached_property
    def has_fields(self) -> bool:
        """Whether the text is laid out as labels and contents, with an open label at its end or labels on two lines."""
        if _TURN.match(self.text, self.start):
            return False
        labels = re.findall(r"^[ \t]*[^\W\d_][\w ]{0,30}[:：]", self.text[:20_000], re.MULTILINE)
        return len(labels) > 1 or (len(labels) == 1 and self.text[: self.end].endswith((":", "：")))

    def starts_sentence(self, place: int) -> bool:
        """Whether the word at `place` is the first of a sentence, a line, or a field's content."""
        before = self.text[max(0, place - 40) : place].rstrip(" \t\"'“‘(*")
        return not before or before[-1] in ".!?:;。！？：\n\r…>-" or before[-1] == "\u2028"


@dataclass(frozen=True)
class Protected:
    """Ordered spans that do not overlap."""

    spans: tuple[tuple[int, int], ...]

    @cached_property
    def _ends(self) -> list[int]:
        return [end for _, end in self.spans]

    def free(self, start: int, end: int) -> bool:
        first = bisect.bisect_right(self._ends, start)
        return first == len(self.spans) or self.spans[first][0] >= end


def combined(places: Sequence[Sequence[Sequence[Piece]]], rng: random.Random, most: int = 3) -> Iterator[Change]:
    """Rewordings that change one or several places: per place a list of alternatives, each of one or more pieces.

    All combinations of at most `most` places where these are few, in random order; else drawn at random,
    single places as often as several.
    """
    if len(places) > MAX_PLACES:
        places = [places[index] for index in sorted(rng.sample(range(len(places)), MAX_PLACES))]
    most = min(most, len(places))
    total, listed = 0, list[Change]()
    for size in range(1, most + 1):
        for chosen in itertools.combinations(places, size):
            for alternatives in itertools.product(*chosen):
                total += 1
                if total > LISTED:
                    yield from _drawn(places, rng, most)
                    return
                listed.append(Change(tuple(itertools.chain.from_iterable(alternatives))))
    rng.shuffle(listed)
    yield from listed


def _drawn(places: Sequence[Sequence[Sequence[Piece]]], rng: random.Random, most: int) -> Iterator[Change]:
    while True:
        chosen = rng.sample(range(len(places)), rng.randint(1, most))
        yield Change(tuple(itertools.chain.from_iterable(rng.choice(places[index]) for index in sorted(chosen))))


def shuffled(changes: Iterable[Change], rng: random.Random) -> Iterator[Change]:
    """All changes, in random order."""
    listed = list(changes)
    rng.shuffle(listed)
    yield from listed


def in_turn(families: Iterable[Iterable[Change]], rng: random.Random) -> Iterator[Change]:
    """One change of each family after another, families and changes in random order, until none is left."""
    waiting = [list(family) for family in families]
    rng.shuffle(waiting)
    for family in waiting:
        rng.shuffle(family)
    for layer in itertools.zip_longest(*waiting):
        yield from (change for change in layer if change is not None)


def capitalised(text: str) -> str:
    return text[:1].upper() + text[1:]


def decapitalised(text: str) -> str:
    """The first letter in lower case, unless the word is "I" or written in capitals."""
    word = re.match(r"[^\W\d_]+", text)
    if not word or word[0] == "I" or (len(word[0]) > 1 and word[0].isupper()):
        return text
    return text[:1].lower() + text[1:]


#: The mark of a chat's turn, in front of which nothing can stand.
_TURN = re.compile(r"\[|<|(?:system|user|human|assistant)\s*[:：]", re.IGNORECASE)
_INSTRUCTS = re.compile(
    r"(?P<polite>(?:(?:please|kindly)[ ,]+|(?:could|can|would|will) you (?:please )?)?)(?P<verb>[a-z]+)\b"
    r"(?P<rest>[^.!?:：\r\n]{0,200})[:：](?=\s+\S|[^\s\x00-\x7f])",
    re.IGNORECASE,
)
_END = re.compile(r"[.!?。！？…]+[\"'”’)\]»]*(?=\s|$)|(?<=[。！？])|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]+")
_ABBREVIATION = re.compile(
    r"(?:\b(?:e\.g|i\.e|etc|vs|Dr|Mr|Mrs|Ms|Prof|St|No|Fig|approx|cf)|\b[A-Z]|(?:^|\n)\s*\d{1,2})\.$"
)


def _sentences(text: str) -> Iterator[tuple[int, int]]:
    start = 0
    for match in _END.finditer(text):
        if match[0].startswith(".") and _ABBREVIATION.search(text[max(0, match.end() - 8) : match.end()]):
            continue
        if found := _stripped(text, start, match.end()):
            yield found
        start = match.end()
    if found := _stripped(text, start, len(text)):
        yield found


def _stripped(text: str, start: int, end: int) -> tuple[int, int] | None:
    piece = text[start:end]
    left = start + len(piece) - len(piece.lstrip())
    right = start + len(piece.rstrip())
    return (left, right) if right > left else None
