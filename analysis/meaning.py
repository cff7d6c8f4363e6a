"""Whether a rewording still says the same: hard checks on what a change of meaning tends to leave behind.

Numbers, negations and opposites, placeholders, quotations and names are compared, and which example has which
answer. A check that fails is a hint with a reason; the verdict is the user's. What passes may still mean something
else.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import regex

from analysis import meaning_labels, meaning_names, meaning_negations, meaning_numbers, meaning_opposites
from analysis.meaning_text import Item, difference, exchanged, mended, plain, quoted
from analysis.variants import options
from analysis.variants.spans import classified


@dataclass(frozen=True)
class Check:
    """One comparison of two texts. `detail` is a sentence that names what is missing or added."""

    name: str
    passed: bool
    detail: str


def hard_checks(reference: str, variant: str, *, same_language: bool = True) -> tuple[Check, ...]:
    """The checks of a rewording against its reference, in a fixed order.

    Letter case never fails a check, nor do invisible characters. Across languages (`same_language` False) only
    numbers, placeholders and quotations can be compared.
    """
    one, other = plain(reference), plain(variant)
    one, other = mended(one, other, _SLIPS), mended(other, one, _SLIPS)
    bare, other_bare = _PLACEHOLDER.sub(" _ ", one), _PLACEHOLDER.sub(" _ ", other)
    bare, other_bare, labels = meaning_labels.without_changed(bare, other_bare)
    digits = frozenset(Fraction(label) for label in labels if label.isdigit())
    found = {
        "numbers": meaning_numbers.compare(bare, other_bare, digits)
        or _exchanged(bare, other_bare, meaning_numbers.items),
        "placeholders": _placeholders(one, other),
        "quotes": _quotes(one, other),
    }
    if same_language:
        found |= {
            "negations": meaning_negations.compare(bare, other_bare) or meaning_opposites.compare(bare, other_bare),
            "names": meaning_names.compare(bare, other_bare, labels)
            or _exchanged(bare, other_bare, meaning_names.items),
            "examples": _examples(one, other),
        }
    return tuple(
        Check(name, found[name] is None, _sentence(found[name] or same))
        for name, same in _SAME.items()
        if name in found
    )


#: Words that a rule of slips of the keyboard does not spare and a check looks for.
_SLIPS = (
    *("only", "just", "merely", "simply", "dozen", "dozens", "percent"),
    *("more", "less", "fewer", "than", "doubt", "mind"),
)

_SAME = {
    "numbers": "the same numbers",
    "negations": "as many negations, and no word has become its opposite",
    "placeholders": "the same placeholders",
    "quotes": "what is quoted, and every option, is in both",
    "names": "the same names",
    "examples": "no example has another answer",
}


def _sentence(clause: str) -> str:
    return f"{clause[0].upper()}{clause[1:]}."


# --- what stays letter for letter

_PLACEHOLDER = regex.compile(
    r"\{\{[^{}\n]{1,80}+\}\}|\{%[^{}\n]{1,80}+%\}|\$\{[^{}\n]{1,80}+\}"  # {{x}}, {% if x %}, ${x}
    r"|\{(?:[A-Za-z_][\w.\-]{0,60}+(?:\[\w+\])?|\d{0,3})(?:![rsa])?(?::[^{}\s]{0,20}+)?\}"  # {x}, {0}, {x:.2f}
    r"|%\([A-Za-z_]\w{0,60}+\)[a-z]|(?<![\d%])%[sdifr](?!\w)"  # %(x)s, %s
    r"|<[/|]?[A-Za-z_][^<>\n]{0,60}+>(?<!^[ \t]*<[A-Z]>(?=\s))"  # <x>, but not the label of an option
    r"|\[\[?[A-Z][A-Z0-9_ ]{1,40}\]\]?",  # [NAME]
    regex.MULTILINE,
)


def placeholders(text: str) -> list[str]:
    """The placeholders of a text, without blanks inside, in their order."""
    return [regex.sub(r"\s+", "", match[0]) for match in _PLACEHOLDER.finditer(text)]


def _placeholders(reference: str, variant: str) -> str | None:
    one, other = Counter(placeholders(reference)), Counter(placeholders(variant))
    return difference([*map(quoted, (one - other).elements())], [*map(quoted, (other - one).elements())])


_ENDS = ".,;:!?…。 "
_NEXT_SENTENCE = regex.compile(r"(?<=[.?!])\s+(?=\p{Lu})")


def _quotes(reference: str, variant: str) -> str | None:
    """Quotations, code, addresses and answer options of one text that the other does not hold, with or without marks."""
    return difference(_unquoted(reference, variant), _unquoted(variant, reference))


def _unquoted(text: str, other: str) -> list[str]:
    held, missing = _folded(other), []
    parts = []
    for block in options.blocks(text):
        contents = [text[option.start : option.end] for option in block.options]
        if not _holds(held, _folded(contents[-1]).strip(_ENDS)):
            contents[-1] = _NEXT_SENTENCE.split(contents[-1])[0]  # what follows on the line is no option
        parts += contents
    for span in classified(text):
        part = text[span.start : span.end]
        if span.kind == "quote" or (span.kind == "code" and part[0] == part[-1] == "`" and "\n" not in part):
            part = part[1:-1]
        elif span.kind != "address":
            continue
        parts.append(part)
    for part in parts:
        words = _folded(part).strip(_ENDS)
        if any(character.isalnum() for character in words) and not _holds(held, words):
            missing.append(quoted(part))
    return list(dict.fromkeys(missing))


def _folded(text: str) -> str:
    return regex.sub(r"\s+", " ", text.casefold())


def _holds(text: str, words: str) -> bool:
    """Whether `words` stand in `text`, cutting no word of it."""
    return regex.search(rf"(?<![\p{{Latin}}\p{{N}}]){regex.escape(words)}(?![\p{{Latin}}\p{{N}}])", text) is not None


# --- what depends on the order


def _exchanged(one: str, other: str, items: Callable[[str], list[Item]]) -> str | None:
    """Things that have changed places; whole options may."""
    blocks, other_blocks = options.blocks(one), options.blocks(other)
    if blocks and _contents(one, blocks) == _contents(other, other_blocks):
        return None
    return exchanged(one, items(one), other, items(other))


def _contents(text: str, blocks: tuple[options.Block, ...]) -> list[list[str]]:
    return [sorted(_folded(text[option.start : option.end]) for option in block.options) for block in blocks]


_FIELD = regex.compile(r"^[ \t]*([^\s:：][^:：\n]{0,40}?)[ \t]*[:：][ \t]*(.*)$")
_ARROW = regex.compile(r"\s*(?:=>|->|→|⇒|\t)\s*")


def _examples(reference: str, variant: str) -> str | None:
    """Whether an example of the reference has the answer of another one."""
    one, other = _answered(reference), _answered(variant)
    answers = set(one.values())
    for question, answer in one.items():
        given = other.get(question, answer)
        if given != answer and given in answers:
            return f"{quoted(question)} is answered '{given}' instead of '{answer}'"
    return None


def _answered(text: str) -> dict[str, str]:
    """Solved examples: "Review: … / Sentiment: …" over two lines or more, or "… => …" on one."""
    found: dict[str, str] = {}
    record: list[tuple[str, str]] = []

    def close() -> None:
        if len(record) > 1 and record[-1][1]:
            question = " ".join(value for _, value in record[:-1])
            found[_key(question)] = _key(record[-1][1])
        record.clear()

    for line in text.splitlines():
        parts = _ARROW.split(line.strip())
        if len(parts) == 2 and all(parts):
            close()
            found[_key(parts[0])] = _key(parts[1])
        elif (field := _FIELD.match(line)) is not None:
            if record and field[1].casefold() == record[0][0]:
                close()
            record.append((field[1].casefold(), field[2]))
        elif not line.strip():
            close()
        else:
            record.clear()
    close()
    return found


def _key(text: str) -> str:
    return _folded(text).strip(".,;:!?…\"'“”()[] ")
