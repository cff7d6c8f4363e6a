"""Characters that the eye misses, and other things worth saying about a text before it is sent.

Nothing here changes a text: what is found is named with its code point and its place. Places are
counted in characters from the start of the text. Categories and names come from the Unicode
Character Database (`unicodedata`).
"""

import math
import re
import unicodedata
from dataclasses import dataclass
from typing import Literal

import regex

Sort = Literal["invisible", "look-alike", "emoji"]

CONTROL_NAMES = {
    0x00: "NULL",
    0x07: "BELL",
    0x08: "BACKSPACE",
    0x09: "TAB",
    0x0B: "LINE TABULATION",
    0x0C: "FORM FEED",
    0x0D: "CARRIAGE RETURN",
    0x1B: "ESCAPE",
    0x7F: "DELETE",
    0x85: "NEXT LINE",
}
#: Format characters (Cf) that are drawn: signs that enclose or precede Arabic, Syriac and Kaithi numbers.
DRAWN_FORMATS = frozenset({*range(0x600, 0x606), 0x6DD, 0x70F, 0x890, 0x891, 0x8E2, 0x110BD, 0x110CD})
#: Letters and marks that are drawn as nothing: joiners, fillers and the empty Braille cell.
BLANK_GLYPHS = frozenset({0x34F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x2800, 0x3164, 0xFFA0})
VARIATION_SELECTORS = frozenset({*range(0x180B, 0x1810), *range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0)})
TAGS = range(0xE0020, 0xE0080)
JOINER = 0x200D
KEYCAP = 0x20E3
EMOJI_LENGTH = 16  # characters to look back for the sign that a selector or tag belongs to
#: Quotes, hyphens and a minus that pass for the ones on the keyboard.
TYPOGRAPHIC = frozenset("\u2018\u2019\u201a\u201b\u201c\u201d\u201e\u201f\u02bc\u2032\u2033\u2010\u2011\u2212")
FULL_WIDTH = range(0xFF01, 0xFF5F)
MIXED_SCRIPTS = ("LATIN", "CYRILLIC", "GREEK")

EXPRESSION = re.compile(
    r"\{\{[-+]?\s*[A-Za-z_]\w*(?:\.\w+|\([^(){}]*\)|\[[^\[\]{}]*\])*\s*(?:\|[^{}]*)?[-+]?\}\}"  # {{a.b(c)[d] | e}}
    r"|\{%[^{}]*%\}"  # {% if a %}
)
WORD = re.compile(r"\w+")
SIGN = regex.compile(r"⟨U\+[0-9A-F]{4,6}⟩|\X")
INNER_SPACES = re.compile(r"(?<=[^ \n]) {2,}(?=[^ \n])")
PLACES_SHOWN = 3


@dataclass(frozen=True)
class Invisible:
    """One character that cannot be seen, or that looks like another one.

    `sort` is "look-alike" for drawn characters that pass for others, "emoji" for joiners and
    selectors at work inside an emoji, and "invisible" for everything else.
    """

    position: int  # characters before it
    character: str
    code_point: str  # "U+200B"
    name: str
    sort: Sort = "invisible"


def invisible_characters(text: str) -> tuple[Invisible, ...]:
    """Every character of `text` that is not seen, or not seen for what it is, in reading order.

    The ordinary space and the newline are left out: runs of spaces are `describe`'s, a newline shows.
    """
    mixed = _mixed_script(text)
    found = []
    for position, character in enumerate(text):
        sort = "look-alike" if position in mixed else _sort(text, position)
        if sort:
            found.append(Invisible(position, character, code_point(character), _name(character), sort))
    return tuple(found)


