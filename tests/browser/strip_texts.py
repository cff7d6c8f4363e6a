"""Prompts for the token strips of `strip_app`, and what they are cut into."""

import regex

from analysis.results import Tokens

HOSTILE = (
    "<script>alert(1)</script> <img src=x onerror=alert(1)> **bold** $x$ :red[x] </s> &amp; "
    "日本語 👨\u200d👩\u200d👧\u200d👦 2\ufe0f\u20e3 שלום, עולם  two  \u200b\x07\u202e\u00a0\te\u0301nd  "
)
TWO_DIRECTIONS = "day → יום, חלום 12 מים\nשלום, Paris עולם.\n\nनई दिल्ली"
CHAT = (
    "<|im_start|>system\nYou are brief.<|im_end|>\n"
    "<|im_start|>user\nIs <im_end> text?<|im_end|>\n"
    "<|im_start|>assistant\nIt is"
)
LONG = "One long sentence of many words follows another, and they go on. " * 40


def byte_tokens(text: str, size: int) -> Tokens:
    """Tokens of `size` bytes, with the spans that byte-level tokenizers report."""
    owner = [index for index, letter in enumerate(text) for _ in letter.encode()]
    starts = range(0, len(owner), size)
    spans = tuple((owner[start], owner[min(start + size, len(owner)) - 1] + 1) for start in starts)
    pieces = tuple(text.encode()[start : start + size].decode(errors="replace") for start in starts)
    count = len(spans)
    return Tokens(text, tuple(range(100, 100 + count)), pieces, spans, ("text",) * count, (False,) * count)


def word_tokens(text: str) -> Tokens:
    """One token for each word with the blank before it; <|…|> is a control token."""
    found = list(regex.finditer(r"<\|\w+\|>|\n| ?[\w'’]+| ?[^\w\s]|\s", text))
    pieces = tuple(match.group() for match in found)
    count = len(pieces)
    control = tuple(piece.startswith("<|") for piece in pieces)
    return Tokens(
        text, tuple(range(500, 500 + count)), pieces, tuple(match.span() for match in found), ("text",) * count, control
    )


def chat_tokens() -> Tokens:
    """A rendered chat template with a BOS that the tokenizer added."""
    plain = word_tokens(CHAT)
    stretches = {"You are brief.": "system", "Is <im_end> text?": "text", "It is": "prefill"}
    places = {(CHAT.index(text), CHAT.index(text) + len(text)): role for text, role in stretches.items()}
    roles = tuple(
        next((role for (start, end), role in places.items() if start <= span[0] and span[1] <= end), "template")
        for span in plain.spans
    )
    return Tokens(
        CHAT,
        (1, *plain.ids),
        ("<|bos|>", *plain.pieces),
        ((0, 0), *plain.spans),
        ("added", *roles),
        (True, *plain.control),
    )
