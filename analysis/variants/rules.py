"""The rules that make rewordings, and `generate`, which runs one on a text.

Every edit is made by character offset and checked against the protected parts, so all that a rule does
not name stays byte for byte.
"""

import hashlib
import random
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from analysis.tokens import graphemes
from analysis.variants import contractions, controls, layout, numerals, phrases, questions, surface, synonyms, typos
from analysis.variants.results import Edit, Generated, Proposal, applied
from analysis.variants.source import Change, OptionContext, Refused, Source
from analysis.variants.spans import LINE_BREAK, Class, Span, classified, protected_spans

__all__ = ["RULES", "OptionContext", "Rule", "generate", "protected_spans"]

#: After so many attempts in a row without a new text a rule is taken to be exhausted.
MAX_FAILURES = 100

Alignment = Literal["modification", "misalignment"]


@dataclass(frozen=True)
class Rule:
    """One way to reword. `description` is for the user.

    `alignment` says what the edits do to token positions: a modification swaps words in place, a misalignment adds,
    removes or moves tokens. `lifts` are the classes of protected parts that the rule may edit, `breaks` says that it may
    change line breaks. `make` proposes changes in random order; it raises `Refused` with the reason where it has none.
    """

    name: str
    kind: str
    description: str
    alignment: Alignment
    make: Callable[[Source, random.Random], Iterator[Change]]
    lifts: tuple[Class, ...] = ()
    breaks: bool = False


RULES: tuple[Rule, ...] = (
    Rule("casing", "casing", "Changes upper and lower case.", "modification", surface.casing),
    Rule(
        "final punctuation",
        "final punctuation",
        "Adds, drops or exchanges the mark at the end.",
        "misalignment",
        surface.final_punctuation,
    ),
    Rule(
        "inner punctuation",
        "inner punctuation",
        "Exchanges quotation marks, commas, colons, dashes and apostrophes inside the text.",
        "misalignment",
        surface.inner_punctuation,
        lifts=("quote",),
    ),
    Rule(
        "whitespace",
        "whitespace",
        "Doubles, adds or drops blanks and line breaks.",
        "misalignment",
        surface.whitespace,
        breaks=True,
    ),
    Rule(
        "format",
        "format",
        "Exchanges separators, joiners and the look of labels of fields and options.",
        "misalignment",
        layout.format_,
        lifts=("option", "number"),
    ),
    Rule(
        "option order",
        "option order",
        "Puts the answer options in another order; the expected answer follows.",
        "misalignment",
        layout.option_order,
        lifts=("option", "number", "quote", "address"),
    ),
    Rule(
        "typo",
        "typo",
        "Makes a slip of the keyboard in a longer word; names, numbers and negations are spared.",
        "modification",
        typos.typos,
    ),
    Rule(
        "contraction",
        "contraction",
        "Writes English contractions out (don't, do not) or draws words together.",
        "misalignment",
        contractions.contractions,
    ),
    Rule(
        "synonym",
        "synonym",
        "Puts a near-meaning word for words of instructions.",
        "modification",
        synonyms.synonyms,
    ),
    Rule(
        "numerals",
        "numerals",
        "Writes numbers in words or in digits, thousands with or without commas.",
        "modification",
        numerals.numerals,
        lifts=("number",),
    ),
    Rule(
        "courtesy",
        "courtesy",
        "Adds or drops a greeting, please or thanks.",
        "misalignment",
        phrases.courtesy,
    ),
    Rule(
        "question frame",
        "question frame",
        "Asks the same question straight, indirectly, or with labels.",
        "misalignment",
        questions.question_frame,
    ),
    Rule(
        "role",
        "role",
        "Says in front who is to answer.",
        "misalignment",
        phrases.role,
    ),
    Rule(
        "instruction",
        "instruction",
        "Says how to reply, at the end or in front, or moves the instruction that is there.",
        "misalignment",
        phrases.instruction,
    ),
    Rule(
        "clause order",
        "clause order",
        "Exchanges a main and a subordinate clause.",
        "misalignment",
        phrases.clause_order,
    ),
    Rule(
        "irrelevant suffix",
        "control",
        "Adds a sentence that has nothing to do with the text; a control.",
        "misalignment",
        phrases.irrelevant,
    ),
    Rule(
        "negation",
        "negative control",
        "Says one clause the other way round: it changes the meaning on purpose.",
        "misalignment",
        controls.negation,
    ),
    Rule(
        "entity swap",
        "negative control",
        "Puts another name or number of the same kind: it changes the meaning on purpose.",
        "modification",
        controls.entity_swap,
        lifts=("number",),
    ),
)