def describe(text: str) -> tuple[str, ...]:
    """One line for each code point that `invisible_characters` finds and for spaces in a row, with the places.

    What is at work inside emoji comes last: it belongs there, and still makes two texts differ.
    """
    places: dict[tuple[bool, str], list[int]] = {}
    for found in invisible_characters(text):
        emoji = found.sort == "emoji"
        line = f"{found.code_point} {found.name}" + (" inside an emoji" if emoji else "")
        places.setdefault((emoji, line), []).append(found.position)
    for run in INNER_SPACES.finditer(text):
        places.setdefault((False, f"{len(run.group())} spaces in a row"), []).append(run.start())
    ordered = sorted(places.items(), key=lambda item: (item[0][0], item[1][0]))
    return tuple(f"{line} {_place(positions)}" for (_, line), positions in ordered)


def unfilled_template(text: str) -> str | None:
    """A sentence where the text holds Jinja expressions or tags that nobody has filled in, else None.

    Single braces are left alone (JSON, code, prose), and so are double braces around anything but
    an expression that starts with a name.
    """
    found = EXPRESSION.findall(text)
    if not found:
        return None
    more = f" and {len(found) - 1} more" if len(found) > 1 else ""
    return f"looks like a template that was not filled in: {shortened(found[0])}{more} would be sent as it stands"


def boundary_note(text: str) -> str | None:
    """A sentence where the text ends in white space other than newlines, else None."""
    ending = text[len(text.rstrip()) :]
    if not ending.strip("\r\n"):
        return None
    runs = " and ".join(f"{count} × {name}" if count > 1 else name for name, count in _runs(ending))
    # Words are set off by the ordinary blank; what other blanks do depends on the language.
    if " " not in ending:
        return f"ends in white space ({runs}), which is easily overlooked"
    return f"ends in white space ({runs}), which models rarely read on its own: it usually begins the next word's token"


def visible(text: str) -> str:
    """The text with what cannot be seen spelt out, for places that show plain text.

    Newline ⏎, tab ⇥, and ␣ for spaces that would be lost (at the ends of a line, or in a row);
    other invisible characters as ⟨U+200B⟩. Emoji stay whole. For display only: it cannot be undone.
    """
    unseen = {found.position: found.code_point for found in invisible_characters(text) if found.sort == "invisible"}
    shown = []
    for position, character in enumerate(text):
        if character == "\n":
            shown.append("⏎")
        elif character == "\t":
            shown.append("⇥")
        elif position in unseen:
            shown.append(f"⟨{unseen[position]}⟩")
        elif character == " " and _lost(text, position):
            shown.append("␣")
        else:
            shown.append(character)
    return "".join(shown)


def code_point(character: str) -> str:
    """U+ and at least four hexadecimal digits."""
    return f"U+{ord(character):04X}"


def shortened(text: str, limit: int = 60) -> str:
    """The beginning of a text for a message: at most `limit` characters, in one line, nothing unseen.

    No visible character and no name of an unseen one is cut.
    """
    shown = visible(text[: limit + 1])
    if len(shown) <= limit:
        return shown
    ends = [0, *(match.end() for match in SIGN.finditer(shown))]
    return shown[: max(end for end in ends if end < limit)] + "…"


def grouped(count: int) -> str:
    """A count for a message: 60000 as "60 000"."""
    return f"{count:,}".replace(",", " ")


def percent(log_prob: float) -> str:
    """The probability of a log-prob in nats, with two significant digits: "77 %", "3.5 %", "0.0012 %"."""
    p = 100 * math.exp(min(log_prob, 0.0))
    if p >= 9.95:
        return f"{p:.0f} %"
    if p < 1e-6:
        return f"e^−{-log_prob:.1f}"
    exponent = int(f"{p:.1e}".partition("e")[2])  # after rounding: 0.996 is 1.0
    return f"{p:.{1 - exponent}f} %"


