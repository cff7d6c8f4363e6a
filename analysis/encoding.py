"""Prompt → the token ids that the model reads, with the place of each in the text.

Nothing is trimmed or normalised here; what a tokenizer or a chat template does to the text is theirs,
and visible in the result.
"""

import itertools
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from analysis.continuation import token_names
from analysis.encoder import Encoder, EncodingError
from analysis.limits import MAX_TARGET_TOKENS
from analysis.prompts import Continuation, Prompt
from analysis.rendering import Rendered, lone_surrogate, render
from analysis.results import Target, Tokens

__all__ = [
    "Encoder",
    "EncodingError",
    "encode",
    "encode_target",
    "ids_after",
    "ids_alone",
    "render",
    "target_from_ids",
]


def encode(encoder: Encoder, prompt: Prompt) -> Tokens:
    """The token ids of a prompt, exactly as the model reads them.

    Errors: EncodingError where there is no text, no chat template, or text that cannot be encoded.
    """
    if not prompt.text:
        raise EncodingError("the prompt is empty: type some text")
    if not prompt.text.strip():
        raise EncodingError(f"the prompt is only white space ({len(prompt.text)} characters): type some text")
    return _encode_rendered(encoder, prompt, render(encoder, prompt))


def _encode_rendered(encoder: Encoder, prompt: Prompt, rendered: Rendered) -> Tokens:
    text = rendered.text
    ids, spans = _split(encoder, rendered, prompt.control_tokens)
    if prompt.mode == "completion" and prompt.special_tokens:
        before, after = encoder.added
        if before and ids and before[-1] == ids[0] == encoder.bos_id:
            before = before[:-1]  # typed already: never two BOS
        ids = [*before, *ids, *after]
        spans = [*((0, 0) for _ in before), *spans, *((len(text), len(text)) for _ in after)]
    if not ids:
        raise EncodingError(f"the prompt gives no tokens with the tokenizer of {encoder.name}")
    for index in ids:
        if encoder.vocabulary is not None and not encoder.reads(index):
            raise EncodingError(
                f"the text holds {encoder.piece(index)!r}, token {index}, which {encoder.name} does not know:"
                f" its ids end at {encoder.vocabulary - 1}"
            )
    seen = Counter(spans)
    pieces = tuple(
        text[span[0] : span[1]] if span[0] < span[1] and seen[span] == 1 else encoder.piece(index)
        for index, span in zip(ids, spans, strict=True)
    )
    roles = tuple(_role(rendered, *span) if span[0] < span[1] else "added" for span in spans)
    return Tokens(text, tuple(ids), pieces, tuple(spans), roles, tuple(encoder.is_control(index) for index in ids))


def _split(encoder: Encoder, rendered: Rendered, control_tokens: bool) -> tuple[list[int], list[tuple[int, int]]]:
    """The ids of a text and their spans, without what the tokenizer adds around it."""
    text = rendered.text
    spelled = encoder.control_spans(text)
    honoured = [span for span in spelled if control_tokens or _role(rendered, *span) == "template"]
    if honoured == spelled:
        encoding = encoder.full.encode(text, add_special_tokens=False)
        ids = list(encoding.ids)
    else:
        standing_in = text
        private = encoder.stand_in_start(text)
        for start, end in honoured:
            standing_in = standing_in[:start] + encoder.stand_in(text[start:end], private) + standing_in[end:]
        plain, real = encoder.plain(private)
        encoding = plain.encode(standing_in, add_special_tokens=False)
        ids = [real.get(index, index) for index in encoding.ids]
    return ids, _own_spans(encoder, text, ids, encoding.offsets)


def _own_spans(
    encoder: Encoder, text: str, ids: Sequence[int], spans: Sequence[tuple[int, int]]
) -> list[tuple[int, int]]:
    """The spans; empty for a blank that the tokenizer put before a word, which it reports as the word's first letter."""
    own = list(spans)
    for place, ((start, end), (following, _)) in enumerate(itertools.pairwise(spans)):
        if start == following and text[start:end].strip() and not encoder.piece(ids[place]).strip():
            own[place] = (start, start)
    return own


