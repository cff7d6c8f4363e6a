"""What differs between two wordings: their texts by words, their tokens by ids.

Both are alignments without crossings. Time is bounded: up to `EXACT` pairs a heaviest common
subsequence is found by dynamic programming; longer texts are first cut at what is unique in both
(patience diff), and what has no such place is cut into blocks of proportional length.
"""

import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Literal, TypeVar

import numpy as np

from analysis.results import Tokens
from analysis.tokens import graphemes, words

EXACT = 250_000  # pairs of items
ANCHORINGS = 8  # how often a part is cut again at what is unique in it

T = TypeVar("T", bound=Hashable)
Operation = Literal["equal", "replace", "insert", "delete"]
Pair = tuple[int, int]


@dataclass(frozen=True)
class Hunk:
    """A stretch of text a and what stands for it in text b, in characters."""

    op: Operation
    a_start: int
    a_end: int
    b_start: int
    b_end: int


def word_diff(a: str, b: str) -> tuple[Hunk, ...]:
    """The hunks that turn `a` into `b`, in order; together they cover both texts.

    Words, blanks and marks are aligned so that as many characters as possible stay. Blanks alone
    hold nothing together that was rewritten around them, unless word stands for word. Where most of
    a word, or of a longer rewritten stretch, stays at its beginning and end, only the characters
    between are in the hunk: a typo shows as a letter.
    """
    if a == b:
        return (Hunk("equal", 0, len(a), 0, len(b)),) if a else ()
    a_words, b_words = words(a), words(b)
    pairs = aligned(a_words, b_words, weight=len)
    stretches = _without_lone_blanks(_stretches(pairs, len(a_words), len(b_words)), a_words)
    a_offsets, b_offsets = _offsets(a_words), _offsets(b_words)
    hunks: list[Hunk] = []
    for equal, a_start, a_end, b_start, b_end in stretches:
        word_for_word = not equal and a_end - a_start == b_end - b_start
        a_cuts = range(a_start, a_end + 1) if word_for_word else (a_start, a_end)
        b_cuts = range(b_start, b_end + 1) if word_for_word else (b_start, b_end)
        for (a_from, a_to), (b_from, b_to) in zip(pairwise(a_cuts), pairwise(b_cuts), strict=True):
            place = (a_offsets[a_from], a_offsets[a_to], b_offsets[b_from], b_offsets[b_to])
            hunks += [Hunk("equal", *place)] if equal else _refined(a, b, *place)
    return _merged(hunks)


def token_alignment(a: Tokens, b: Tokens) -> tuple[tuple[int | None, int | None], ...]:
    """Every token of `a` and of `b` once, in order: equal tokens in pairs, the others with None."""
    pairs = aligned(a.ids, b.ids)
    rows: list[tuple[int | None, int | None]] = []
    i = j = 0
    for next_i, next_j in [*pairs, (len(a), len(b))]:
        rows += [(index, None) for index in range(i, next_i)]
        rows += [(None, index) for index in range(j, next_j)]
        if next_i < len(a) and next_j < len(b):
            rows.append((next_i, next_j))
        i, j = next_i + 1, next_j + 1
    return tuple(rows)


def aligned(a: Sequence[T], b: Sequence[T], weight: Callable[[T], int] = lambda item: 1) -> list[Pair]:
    """Pairs (i, j), increasing in both, with a[i] == b[j] and a large total weight; the largest for short inputs."""
    numbers: dict[T, int] = {}
    first = np.array([numbers.setdefault(item, len(numbers)) for item in a], dtype=np.int64)
    second = np.array([numbers.setdefault(item, len(numbers)) for item in b], dtype=np.int64)
    weights = np.array([weight(item) for item in numbers], dtype=np.int32)
    found: list[Pair] = []
    waiting = [(0, len(first), 0, len(second), ANCHORINGS)]
    while waiting:
        i, i_end, j, j_end, anchorings = waiting.pop()
        head = _common_prefix(first[i:i_end], second[j:j_end])
        found += [(i + step, j + step) for step in range(head)]
        i, j = i + head, j + head
        tail = _common_prefix(first[i:i_end][::-1], second[j:j_end][::-1])
        found += [(i_end - step, j_end - step) for step in range(1, tail + 1)]
        i_end, j_end = i_end - tail, j_end - tail
        part, other = first[i:i_end], second[j:j_end]
        if not part.size or not other.size:
            continue
        if part.size * other.size <= EXACT:
            found += [(i + x, j + y) for x, y in _heaviest(part, other, weights)]
            continue
        anchors = _anchors(part.tolist(), other.tolist()) if anchorings else []
        found += [(i + x, j + y) for x, y in anchors]
        # Between anchors, or, without any, in blocks: what is left to align, without the anchors.
        ends = [*anchors, (part.size, other.size)] if anchors else _block_ends(part.size, other.size)
        x = y = 0
        for x_end, y_end in ends:
            waiting.append((i + x, i + x_end, j + y, j + y_end, anchorings - 1 if anchors else 0))
            x, y = (x_end + 1, y_end + 1) if anchors else (x_end, y_end)
    return sorted(found)


def _common_prefix(a: np.ndarray, b: np.ndarray) -> int:
    size = min(a.size, b.size)
    different = np.flatnonzero(a[:size] != b[:size])
    return int(different[0]) if different.size else size