def generate(
    text: str,
    rule: Rule,
    count: int,
    seed: int = 0,
    *,
    protected: Sequence[tuple[int, int]] = (),
    options: OptionContext | None = None,
    ids: Callable[[str], Sequence[int]] | None = None,
    taken: Collection[str] = (),
) -> Generated:
    """At most `count` different rewordings of `text` by `rule`.

    The result depends on the arguments alone, and with a smaller `count` it is the beginning of the same list.
    `protected` are spans in characters that the user marked. A proposal is new by its text and, where `ids` encodes one,
    by its token ids: the source and the texts of `taken` count as there already.
    """
    if not text.strip():
        return Generated(rule.name, count, (), reason="the text is empty")
    marked = (Span(max(0, start), min(len(text), end), "marked") for start, end in protected)
    source = Source(text, (*classified(text), *marked), options or OptionContext())
    key = hashlib.sha256(f"{seed}\0{rule.name}\0{text}".encode("utf-8", "surrogatepass")).digest()
    rng = random.Random(int.from_bytes(key, "big"))
    allowed = source.protected(rule.lifts)
    whole = _grapheme_bounds(text)
    texts = {text, *taken}
    encoded = {tuple(ids(other)) for other in texts} if ids else set()
    proposals, unchanged, duplicates, failures = list[Proposal](), 0, 0, 0
    reason = ""
    try:
        for change in rule.make(source, rng) if count > 0 else ():
            failures += 1
            if failures > MAX_FAILURES:
                break
            edits = _edits(change, text, rule.name)
            if not edits:
                unchanged += 1
                continue
            if any(
                not allowed.free(edit.start, edit.end)
                or edit.start not in whole
                or edit.end not in whole
                or (not rule.breaks and LINE_BREAK.findall(edit.before) != LINE_BREAK.findall(edit.after))
                for edit in edits
            ):
                continue
            new = applied(text, edits)
            if new in texts:
                duplicates += new != text
                unchanged += new == text
                continue
            texts.add(new)
            if ids:
                code = tuple(ids(new))
                if code in encoded:
                    duplicates += 1
                    continue
                encoded.add(code)
            failures = 0
            proposals.append(Proposal(new, rule.name, rule.kind, edits, change.expected, change.target))
            if len(proposals) == count:
                break
    except Refused as refusal:
        reason = str(refusal)
    if len(proposals) < count and not reason:
        reason = _shortfall(len(proposals), duplicates)
    return Generated(rule.name, count, tuple(proposals), unchanged, duplicates, reason)


def _edits(change: Change, text: str, rule: str) -> tuple[Edit, ...]:
    pieces = sorted(change.pieces)
    return tuple(
        Edit(start, end, text[start:end], after, rule) for start, end, after in pieces if text[start:end] != after
    )


def _grapheme_bounds(text: str) -> Collection[int]:
    """The offsets at which no user-visible character is cut."""
    if text.isascii() and "\r" not in text:
        return range(len(text) + 1)
    bounds, reached = {0}, 0
    for cluster in graphemes(text):
        reached += len(cluster)
        bounds.add(reached)
    return bounds


def _shortfall(made: int, duplicates: int) -> str:
    if not made:
        if duplicates:
            return "every rewording of this kind is in the set already, or makes the same tokens"
        return "this text has no place where a rewording of this kind is safe"
    only = (
        "only 1 distinct rewording of this kind exists"
        if made == 1
        else f"only {made} distinct rewordings of this kind exist"
    )
    return f"{only} for this text"