def _role(rendered: Rendered, start: int, end: int) -> str:
    """The role of a stretch of text; one that crosses into the user's own text counts as theirs."""
    touched = [role for a, b, role in rendered.stretches if a < end and start < b]
    own = [role for role in touched if role != "template"]
    return own[-1] if own else "template"


def encode_target(encoder: Encoder, prompt: Prompt, tokens: Tokens, continuation: Continuation) -> Target:
    """A continuation's ids after a prompt, by the rule of the seam.

    Prompt and target are encoded together; where that leaves the prompt's own tokens as they are, the
    rest are the target's ids. Otherwise the target is encoded alone and `joined` is False.
    """
    if isinstance(continuation, tuple):
        return target_from_ids(encoder, continuation, chosen=True)
    if not continuation:
        raise EncodingError("the target is empty: type an answer, or leave the model's own top next token")
    if (place := lone_surrogate(continuation)) is not None:
        raise EncodingError(f"the target has half a surrogate pair at character {place + 1}, which no text can hold")
    ids = ids_after(encoder, prompt, tokens, continuation)
    joined = bool(ids)
    ids = ids or ids_alone(encoder, continuation, prompt.control_tokens)
    return replace(target_from_ids(encoder, ids, chosen=True), text=continuation, joined=joined)


def ids_after(encoder: Encoder, prompt: Prompt, tokens: Tokens, continuation: str) -> tuple[int, ...] | None:
    """The continuation's ids where prompt and continuation are encoded as one text.

    None where that changes the prompt's own tokens: it then ends inside a token.
    """
    rendered = render(encoder, prompt)
    start = len(rendered.text)
    longer = Rendered(
        rendered.text + continuation,
        (*rendered.stretches, (start, start + len(continuation), "target")),
        rendered.trimmed,
    )
    together = _encode_rendered(encoder, prompt, longer).ids
    after = len(encoder.added[1]) if prompt.mode == "completion" and prompt.special_tokens else 0
    own, together = tokens.ids[: len(tokens) - after], together[: len(together) - after]
    return together[len(own) :] if together[: len(own)] == own else None


def ids_alone(encoder: Encoder, continuation: str, control_tokens: bool = True) -> tuple[int, ...]:
    """The ids of a text that follows something, encoded by itself.

    Some tokenizers put a blank before every text: there it is encoded after a sign that it does not
    join, so that the ids spell the continuation and nothing else.
    """

    def split(text: str) -> tuple[int, ...]:
        return tuple(_split(encoder, Rendered(text, ((0, len(text), "target"),)), control_tokens)[0])

    ids = split(continuation)
    if encoder.decode(ids) == continuation:
        return ids
    for sign in ("\n", ".", ",", "a"):
        before, both = split(sign), split(sign + continuation)
        if both[: len(before)] == before and encoder.decode(both[len(before) :]) == continuation:
            return both[len(before) :]
    return ids


def target_from_ids(encoder: Encoder, ids: Sequence[int], chosen: bool) -> Target:
    """A target given by token ids."""
    if not ids:
        raise EncodingError("the target gives no tokens: type at least one character")
    if len(ids) > MAX_TARGET_TOKENS:
        raise EncodingError(f"the target has {len(ids)} tokens; at most {MAX_TARGET_TOKENS} can be scored")
    for index in ids:
        if not encoder.reads(index):
            last = (encoder.vocabulary or encoder.full.get_vocab_size()) - 1
            raise EncodingError(f"token id {index} is not in the vocabulary of {encoder.name} (0 to {last})")
    return Target(
        encoder.decode(ids),
        tuple(ids),
        tuple(map(encoder.piece, ids)),
        chosen,
        names=token_names(encoder.decode, ids),
    )