def _sort(text: str, position: int) -> Sort | None:
    character = text[position]
    if character in " \n":
        return None
    code = ord(character)
    if code in VARIATION_SELECTORS or code == JOINER or code in TAGS:
        return "emoji" if _in_emoji(text, position) else "invisible"
    if code in BLANK_GLYPHS:
        return "invisible"
    if character in TYPOGRAPHIC or code in FULL_WIDTH:
        return "look-alike"
    if unicodedata.category(character) in ("Zs", "Zl", "Zp", "Cc", "Cf", "Cs") and code not in DRAWN_FORMATS:
        return "invisible"
    return None


def _in_emoji(text: str, position: int) -> bool:
    """Whether the joiner, selector or tag at `position` takes part in an emoji."""
    code = ord(text[position])
    nearby = text[max(0, position - EMOJI_LENGTH) : position]
    base = next(
        (near for near in reversed(nearby) if ord(near) not in VARIATION_SELECTORS and ord(near) not in TAGS), ""
    )
    if code == JOINER:
        after = text[position + 1 : position + 2]
        return _pictographic(base) and _pictographic(after)
    if code in TAGS:
        return base == "\N{WAVING BLACK FLAG}"
    keycap = base in "0123456789#*" and text[position + 1 : position + 2] == chr(KEYCAP)
    return _pictographic(base) or (base != "" and keycap)


def _pictographic(character: str) -> bool:
    """Whether the character is drawn as a sign that selectors and joiners apply to."""
    if not character:
        return False
    symbol = unicodedata.category(character) in ("So", "Sk", "Sm") and ord(character) >= 0xA9
    return symbol or 0x1F000 <= ord(character) <= 0x1FAFF or character in "\u203c\u2049"


def _mixed_script(text: str) -> frozenset[int]:
    """Positions of letters from the rarer scripts of a word that mixes Latin, Cyrillic or Greek."""
    positions: set[int] = set()
    if text.isascii():
        return frozenset()
    for word in WORD.finditer(text):
        if word.group().isascii():
            continue
        scripts: dict[str, list[int]] = {}
        for position, character in enumerate(word.group(), start=word.start()):
            script = unicodedata.name(character, "").partition(" ")[0]
            if script in MIXED_SCRIPTS:
                scripts.setdefault(script, []).append(position)
        # A tie is settled for Latin, the script of the keyboard.
        kept = max(scripts, key=lambda script: (len(scripts[script]), script == "LATIN"), default=None)
        positions.update(place for script, places in scripts.items() if script != kept for place in places)
    return frozenset(positions)


def _name(character: str) -> str:
    code = ord(character)
    if code == 0xFEFF:
        return "ZERO WIDTH NO-BREAK SPACE (BYTE ORDER MARK)"
    if unicodedata.category(character) == "Cs":
        return "HALF OF A SURROGATE PAIR"
    return CONTROL_NAMES.get(code, unicodedata.name(character, "CONTROL CHARACTER"))


def _place(positions: list[int]) -> str:
    """Where, in words: "at the start", "after character 14", "after characters 3, 14, 20 and 5 more"."""
    if positions == [0]:
        return "at the start"
    shown = ", ".join(grouped(position) for position in positions[:PLACES_SHOWN])
    more = f" and {grouped(len(positions) - PLACES_SHOWN)} more" if len(positions) > PLACES_SHOWN else ""
    return f"after character{'s' if len(positions) > 1 else ''} {shown}{more}"


def _runs(blanks: str) -> list[tuple[str, int]]:
    """The characters of a string of white space by name, equal neighbours counted together."""
    runs: list[tuple[str, int]] = []
    for blank in blanks:
        name = {" ": "space", "\n": "newline", "\t": "tab"}.get(blank) or f"{code_point(blank)} {_name(blank)}"
        if runs and runs[-1][0] == name:
            runs[-1] = (name, runs[-1][1] + 1)
        else:
            runs.append((name, 1))
    return runs


def _lost(text: str, position: int) -> bool:
    """Whether the space at `position` is at an end of a line or beside another space."""
    before, after = text[position - 1 : position], text[position + 1 : position + 2]
    return any(neighbour in ("", " ", "\n") for neighbour in (before if position else "", after))
