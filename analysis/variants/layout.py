"""Rewordings of the layout: what separates fields from their labels, how options are labelled, their order.

The grammar of separators, label styles and cases follows Sclar et al., "Quantifying Language Models' Sensitivity to
Spurious Features in Prompt Design" (ICLR 2024), without joiners that would drop a line break.
"""

import itertools
import math
import random
import re
from collections.abc import Iterator

from analysis.variants import english, options
from analysis.variants.options import Block
from analysis.variants.source import Change, Piece, Protected, Refused, Source, in_turn
from analysis.variants.spans import merged

_FIELD = re.compile(
    r"^(?P<before>[ \t]*)(?P<label>[^\W_][\w]*(?:[ ][\w]+){0,2})(?P<separator>[ ]?[:：][ \t]*|[ ]?(?:-|--|–|=>|->|::)[ ]+(?=\S))"
    r"(?=(?P<value>[^\r\n]?))",
    re.MULTILINE,
)
_JOINED = re.compile(r"(?P<joiner> \|\| | \| |; |, )(?=[^\W\d_][\w ]{0,20}:)")
_SEPARATORS = (": ", " : ", " - ", " -- ", ":: ", " => ", " = ", ":\t")
_JOINERS = (" | ", " || ", "; ", ", ", " -- ")
_STYLES = (("", "."), ("", ")"), ("(", ")"), ("[", "]"), ("", ":"))
#: Words for an option by its place, or for the order of all.
_PLACES = re.compile(
    r"\b(?:first|second|third|fourth|last|next|previous|top|bottom) (?:option|choice|answer|one|item|line|statement)s?\b"
    r"|\b(?:former|latter|alphabetical|ascending|descending|chronological)\b|\bin (?:this|the given|that) order\b",
    re.IGNORECASE,
)


def format_(source: Source, rng: random.Random) -> Iterator[Change]:
    """Separators between labels and contents, joiners of fields on a line, the case of labels, option labels.

    One change for all fields, so that examples and question stay alike. Lifts "option" for the labels and
    "number" for numbers in labels; labels that the instruction mentions, and an expected answer that is a label, follow.
    Line breaks stay.
    """
    families = [*_field_changes(source), *_label_changes(source, rng)]
    if not any(families):
        raise Refused("the text has no labelled fields ('Question: …') and no labelled options")
    return in_turn(families, rng)


def _field_changes(source: Source) -> list[list[Change]]:
    text = source.text
    allowed = source.protected({"number"})
    fields = []
    for match in _FIELD.finditer(text):
        words = match["label"].casefold().split()
        if allowed.free(match.start("label"), match.end("separator")) and (
            not match["separator"].strip(" ").startswith(("-", "–")) or words[-1] in english.FIELDS
        ):
            fields.append(match)
    named = [match for match in fields if match["label"].casefold().split()[0] in english.FIELDS]
    plain = [match for match in fields if match["label"].casefold().split()[0] not in english.IMPERATIVES]
    fields = [match for match in fields if match in named or match in plain]
    if not fields or (len(fields) == 1 and not named and fields[0].end() != source.end):
        return []
    separators = []
    for separator in _SEPARATORS:
        minus = any(match["value"].isdigit() for match in fields)
        if minus and re.search(r"[-=]", separator):
            continue
        separators.append(
            tuple(
                # nothing may follow the last mark where the text ends, or the line
                (
                    match.start("separator"),
                    match.end("separator")
                    if match["value"]
                    else match.start("separator") + len(match["separator"].rstrip()),
                    separator if match["value"] else separator.rstrip(),
                )
                for match in fields
            )
        )
    cases: list[tuple[Piece, ...]] = []
    for change in (str.upper, str.lower, str.title):
        pieces: list[Piece] = []
        labels = {match["label"] for match in fields}
        for match in fields:
            pieces.append((match.start("label"), match.end("label"), change(match["label"])))
        taken = {match.start("label") for match in fields}
        for label in labels:  # "Does Sentence 1 entail Sentence 2?" follows, a noun in a sentence does not
            if " " in label or any(letter.isdigit() for letter in label):
                pieces += [
                    (found.start(), found.end(), change(label))
                    for found in re.finditer(rf"(?<!\w){re.escape(label)}(?!\w)", text)
                    if found.start() not in taken and allowed.free(*found.span())
                ]
        cases.append(tuple(pieces))
    joined = [match.span("joiner") for match in _JOINED.finditer(text) if source.free(*match.span("joiner"))]
    joiners = [tuple((start, end, joiner) for start, end in joined) for joiner in _JOINERS] if joined else []
    return [[Change(pieces) for pieces in family] for family in (separators, cases, joiners)]


def _label_changes(source: Source, rng: random.Random) -> list[list[Change]]:
    """Other brackets around option labels, and other labels (numbers, small letters) where the answers can follow."""
    text = source.text
    blocks = options.blocks(text)
    if not blocks or _unmovable(source, blocks, contents=False):
        return []
    first = blocks[0].options[0]
    styles = [
        tuple(
            piece
            for block in blocks
            for option in block.options
            if not option.word
            for piece in (
                (option.label_start - len(option.open), option.label_start, opening),
                (
                    option.label_start + len(option.label),
                    option.label_start + len(option.label) + len(option.close),
                    closing,
                ),
            )
        )
        for opening, closing in _STYLES
        if (opening, closing) != (first.open, first.close)
        and not (first.label.isdigit() and (opening, closing) == ("", ":"))
    ]
    return [[Change(pieces) for pieces in styles if pieces], _relabelled(source, blocks)]


