"""Prompt → the token ids that the model reads, with the place of each in the text.

The only place that knows tokenizers. Nothing is trimmed or normalised here; what a tokenizer or a
chat template does to the text is theirs, and visible in the result.
"""

import json
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from tokenizers import AddedToken, Tokenizer

from analysis.limits import MAX_TARGET_TOKENS
from analysis.prompts import Continuation, Prompt
from analysis.results import Target, Tokens

# Stands for a control token of the template while look-alikes in the user's text are plain text:
# one code point of a private plane for the token, padded to its length so that offsets hold.
_STAND_IN_PLANE = 0xF0000
_STAND_IN_PAD = "\U0010fffd"
_MARKER = "\ue0f8{}\ue0f9"


class EncodingError(ValueError):
    """A prompt or target that cannot become token ids; the message is one sentence for the user."""


@dataclass(frozen=True, eq=False)
class Encoder:
    """A tokenizer and its chat template, as functions of text."""

    name: str
    tokenizer: Any  # transformers' tokenizer: for the chat template and the names of special tokens
    end_ids: frozenset[int]  # a greedy answer ends with one of these
    _pieces: dict[int, str] = field(default_factory=dict, repr=False)

    @cached_property
    def full(self) -> Tokenizer:
        """The fast tokenizer itself, without truncation and padding; control tokens are honoured."""
        backend = Tokenizer.from_str(self.tokenizer.backend_tokenizer.to_str())
        backend.no_truncation()
        backend.no_padding()
        backend.encode_special_tokens = False
        return backend

    @cached_property
    def control(self) -> dict[str, int]:
        """Every added token by its text: not only BOS, EOS and pad (`<repo_name>` is one too)."""
        return {token.content: index for index, token in self.full.get_added_tokens_decoder().items() if token.content}

    @cached_property
    def _control_pattern(self) -> re.Pattern[str] | None:
        names = sorted(self.control, key=len, reverse=True)
        return re.compile("|".join(map(re.escape, names))) if names else None

    @cached_property
    def _plain(self) -> tuple[Tokenizer, dict[int, int]]:
        """The tokenizer with stand-ins in place of its control tokens, and stand-in id → real id."""
        state = json.loads(self.full.to_str())
        flags = {entry["content"]: entry for entry in state["added_tokens"]}
        state["added_tokens"] = []
        plain = Tokenizer.from_str(json.dumps(state))
        plain.add_special_tokens(
            [
                AddedToken(
                    self._stand_in(name),
                    lstrip=flags[name]["lstrip"],
                    rstrip=flags[name]["rstrip"],
                    normalized=False,
                    special=True,
                )
                for name in self.control
            ]
        )
        real = {}
        for name, index in self.control.items():
            stand_in = plain.token_to_id(self._stand_in(name))
            assert stand_in is not None
            real[stand_in] = index
        return plain, real

    def _stand_in(self, name: str) -> str:
        return chr(_STAND_IN_PLANE + self.control[name] % 0xFFFD) + _STAND_IN_PAD * (len(name) - 1)

    @property
    def bos_id(self) -> int | None:
        return self.tokenizer.bos_token_id

    @cached_property
    def filler_id(self) -> int:
        """The token that stands for "nothing here" in replacements: pad, else EOS, else id 0."""
        for index in (self.tokenizer.pad_token_id, self.tokenizer.eos_token_id):
            if index is not None:
                return int(index)
        return 0

    @property
    def has_chat_template(self) -> bool:
        return bool(getattr(self.tokenizer, "chat_template", None))

    @cached_property
    def _anchor(self) -> tuple[int, str]:
        index = next(iter(self.full.encode("a", add_special_tokens=False).ids[-1:]), self.filler_id)
        return index, self.full.decode([index], skip_special_tokens=False)

    def piece(self, index: int) -> str:
        """What one id adds to a text: with its leading space, U+FFFD where it is a part of a character."""
        if index not in self._pieces:
            added = self.full.get_added_tokens_decoder().get(index) if index in self._control_ids else None
            anchor, anchor_text = self._anchor
            # After another token, because decoders drop the space at the start of a text.
            text = added.content if added else self.full.decode([anchor, index], skip_special_tokens=False)
            text = text if added else text[len(anchor_text) :]
            self._pieces[index] = text or (self.full.id_to_token(index) or f"[{index}]")
        return self._pieces[index]

    @cached_property
    def _control_ids(self) -> frozenset[int]:
        return frozenset(self.control.values())

    def is_control(self, index: int) -> bool:
        return index in self._control_ids

    def decode(self, ids: Sequence[int]) -> str:
        """The text of several ids that follow a prompt, with control tokens by name."""
        anchor, anchor_text = self._anchor
        return self.full.decode([anchor, *ids], skip_special_tokens=False)[len(anchor_text) :]

    def control_spans(self, text: str) -> list[tuple[int, int]]:
        """Where `text` spells a control token."""
        pattern = self._control_pattern
        return [match.span() for match in pattern.finditer(text)] if pattern else []