def _heaviest(a: np.ndarray, b: np.ndarray, weights: np.ndarray) -> list[Pair]:
    """A heaviest common subsequence: best[i, j] is its weight for a[:i] and b[:j]."""
    if a.size > b.size:
        return [(i, j) for j, i in _heaviest(b, a, weights)]
    best = np.zeros((a.size + 1, b.size + 1), dtype=np.int32)
    for i, item in enumerate(a):
        taken = np.where(b == item, best[i, :-1] + weights[item], 0)
        np.maximum.accumulate(np.maximum(best[i, 1:], taken), out=best[i + 1, 1:])
    pairs, i, j = [], a.size, b.size
    while i and j:
        if best[i, j] == best[i - 1, j]:
            i -= 1
        elif best[i, j] == best[i, j - 1]:
            j -= 1
        else:
            i, j = i - 1, j - 1
            pairs.append((i, j))
    return pairs[::-1]


def _anchors(a: list[int], b: list[int]) -> list[Pair]:
    """The longest increasing run of the pairs of items that occur once in `a` and once in `b`."""
    in_a, in_b = Counter(a), Counter(b)
    place = {item: j for j, item in enumerate(b) if in_b[item] == 1}
    pairs = [(i, place[item]) for i, item in enumerate(a) if in_a[item] == 1 and item in place]
    tops: list[int] = []  # the smallest last j of an increasing run of each length
    ends: list[int] = []  # which pair that is
    before: list[int | None] = []
    for index, (_, j) in enumerate(pairs):
        length = bisect_left(tops, j)
        before.append(ends[length - 1] if length else None)
        tops[length : length + 1] = [j]
        ends[length : length + 1] = [index]
    run: list[Pair] = []
    last = ends[-1] if ends else None
    while last is not None:
        run.append(pairs[last])
        last = before[last]
    return run[::-1]


def _block_ends(a_size: int, b_size: int) -> list[Pair]:
    """Ends of blocks of proportional length that are short enough for `_heaviest`."""
    blocks = min(math.isqrt(a_size * b_size // EXACT) + 2, a_size, b_size)
    return [(a_size * block // blocks, b_size * block // blocks) for block in range(1, blocks + 1)]


# --- from pairs of words to hunks of characters

Stretch = tuple[bool, int, int, int, int]  # equal; first and last word in a; in b


def _stretches(pairs: list[Pair], a_size: int, b_size: int) -> list[Stretch]:
    """The words of both texts in turns of equal and changed ones."""
    stretches: list[Stretch] = []
    i = j = 0
    for next_i, next_j in [*pairs, (a_size, b_size)]:
        if (i, j) != (next_i, next_j):
            stretches.append((False, i, next_i, j, next_j))
        if (next_i, next_j) != (a_size, b_size):
            i, j = next_i + 1, next_j + 1
            if stretches and stretches[-1][0]:
                _, a_start, _, b_start, _ = stretches.pop()
                stretches.append((True, a_start, i, b_start, j))
            else:
                stretches.append((True, next_i, i, next_j, j))
    return stretches


def _without_lone_blanks(stretches: list[Stretch], a_words: list[str]) -> list[Stretch]:
    """Blanks between two rewritten stretches are rewritten too."""
    kept: list[Stretch] = []
    for place, stretch in enumerate(stretches):
        equal, a_start, a_end, b_start, b_end = stretch
        inner = 0 < place < len(stretches) - 1
        if inner and all(word.isspace() for word in a_words[a_start:a_end]):
            equal = False
        if not equal and kept and not kept[-1][0]:
            _, a_start, _, b_start, _ = kept.pop()
        kept.append((equal, a_start, a_end, b_start, b_end))
    return kept


def _refined(a: str, b: str, a_start: int, a_end: int, b_start: int, b_end: int) -> list[Hunk]:
    """A rewritten stretch, without what its two sides have in common at their ends, if that is most of them."""
    if a_start == a_end or b_start == b_end:
        return [Hunk("replace", a_start, a_end, b_start, b_end)]
    first, second = graphemes(a[a_start:a_end]), graphemes(b[b_start:b_end])
    head = _common_length(first, second)
    tail = _common_length(first[head:][::-1], second[head:][::-1])
    before, after = len("".join(first[:head])), len("".join(first[len(first) - tail :]))
    if 2 * (before + after) < max(a_end - a_start, b_end - b_start):
        before = after = 0
    inner = (a_start + before, a_end - after, b_start + before, b_end - after)
    return [
        Hunk("equal", a_start, inner[0], b_start, inner[2]),
        Hunk("replace", *inner),
        Hunk("equal", inner[1], a_end, inner[3], b_end),
    ]


def _common_length(first: list[str], second: list[str]) -> int:
    pairs = zip(first, second, strict=False)
    return next((count for count, (one, other) in enumerate(pairs) if one != other), min(len(first), len(second)))


def _merged(hunks: list[Hunk]) -> tuple[Hunk, ...]:
    """The same without empty hunks, neighbours of one kind joined, each with its right name."""
    spans: list[tuple[bool, int, int, int, int]] = []
    for hunk in hunks:
        if hunk.a_start == hunk.a_end and hunk.b_start == hunk.b_end:
            continue
        equal, a_start, b_start = hunk.op == "equal", hunk.a_start, hunk.b_start
        if spans and spans[-1][0] == equal:
            _, a_start, _, b_start, _ = spans.pop()
        spans.append((equal, a_start, hunk.a_end, b_start, hunk.b_end))
    return tuple(Hunk(_operation(*span), *span[1:]) for span in spans)


def _operation(equal: bool, a_start: int, a_end: int, b_start: int, b_end: int) -> Operation:
    if equal:
        return "equal"
    return "insert" if a_start == a_end else "delete" if b_start == b_end else "replace"


def _offsets(pieces: list[str]) -> list[int]:
    """Where each piece starts in the whole, and where the last one ends."""
    return [0, *accumulate(map(len, pieces))]