def _relabelled(source: Source, blocks: tuple[Block, ...]) -> list[Change]:
    text, context = source.text, source.options
    if len(blocks) != 1 or blocks[0].options[0].word:
        return []
    block = blocks[0]
    old = [option.label for option in block.options]
    answers = [answer for answer in (context.expected, context.target, *context.candidates) if answer]
    same = dict(zip(old, old, strict=True))
    if options.referring(text, block) or any(
        options.follows(answer, text, block, same) != (True, None) for answer in context.candidates
    ):
        return []  # a variant keeps the set's candidates, which would name labels that are gone
    if not all(options.follows(answer, text, block, same)[0] for answer in (context.expected, context.target)):
        return []
    contents = {text[option.start : option.end].strip().casefold() for option in block.options}
    if any(answer.strip().casefold() in contents and len(answer.strip()) < 3 for answer in answers):
        return []
    found = []
    count = len(old)
    for new in (
        [*"ABCDEFGHIJ"[:count]],
        [*"abcdefghij"[:count]],
        [str(n) for n in range(1, count + 1)],
        [*"PQRSTUVWXY"[:count]],
    ):
        if new == old or len(new) < count:
            continue
        labels = dict(zip(old, new, strict=True))
        mentions = _mentions(source, block, labels)
        if mentions is None:
            return []
        pieces = [(o.label_start, o.label_start + len(o.label), labels[o.label]) for o in block.options]
        moved = [options.follows(answer, text, block, labels)[1] for answer in (context.expected, context.target)]
        found.append(Change((*pieces, *mentions), moved[0], moved[1]))
    return found


def _mentions(source: Source, block: Block, labels: dict[str, str]) -> list[Piece] | None:
    """Where the text outside the options names labels ("A, B or C"), with the new ones; None where that is unsure."""
    pieces: list[Piece] = []
    for mention in options.mentions(source.text, block):
        if not mention.listed or source.text[mention.start : mention.end] != mention.label:
            return None
        if not source.free(mention.start, mention.end):
            return None
        pieces.append((mention.start, mention.end, labels[mention.label]))
    return pieces


def _unmovable(source: Source, blocks: tuple[Block, ...], contents: bool = True) -> str:
    """Why the options may not be edited: the user marked them, they are code, or their contents are placeholders."""
    reasons = {"marked": "the options are marked as protected", "code": "the options are code"}
    if contents:
        reasons["placeholder"] = "the options are placeholders, so which content stands where is not known yet"
    for kind, reason in reasons.items():
        those = Protected(merged((span.start, span.end) for span in source.spans if span.kind == kind))
        if not all(those.free(block.start, block.end) for block in blocks):
            return reason
    return ""


def option_order(source: Source, rng: random.Random) -> Iterator[Change]:
    """The contents of the options in another order under the same labels; the right answer follows.

    Lifts "option", and "number", "quote" and "address" for what an option's content holds: it moves whole. Where the text
    has several lists (worked examples), only the last is reordered, since the others' answers are in the text.
    """
    text, context = source.text, source.options
    blocks = options.blocks(text)
    if not blocks:
        raise Refused("the text has no list of labelled options")
    block = blocks[-1]
    if reason := _unmovable(source, (block,)):
        raise Refused(reason)
    if referring := options.referring(text, block):
        raise Refused(f"one option says {_short(referring)}, so the order carries meaning")
    contents = [text[option.start : option.end] for option in block.options]
    if len(set(contents)) < 2:
        raise Refused("all options say the same")
    labels = [option.label for option in block.options]
    plain = {content.strip().casefold() for content in contents}
    own = dict(zip(labels, labels, strict=True))
    for answer in (context.expected, context.target):
        certain, new = options.follows(answer, text, block, own)
        if answer and answer.strip().casefold() in plain and new is not None:
            raise Refused(f"the answer {_short(answer.strip())} is both a label and the content of an option")
        if answer and not certain:
            raise Refused(f"the answer {_short(answer.strip())} names a label in a way that cannot be changed safely")
    for answer in context.candidates:
        if options.follows(answer, text, block, own)[0] and len(answer.strip("()[].:： ")) <= 2:
            continue  # the labels themselves stay
        if options.follows(answer, text, block, own) != (True, None):
            raise Refused(f"the candidate {_short(answer.strip())} names a label and would not follow")
    named = next((mention for mention in options.mentions(text, block) if not mention.whole), None)
    if named:
        raise Refused(f"the text outside the options names option {named.label}, whose content would change")
    outside = text[: block.start], text[block.end :]
    if place := _PLACES.search(outside[0]) or _PLACES.search(outside[1]):
        raise Refused(f"the text says '{place[0]}', so the order carries meaning")
    return _orders(source, block, contents, labels, rng)


def _orders(
    source: Source, block: Block, contents: list[str], labels: list[str], rng: random.Random
) -> Iterator[Change]:
    count = len(contents)
    if count <= 5:
        orders = list(itertools.permutations(range(count)))
        rng.shuffle(orders)
        drawn: Iterator[tuple[int, ...]] = iter(orders)
    else:
        drawn = (tuple(rng.sample(range(count), count)) for _ in range(4 * math.factorial(6)))
    seen = set()
    for order in drawn:
        new = tuple(contents[place] for place in order)
        if new in seen or list(new) == contents:
            continue
        seen.add(new)
        moved = {labels[place]: labels[slot] for slot, place in enumerate(order)}
        pieces = tuple((option.start, option.end, after) for option, after in zip(block.options, new, strict=True))
        expected, target = (
            options.follows(answer, source.text, block, moved)[1]
            for answer in (source.options.expected, source.options.target)
        )
        yield Change(
            pieces,
            expected if expected != source.options.expected else None,
            target if target != source.options.target else None,
        )


def _short(text: str) -> str:
    return f"'{text if len(text) <= 60 else text[:59] + '…'}'"
