"""A tokenizer and its chat template, as functions of text and ids.

The only place that knows tokenizers' insides.
"""

import itertools
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from tokenizers import AddedToken, Tokenizer

# Stands for a control token of the template while look-alikes in the user's text are plain text:
# one private code point for the token, padded to its length so that offsets hold. A text may hold such
# code points itself, so there is a choice of places for them.
_STAND_IN_STARTS = (0xF0000, 0xF8000, 0x100000, 0x108000)
_STAND_IN_PAD = "\U0010fffd"
#: Tags that some vocabularies hold as added tokens for ordinary web text.
_HTML_TAG = re.compile(
    r"</?(a|b|blockquote|body|br|caption|code|div|em|h[1-6]|head|hr|html|i|img|li|ol|p|pre|s|span|strong|sub|sup"
    r"|table|tbody|td|tfoot|th|thead|title|tr|u|ul)>"
)
_BYTE_TOKEN = re.compile("<0x([0-9A-F]{2})>")
_OWN_SIGNS = [*range(33, 127), *range(161, 173), *range(174, 256)]
_OTHER_BYTES = [byte for byte in range(256) if byte not in _OWN_SIGNS]
#: How byte-level vocabularies spell bytes (the table of GPT-2's tokenizer).
_BYTES = {chr(b): b for b in _OWN_SIGNS} | {chr(256 + k): b for k, b in enumerate(_OTHER_BYTES)}
_NEVER = -1e9  # a score that no split of a text chooses


class EncodingError(ValueError):
    """A prompt or target that cannot become token ids; the message is one sentence for the user."""


