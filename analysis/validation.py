"""What is wrong with a prompt set, one sentence per place: for the editor's rows and for files.

A set that the user is still typing may break any of these rules; it is kept as it is, and
`problems` says what to mend. A file may hold blank rewordings (the editor does), but nothing else
that `problems` finds.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from analysis.limits import (
    MAX_CANDIDATES,
    MAX_LABEL_CHARACTERS,
    MAX_PROMPT_CHARACTERS,
    MAX_RESPONSE_TOKENS,
    MAX_TARGET_TOKENS,
    MAX_TURNS,
    MAX_VARIANTS,
)
from analysis.prompts import INHERIT, MODES, ROLES, Continuation, PromptSet, Variant
from analysis.text import code_point, grouped, shortened

#: Token ids are indices; the model's own vocabulary is checked where the model is known.
MAX_TOKEN_ID = 2**31 - 1
SURROGATE = re.compile("[\ud800-\udfff]")


class PromptSetError(ValueError):
    """A prompt set, or a file or link that should hold one, cannot be used; the message is one sentence."""


@dataclass(frozen=True)
class Problem:
    """One fault and where it is: `place` as in the JSON file ("variants[2].text"), `subject` as on the page."""

    place: str
    subject: str
    fault: str
    blank: bool = False  # a rewording without text: kept, saved, and left out of the analysis

    @property
    def sentence(self) -> str:
        return f"{self.subject} {self.fault}"

    @property
    def row(self) -> int | None:
        """Index of the row as in `PromptSet.rows` (the reference is 0); None: the fault is the whole set's."""
        if self.place == "reference":
            return 0
        if self.place.startswith("variants["):
            return 1 + int(self.place[len("variants[") : self.place.index("]")])
        return None


def problems(prompt_set: PromptSet) -> tuple[Problem, ...]:
    """Everything wrong with the set that can be told without a model, in the order of the page."""
    return tuple(_problems(prompt_set))


def check(prompt_set: PromptSet) -> None:
    """Raises PromptSetError with the first problem's sentence, if there is one."""
    for problem in _problems(prompt_set):
        raise PromptSetError(problem.sentence)


def _problems(prompt_set: PromptSet) -> Iterator[Problem]:
    if not prompt_set.reference.strip():
        yield Problem("reference", "the reference", "is empty; a set needs one prompt to compare with")
    yield from _text("reference", "the reference", prompt_set.reference)
    yield from _shared(prompt_set, "", "the set's")
    for name in ("name", "model"):
        yield from _label(name, f"the set's {name}", getattr(prompt_set, name))
    if not prompt_set.model.strip():
        yield Problem("model", "the set's model", 'is empty; "default" is the embedded one')
    if prompt_set.foil is not None:
        yield from _continuation("foil", "the foil", prompt_set.foil)
    if not 1 <= prompt_set.response_tokens <= MAX_RESPONSE_TOKENS:
        fault = f"must be 1 to {MAX_RESPONSE_TOKENS} tokens, it is {shortened(str(prompt_set.response_tokens))}"
        yield Problem("response_tokens", "the answer's length", fault)
    yield from _turns(prompt_set)
    if len(prompt_set.variants) > MAX_VARIANTS:
        fault = f"has {grouped(len(prompt_set.variants))} rewordings; at most {MAX_VARIANTS} are compared at once"
        yield Problem("variants", "the set", fault)
    for index, variant in enumerate(prompt_set.variants):
        yield from _variant(f"variants[{index}]", f"rewording {index + 1}", variant)


def _variant(place: str, subject: str, variant: Variant) -> Iterator[Problem]:
    if variant.enabled and not variant.text.strip():
        yield Problem(f"{place}.text", subject, "is empty and left out", blank=True)
    yield from _text(f"{place}.text", subject, variant.text)
    for name in ("kind", "label"):
        yield from _label(f"{place}.{name}", f"{subject}'s {name}", getattr(variant, name))
    if not variant.kind.strip():
        yield Problem(f"{place}.kind", f"{subject}'s kind", 'is empty; "other" says that there is none')
    yield from _shared(variant, f"{place}.", f"{subject}'s")