@dataclass(frozen=True)
class Rendered:
    """A prompt's whole text with the role of each stretch of it."""

    text: str
    stretches: tuple[tuple[int, int, str], ...]  # (start, end, role), in order, covering the text
    trimmed: bool = False  # the template stripped the user's text


def render(encoder: Encoder, prompt: Prompt) -> Rendered:
    """The text that is encoded: as typed in completion mode, the filled template in chat mode."""
    for name, text in (("prompt", prompt.text), ("system prompt", prompt.system or ""), ("prefill", prompt.prefill)):
        if (place := _lone_surrogate(text)) is not None:
            raise EncodingError(
                f"the {name} has half a surrogate pair (U+{ord(text[place]):04X}) at character {place + 1}, which no text can hold"
            )
    if prompt.mode == "completion":
        return Rendered(prompt.text, ((0, len(prompt.text), "text"),))
    if not encoder.has_chat_template:
        raise EncodingError(f"{encoder.name} has no chat template; use completion mode, or load an instruct model")
    messages = [{"role": turn.role, "content": turn.content} for turn in prompt.turns]
    roles = ["turn"] * len(messages)
    if prompt.system is not None:
        messages.insert(0, {"role": "system", "content": prompt.system})
        roles.insert(0, "system")
    messages.append({"role": "user", "content": prompt.text})
    roles.append("text")
    text = _fill(encoder, messages)
    marked = _fill(encoder, [{**m, "content": _MARKER.format(i)} for i, m in enumerate(messages)])
    contents = [message["content"] for message in messages]
    stretches, trimmed = _stretches(text, marked, contents, roles)
    if prompt.prefill:
        stretches.append((len(text), len(text) + len(prompt.prefill), "prefill"))
        text += prompt.prefill
    return Rendered(text, tuple(stretches), trimmed)


def _fill(encoder: Encoder, messages: list[dict[str, str]]) -> str:
    try:
        return encoder.tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
    except Exception as error:  # a template is a program that came with the model: any error is its own
        reason = " ".join(str(error).split()) or type(error).__name__
        raise EncodingError(f"the chat template of {encoder.name} refuses this conversation: {reason}") from error


def _stretches(
    text: str, marked: str, contents: list[str], roles: list[str]
) -> tuple[list[tuple[int, int, str]], bool]:
    """Split the filled template into its own text and the messages' contents.

    `marked` is the same template filled with markers: what stands between them is the template's.
    Where a template depends on the contents, each content is looked for in order instead.
    """
    frames: list[str] = []
    rest = marked
    for number in range(len(contents)):
        before, found, rest = rest.partition(_MARKER.format(number))
        if not found:
            break
        frames.append(before)
    for shape in (list, _stripped):
        shaped = shape(contents)
        parts = [part for pair in zip(frames, shaped, strict=False) for part in pair]
        if len(frames) == len(contents) and "".join(parts) + rest == text:
            lengths = [len(part) for part in (*parts, rest)]
            ends = [sum(lengths[: i + 1]) for i in range(len(lengths))]
            kinds = [kind for role in roles for kind in ("template", role)] + ["template"]
            found_stretches = list(zip([0, *ends[:-1]], ends, kinds, strict=True))
            return [s for s in found_stretches if s[0] < s[1]], shaped != contents
    stretches, at = [], 0
    for content, role in zip(contents, roles, strict=True):
        start = text.find(content, at)
        if content and start >= 0:
            stretches += [(at, start, "template"), (start, start + len(content), role)]
            at = start + len(content)
    stretches.append((at, len(text), "template"))
    return [s for s in stretches if s[0] < s[1]], False


def _stripped(contents: list[str]) -> list[str]:
    return [content.strip() for content in contents]