@dataclass(frozen=True, eq=False)
class Encoder:
    """A tokenizer and its chat template, as functions of text."""

    name: str
    tokenizer: Any  # transformers' tokenizer: for the chat template and the names of special tokens
    end_ids: frozenset[int]  # a greedy answer ends with one of these
    vocabulary: int | None = None  # how many ids the model knows; None: as many as the tokenizer
    _pieces: dict[int, str] = field(default_factory=dict, repr=False)
    _plain: dict[int, tuple[Tokenizer, dict[int, int]]] = field(default_factory=dict, repr=False)

    @cached_property
    def full(self) -> Tokenizer:
        """The fast tokenizer itself (a copy takes seconds where the vocabulary is large).

        Without truncation and padding, its spans include the blanks that belong to their tokens, and
        control tokens are honoured.
        """
        backend = self.tokenizer.backend_tokenizer
        backend.no_truncation()
        backend.no_padding()
        backend.encode_special_tokens = False
        after = backend.post_processor
        if after is not None:
            state = json.loads(after.__getstate__())
            if _keep_blanks(state):
                after.__setstate__(json.dumps(state).encode())
                backend.post_processor = after
        return backend

    @cached_property
    def control(self) -> dict[str, int]:
        """Control tokens by their text: every added token that is not ordinary text.

        Not only BOS, EOS and pad, and not only those that are declared special: role tags often are not
        (`<｜User｜>`, `<think>`). Runs of blanks or newlines and HTML tags are text (Gemma adds them).
        """
        added = self.full.get_added_tokens_decoder().items()
        return {
            token.content: index
            for index, token in added
            if token.content and (token.special or not _is_text(token.content))
        }

    @cached_property
    def added(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The ids that the tokenizer puts before and after every text."""
        bare, whole = (self.full.encode("a", add_special_tokens=add).ids for add in (False, True))
        if not bare:
            return tuple(whole), ()
        start = next(i for i in range(len(whole) - len(bare) + 1) if whole[i : i + len(bare)] == bare)
        return tuple(whole[:start]), tuple(whole[start + len(bare) :])

    @cached_property
    def _control_pattern(self) -> re.Pattern[str] | None:
        names = sorted(self.control, key=len, reverse=True)
        return re.compile("|".join(map(re.escape, names))) if names else None

    def stand_in_start(self, text: str) -> int:
        """From which code point on stand-ins are none of the text's own characters. Raises EncodingError."""
        used = set(map(ord, set(text)))
        for start in _STAND_IN_STARTS:
            if used.isdisjoint(range(start, start + len(self.control))):
                return start
        raise EncodingError("the text holds private code points of every kind, which leaves none to read it with")

    def plain(self, start: int) -> tuple[Tokenizer, dict[int, int]]:
        """The tokenizer with stand-ins in place of its control tokens, and its ids → real ids where they differ."""
        if start not in self._plain:
            self._plain[start] = self._made_plain(start)
        return self._plain[start]

    def _made_plain(self, start: int) -> tuple[Tokenizer, dict[int, int]]:
        state = json.loads(self.full.to_str())
        entries = state["added_tokens"]
        state["added_tokens"] = [entry for entry in entries if entry["content"] not in self.control]
        state["post_processor"] = None  # its ids are real ones
        if state["model"]["type"] == "Unigram":  # which finds control tokens in its own vocabulary
            vocabulary = state["model"]["vocab"]
            state["model"]["vocab"] = [[text, _NEVER if text in self.control else cost] for text, cost in vocabulary]
        plain = Tokenizer.from_str(json.dumps(state))
        plain.add_special_tokens(
            [
                AddedToken(
                    self.stand_in(entry["content"], start),
                    lstrip=entry["lstrip"],
                    rstrip=entry["rstrip"],
                    normalized=False,
                    special=True,
                )
                for entry in entries
                if entry["content"] in self.control
            ]
        )
        real = {}
        for entry in entries:
            name = entry["content"]
            index = plain.token_to_id(self.stand_in(name, start) if name in self.control else name)
            assert index is not None
            real[index] = entry["id"]
        return plain, real

    def stand_in(self, name: str, start: int) -> str:
        return chr(start + self._control_numbers[name]) + _STAND_IN_PAD * (len(name) - 1)

    @cached_property
    def _control_numbers(self) -> dict[str, int]:
        return {name: number for number, name in enumerate(self.control)}

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
            name = self._control_names.get(index)
            anchor, anchor_text = self._anchor
            # After another token, because decoders drop the space at the start of a text.
            text = name or self.full.decode([anchor, index], skip_special_tokens=False)[len(anchor_text) :]
            self._pieces[index] = text or self.full.id_to_token(index) or f"[{index}]"
        return self._pieces[index]

    def name_of(self, index: int) -> str:
        """The piece for people to read: where it is a part of a character, that part's bytes."""
        piece, token = self.piece(index), self.full.id_to_token(index) or ""
        if "\ufffd" not in piece:
            return piece
        if (match := _BYTE_TOKEN.fullmatch(token)) is not None:
            raw = bytes.fromhex(match[1])
        elif all(sign in _BYTES for sign in token):
            raw = bytes(_BYTES[sign] for sign in token)
        else:
            return piece
        text = raw.decode("utf-8", "surrogateescape")  # which keeps byte b as U+DC00 + b
        return re.sub(
            "[\udc80-\udcff]+",
            lambda found: f"⟨bytes {found[0].encode('utf-8', 'surrogateescape').hex(' ').upper()}⟩",
            text,
        )

    @cached_property
    def _control_names(self) -> dict[int, str]:
        return {index: name for name, index in self.control.items()}

    def is_control(self, index: int) -> bool:
        return index in self._control_names

    def knows(self, index: int) -> bool:
        """Whether the id is a token of the tokenizer: models often have a few more."""
        return self.full.id_to_token(index) is not None

    def reads(self, index: int) -> bool:
        """Whether the model has the id: tokenizers may have a few more."""
        return 0 <= index < (self.vocabulary or self.full.get_vocab_size())

    def decode(self, ids: Sequence[int]) -> str:
        """The text of several ids that follow a prompt, with control tokens by name and unknown ids as [id]."""
        if not all(map(self.knows, ids)):
            runs = itertools.groupby(ids, self.knows)
            return "".join(self.decode(list(run)) if known else "".join(map(self.piece, run)) for known, run in runs)
        anchor, anchor_text = self._anchor
        return self.full.decode([anchor, *ids], skip_special_tokens=False)[len(anchor_text) :]

    def control_spans(self, text: str) -> list[tuple[int, int]]:
        """Where `text` spells a control token."""
        pattern = self._control_pattern
        return [match.span() for match in pattern.finditer(text)] if pattern else []


def _keep_blanks(post_processor: dict[str, Any]) -> bool:
    """Let the spans of a post-processor's state keep the blanks of their tokens; whether that changed it."""
    changed = [_keep_blanks(part) for part in post_processor.get("processors", ())]
    if post_processor.get("trim_offsets"):
        post_processor["trim_offsets"] = False
        return True
    return any(changed)


def _is_text(content: str) -> bool:
    """Whether an added token is white space or an HTML tag, as opposed to a mark of a chat format."""
    return not content.strip().strip("▁") or _HTML_TAG.fullmatch(content) is not None