def _shared(owner: PromptSet | Variant, place: str, whose: str) -> Iterator[Problem]:
    """What the set has and a variant may override."""
    if owner.mode is not None and owner.mode not in MODES:
        fault = f"must be {' or '.join(MODES)}, it is “{shortened(str(owner.mode))}”"
        yield Problem(f"{place}mode", f"{whose} mode", fault)
    if owner.system is not None and owner.system is not INHERIT:
        yield from _text(f"{place}system", f"{whose} system prompt", str(owner.system))
    if owner.prefill is not None:
        yield from _text(f"{place}prefill", f"{whose} prefill", owner.prefill)
    if owner.target is not None:
        yield from _continuation(f"{place}target", f"{whose} target", owner.target)
    if owner.expected is not None:
        if not owner.expected.strip():
            yield Problem(f"{place}expected", f"{whose} expected answer", "is empty; every answer would hold it")
        yield from _text(f"{place}expected", f"{whose} expected answer", owner.expected)
    if owner.candidates is not None:
        yield from _candidates(f"{place}candidates", whose, owner.candidates)


def _candidates(place: str, whose: str, candidates: tuple[str, ...]) -> Iterator[Problem]:
    if not candidates:
        yield Problem(place, f"{whose} list of candidates", "is empty; name at least one answer, or leave the list out")
    if len(candidates) > MAX_CANDIDATES:
        fault = f"has {grouped(len(candidates))} answers; at most {MAX_CANDIDATES} are scored together"
        yield Problem(place, f"{whose} list of candidates", fault)
    for index, candidate in enumerate(candidates[:MAX_CANDIDATES]):
        subject = f"{whose} candidate {index + 1}"
        if not candidate:
            yield Problem(f"{place}[{index}]", subject, "is empty")
        elif candidate in candidates[:index]:
            fault = f"is the same as candidate {candidates.index(candidate) + 1}, “{shortened(candidate)}”"
            yield Problem(f"{place}[{index}]", subject, fault)
        yield from _text(f"{place}[{index}]", subject, candidate)


def _turns(prompt_set: PromptSet) -> Iterator[Problem]:
    if len(prompt_set.turns) > MAX_TURNS:
        fault = f"has {grouped(len(prompt_set.turns))} earlier messages; at most {MAX_TURNS} are sent"
        yield Problem("turns", "the conversation", fault)
    for index, turn in enumerate(prompt_set.turns):
        if turn.role not in ROLES:
            fault = f"has the role “{shortened(turn.role)}”; the roles are {', '.join(ROLES)}"
            yield Problem(f"turns[{index}].role", f"message {index + 1}", fault)
        yield from _text(f"turns[{index}].content", f"message {index + 1}", turn.content)


def _continuation(place: str, subject: str, continuation: Continuation) -> Iterator[Problem]:
    if not continuation:
        yield Problem(place, subject, "is empty; leave it out, or name at least one token")
    elif isinstance(continuation, str):
        yield from _text(place, subject, continuation)
    elif len(continuation) > MAX_TARGET_TOKENS:
        fault = f"has {grouped(len(continuation))} tokens; at most {MAX_TARGET_TOKENS} are scored"
        yield Problem(place, subject, fault)
    else:
        for token in continuation:
            if not 0 <= token <= MAX_TOKEN_ID:
                yield Problem(place, subject, f"holds {shortened(str(token))}, which is no token id")


def _label(place: str, subject: str, text: str) -> Iterator[Problem]:
    yield from _text(place, subject, text, MAX_LABEL_CHARACTERS)


def _text(place: str, subject: str, text: str, limit: int = MAX_PROMPT_CHARACTERS) -> Iterator[Problem]:
    if len(text) > limit:
        yield Problem(place, subject, f"has {grouped(len(text))} characters; at most {grouped(limit)} are read")
    if half := SURROGATE.search(text):
        found = f"{code_point(half.group())} after character {grouped(half.start())}"
        yield Problem(place, subject, f"holds {found}, which is half of a character and cannot be sent")