def encode(encoder: Encoder, prompt: Prompt) -> Tokens:
    """The token ids of a prompt, exactly as the model reads them.

    Errors: EncodingError where there is no text, no chat template, or text that cannot be encoded.
    """
    if not prompt.text.strip() and not prompt.text:
        raise EncodingError("the prompt is empty: type some text")
    if not prompt.text.strip():
        raise EncodingError(f"the prompt is only white space ({len(prompt.text)} characters): type some text")
    return _encode_rendered(encoder, prompt, render(encoder, prompt))


def _encode_rendered(encoder: Encoder, prompt: Prompt, rendered: Rendered) -> Tokens:
    text = rendered.text
    look_alikes = [span for span in encoder.control_spans(text) if _role(rendered, *span) != "template"]
    add = prompt.mode == "completion" and prompt.special_tokens
    if prompt.control_tokens or not look_alikes:
        encoding = encoder.full.encode(text, add_special_tokens=add)
        ids = list(encoding.ids)
    else:
        honoured = [span for span in encoder.control_spans(text) if _role(rendered, *span) == "template"]
        replaced = text
        for start, end in honoured:
            replaced = replaced[:start] + encoder._stand_in(text[start:end]) + replaced[end:]
        plain, real = encoder._plain
        encoding = plain.encode(replaced, add_special_tokens=add)
        ids = [real.get(index, index) for index in encoding.ids]
    spans = list(encoding.offsets)
    if add and len(ids) > 1 and ids[0] == ids[1] == encoder.bos_id:
        ids, spans = ids[1:], spans[1:]  # typed and added: never two BOS
    if not ids:
        raise EncodingError(f"the prompt gives no tokens with the tokenizer of {encoder.name}")
    seen = Counter(spans)
    pieces = tuple(
        text[span[0] : span[1]] if span[0] < span[1] and seen[span] == 1 else encoder.piece(index)
        for index, span in zip(ids, spans, strict=True)
    )
    roles = tuple(_role(rendered, *span) if span[0] < span[1] else "added" for span in spans)
    return Tokens(text, tuple(ids), pieces, tuple(spans), roles, tuple(encoder.is_control(index) for index in ids))


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
    if (place := _lone_surrogate(continuation)) is not None:
        raise EncodingError(f"the target has half a surrogate pair at character {place + 1}, which no text can hold")
    together = joined_ids(encoder, prompt, continuation)
    joined = together[: len(tokens)] == tokens.ids and len(together) > len(tokens)
    ids = together[len(tokens) :] if joined else _alone(encoder, prompt, continuation)
    return replace(target_from_ids(encoder, ids, chosen=True), text=continuation, joined=joined)


def joined_ids(encoder: Encoder, prompt: Prompt, continuation: str) -> tuple[int, ...]:
    """The ids of prompt and continuation encoded as one text."""
    rendered = render(encoder, prompt)
    start = len(rendered.text)
    longer = Rendered(
        rendered.text + continuation,
        (*rendered.stretches, (start, start + len(continuation), "target")),
        rendered.trimmed,
    )
    return _encode_rendered(encoder, prompt, longer).ids


def _alone(encoder: Encoder, prompt: Prompt, continuation: str) -> tuple[int, ...]:
    plain = Prompt(continuation, special_tokens=False, control_tokens=prompt.control_tokens)
    return _encode_rendered(encoder, plain, Rendered(continuation, ((0, len(continuation), "target"),))).ids


def target_from_ids(encoder: Encoder, ids: Sequence[int], chosen: bool) -> Target:
    """A target given by token ids."""
    if not ids:
        raise EncodingError("the target gives no tokens: type at least one character")
    if len(ids) > MAX_TARGET_TOKENS:
        raise EncodingError(f"the target has {len(ids)} tokens; at most {MAX_TARGET_TOKENS} can be scored")
    vocabulary = encoder.full.get_vocab_size()
    for index in ids:
        if not 0 <= index < vocabulary:
            raise EncodingError(f"token id {index} is not in the vocabulary of {encoder.name} (0 to {vocabulary - 1})")
    return Target(encoder.decode(ids), tuple(ids), tuple(encoder.piece(index) for index in ids), chosen)


def _lone_surrogate(text: str) -> int | None:
    match = re.search("[\ud800-\udfff]", text)
    return match.start() if match else None
