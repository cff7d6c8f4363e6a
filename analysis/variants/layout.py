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
from analysis.variants.options import LINE_END, LINE_START, Block
from analysis.variants.source import Change, Piece, Protected, Refused, Source, in_turn
from analysis.variants.spans import merged

_FIELD = re.compile(
    rf"(?:{LINE_START}[ \t]*|(?P<joiner> \|\|? |; |, ))(?P<label>[^\W\d_]\w*(?:[ ]\w+){{0,2}})"
    rf"(?P<separator>[ ]?(?P<mark>::|[:：](?!\d)|(?<= )(?:--?|–|[=-]>)(?=[ \t]|{LINE_END}))[ \t]*)(?=(?P<value>[^\r\n]?))"
)
#: Where a field may begin inside a line, after a sentence or a joiner.
_INSIDE = re.compile(r"(?:[.!?;|,]|[ ]{2,}|\t)[ ]*[A-Z]\w*(?: \w+){0,3}(?P<mark> ?[:：])(?=\s|\Z)")
_LONG_LABEL = re.compile(rf"{LINE_START}[ \t]*(?P<first>[^\W\d_]+)[^:：.!?\r\n]{{0,60}}(?P<mark>[:：])(?=[ \t]+\S)")
_SPACED = re.compile(rf"(?<=[ \t])(?P<mark>--?|–|[=-]>)(?=[ \t]|{LINE_END})")
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
    """Changes of all fields that have the same separator; none where one of them could not follow."""
    groups: dict[str, list[re.Match[str]]] = {}
    for match in _FIELD.finditer(source.text):
        mark = ":" if match["mark"] == "：" else match["mark"]
        groups.setdefault(mark, []).append(match)
    families = []
    for mark, found in groups.items():
        if fields := _together(source, mark, found):
            families += _field_families(source, mark, fields)
    return families


def _together(source: Source, mark: str, found: list[re.Match[str]]) -> list[re.Match[str]]:
    """The fields among `found`, or none where another place looks like one of them."""
    text = source.text
    allowed = source.protected({"number"})
    marked = Protected(merged((span.start, span.end) for span in source.spans if span.kind == "marked"))
    colon = mark in (":", "::")
    fields, lines = [], [match["label"].casefold() for match in found if match["joiner"] is None]
    for match in found:
        label = match["label"].casefold()
        first = label.split()[0]
        if not marked.free(match.start("label"), match.end("separator")):
            return []
        if not allowed.free(match.start("label"), match.end("separator")):
            continue
        if colon and first in english.IMPERATIVES - english.FIELDS:
            continue
        joins = match["joiner"] is not None
        if not joins or "|" in match["joiner"] or first in english.FIELDS or label in lines:
            fields.append(match)
    named = [match for match in fields if match["label"].casefold().split()[-1 if not colon else 0] in english.FIELDS]
    if not fields or (len(fields) == 1 and not named and (not colon or fields[0].end() != source.end)):
        return []
    there = {match.start("mark") + (match["mark"][0] == " ") for match in fields}
    others = (*_INSIDE.finditer(text), *_LONG_LABEL.finditer(text)) if colon else _SPACED.finditer(text)
    for other in others:
        place = other.end("mark") - 1 if colon else other.start("mark")
        if not colon and other["mark"] != mark:
            continue
        first = other.groupdict().get("first") or ""
        instructs = first.casefold() in (english.IMPERATIVES - english.FIELDS) | english.QUESTION_WORDS | {
            "please",
            "kindly",
        }
        if place not in there and allowed.free(place, place + 1) and not instructs and text[place - 1] != ":":
            return []
    if not colon and any("=" in _line(text, match.end()) for match in fields if "=" not in mark):
        return []
    return fields


def _line(text: str, start: int) -> str:
    """What is left of the line, at most 300 characters."""
    return re.split(r"[\r\n]", text[start : start + 300], maxsplit=1)[0]


def _field_families(source: Source, mark: str, fields: list[re.Match[str]]) -> list[list[Change]]:
    text = source.text
    allowed = source.protected({"number"})
    separators = []
    minus = any(match["value"].isdigit() for match in fields)
    for separator in _SEPARATORS:
        if (minus and re.search(r"[-=]", separator)) or separator.strip() == mark == "::":
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
    labels = {match["label"] for match in fields}
    # small letters may be an example's content ("great: positive")
    small = any(label[0].islower() and label.casefold().split()[0] not in english.FIELDS for label in labels)
    for change in () if small else (str.upper, str.lower, str.title):
        pieces: list[Piece] = []
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
    joined = [match.span("joiner") for match in fields if match["joiner"] is not None]
    free = all(source.free(*span) for span in joined)
    joiners = [tuple((start, end, joiner) for start, end in joined) for joiner in _JOINERS] if joined and free else []
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
