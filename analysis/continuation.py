"""The tokens of a target or an answer as people can read them: cells that cut no visible character."""

from collections.abc import Callable, Sequence
from itertools import accumulate, pairwise

from analysis.tokens import graphemes

Decode = Callable[[Sequence[int]], str]


def continuation_cells(decode: Decode, ids: Sequence[int]) -> tuple[tuple[str, range], ...]:
    """The smallest groups of neighbouring tokens that hold whole characters: their text and positions.

    `decode` gives the text of ids that follow a prompt (`Encoder.decode`). The texts put together are
    the continuation's; only an unfinished character at its end can hold U+FFFD.
    """
    text = decode(ids)
    ends = set(accumulate(map(len, graphemes(text))))
    # Inside a character both halves decode to replacement characters, so they do not add up.
    starts = [0, *(k for k in range(1, len(ids)) if decode(ids[:k]) + decode(ids[k:]) == text), len(ids)]
    offsets = {k: len(decode(ids[:k])) if k < len(ids) else len(text) for k in starts}
    cuts = [k for k in starts if k in (0, len(ids)) or offsets[k] in ends]
    return tuple((text[offsets[a] : offsets[b]], range(a, b)) for a, b in pairwise(cuts))


def token_names(decode: Decode, ids: Sequence[int]) -> tuple[str, ...]:
    """A name for every token: its text, or of which character it is which part ("略 (2 of 3)")."""
    return tuple(
        text if len(places) == 1 else f"{text} ({number} of {len(places)})"
        for text, places in continuation_cells(decode, ids)
        for number, _ in enumerate(places, start=1)
    )
