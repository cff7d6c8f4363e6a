"""What the user asks: one wording (`Prompt`), and a set of wordings of one intent (`PromptSet`).

Everything here is frozen and hashable, holds the text exactly as it was typed, and knows nothing of
any model. Reading and writing files and links is in `prompt_files`.
"""

import enum
from dataclasses import dataclass, replace
from typing import Literal

Mode = Literal["completion", "chat"]
MODES: tuple[Mode, ...] = ("completion", "chat")
ROLES = ("user", "assistant", "system", "tool")

#: The kinds a variant may have. Negative controls change the meaning on purpose, so they stay out
#: of every summary over paraphrases, unless the user's own verdict says otherwise.
KINDS = (
    "paraphrase",
    "template",
    "casing",
    "punctuation",
    "final punctuation",
    "inner punctuation",
    "whitespace",
    "format",
    "option order",
    "typo",
    "contraction",
    "synonym",
    "numerals",
    "courtesy",
    "question frame",
    "role",
    "instruction",
    "clause order",
    "self-paraphrase",
    "system prompt",
    "language",
    "other",
    "control",
    "negative control",
)
CONTROL_KINDS = ("control", "negative control")

#: What follows the prompt: text as typed, or token ids (a token picked from the model's list need
#: not be text: it may be a part of a character). None is the model's own top next token.
Continuation = str | tuple[int, ...]


class Inherit(enum.Enum):
    """Stands for "as in the set", where None already has a meaning."""

    INHERIT = "inherit"


INHERIT = Inherit.INHERIT


@dataclass(frozen=True)
class Message:
    """One earlier turn of a conversation."""

    role: str
    content: str


@dataclass(frozen=True)
class Prompt:
    """One wording with all that decides which tokens the model reads.

    `system` None leaves the template's default in place, "" is an empty system turn. `prefill` is
    the beginning of the assistant's answer. `special_tokens` says whether the tokenizer adds its
    own (BOS) in completion mode, `control_tokens` whether text that spells a control token counts
    as that token.
    """

    text: str
    mode: Mode = "completion"
    system: str | None = None
    turns: tuple[Message, ...] = ()
    prefill: str = ""
    special_tokens: bool = True
    control_tokens: bool = True


@dataclass(frozen=True)
class Variant:
    """A rewording of the set's reference; what it does not override is as in the set.

    `same_meaning` is the user's own verdict; None: none was given, and the kind decides.
    """

    text: str
    kind: str = "paraphrase"
    label: str = ""
    enabled: bool = True
    mode: Mode | None = None
    system: str | None | Inherit = INHERIT
    prefill: str | None = None
    target: Continuation | None = None
    expected: str | None = None
    candidates: tuple[str, ...] | None = None
    same_meaning: bool | None = None


@dataclass(frozen=True)
class Row:
    """One analysed prompt of a set, with everything inherited filled in.

    `index` is 0 for the reference and 1 + the variant's place in the set otherwise, counting those
    that are switched off: colours and labels stay when a neighbour is switched off.
    """

    index: int
    label: str
    kind: str
    prompt: Prompt
    target: Continuation | None
    own_target: bool
    expected: str | None
    candidates: tuple[str, ...] | None
    same_meaning: bool | None = None

    @property
    def is_control(self) -> bool:
        """Whether the row is known to mean something else: by the user's verdict, or without one by its kind."""
        return self.kind in CONTROL_KINDS if self.same_meaning is None else not self.same_meaning


@dataclass(frozen=True)
class PromptSet:
    """A reference prompt and its rewordings; the unit that is edited, saved, shared and analysed."""

    reference: str
    variants: tuple[Variant, ...] = ()
    name: str = ""
    model: str = "default"
    mode: Mode = "completion"
    system: str | None = None
    turns: tuple[Message, ...] = ()
    prefill: str = ""
    special_tokens: bool = True
    control_tokens: bool | None = None  # None: yes in completion mode, no in chat mode
    target: Continuation | None = None
    foil: Continuation | None = None
    candidates: tuple[str, ...] | None = None
    expected: str | None = None
    response_tokens: int = 20

    def rows(self) -> tuple[Row, ...]:
        """The reference, then every variant that is switched on."""
        rows = [
            Row(
                0,
                "reference",
                "reference",
                self._prompt(self.reference),
                self.target,
                False,
                self.expected,
                self.candidates,
            )
        ]
        for index, variant in enumerate(self.variants, start=1):
            if variant.enabled:
                own = variant.target is not None and variant.target != self.target
                rows.append(
                    Row(
                        index,
                        self.label(index),
                        variant.kind,
                        self._prompt(variant.text, variant),
                        variant.target if own else self.target,
                        own,
                        self.expected if variant.expected is None else variant.expected,
                        self.candidates if variant.candidates is None else variant.candidates,
                        variant.same_meaning,
                    )
                )
        return tuple(rows)

    def label(self, index: int) -> str:
        """The name of row `index`: unique in the set, the user's own label where there is one."""
        if index == 0:
            return "reference"
        taken = [variant.label for variant in self.variants[: index - 1]]
        label = self.variants[index - 1].label or f"rewording {index}"
        return f"{label} ({index})" if label in taken or label == "reference" else label

    def with_reference(self, index: int) -> "PromptSet":
        """The same set with row `index` as its reference; the old reference takes the row's place.

        The new reference's overrides become the set's, and every other row keeps what it had.
        """
        if index == 0:
            return self
        chosen = self.variants[index - 1]
        new = replace(
            self,
            reference=chosen.text,
            mode=chosen.mode or self.mode,
            system=self.system if chosen.system is INHERIT else chosen.system,
            prefill=self.prefill if chosen.prefill is None else chosen.prefill,
            target=self.target if chosen.target is None else chosen.target,
            expected=self.expected if chosen.expected is None else chosen.expected,
            candidates=self.candidates if chosen.candidates is None else chosen.candidates,
        )
        old = Variant(self.reference, kind=chosen.kind, label="former reference", same_meaning=chosen.same_meaning)
        others = tuple(old if place == index else variant for place, variant in enumerate(self.variants, start=1))
        return replace(new, variants=tuple(_pinned(variant, self, new) for variant in others))

    def _prompt(self, text: str, variant: Variant | None = None) -> Prompt:
        mode = variant.mode if variant and variant.mode else self.mode
        system = variant.system if variant and variant.system is not INHERIT else self.system
        assert not isinstance(system, Inherit)
        return Prompt(
            text=text,
            mode=mode,
            system=system if mode == "chat" else None,
            turns=self.turns if mode == "chat" else (),
            prefill=(self.prefill if variant is None or variant.prefill is None else variant.prefill)
            if mode == "chat"
            else "",
            special_tokens=self.special_tokens,
            control_tokens=(mode == "completion") if self.control_tokens is None else self.control_tokens,
        )


def _pinned(variant: Variant, old: PromptSet, new: PromptSet) -> Variant:
    """`variant` with what it inherited from `old` written out wherever `new` would say otherwise."""
    if variant.mode is None and new.mode != old.mode:
        variant = replace(variant, mode=old.mode)
    if variant.system is INHERIT and new.system != old.system:
        variant = replace(variant, system=old.system)
    for field in ("prefill", "target", "expected", "candidates"):
        if getattr(variant, field) is None and getattr(new, field) != getattr(old, field):
            variant = replace(variant, **{field: getattr(old, field)})
    return variant
