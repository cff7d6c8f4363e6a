"""Text and numbers as charts show them.

Plotly reads tags, entities, $…$ and %{…} in every label, so whatever a user or a model wrote goes
through `escaped`, `brief` or `wrapped`, and never into a hovertemplate or texttemplate.
"""

import html
import unicodedata
from collections.abc import Sequence

import regex

from analysis.text import grouped
from analysis.tokens import graphemes, shown

LABEL = 24  # columns of a row's label: leaves half of a 420 px screen to the plot
LINE = 56  # columns of a hover's line
HOVER_CHARACTERS = 2_000  # a longer text is cut in the hover; tables and exports have all of it


def escaped(text: str) -> str:
    """All of `text`, in one line, with everything in it visible and nothing in it read as markup."""
    return _markup(shown(text))


def brief(text: str, columns: int = LABEL) -> str:
    """The beginning of `text`, escaped, at most `columns` wide; no visible character is cut."""
    characters = graphemes(shown(text[: 8 * columns + 8]))
    if width("".join(characters)) <= columns and len(text) <= 8 * columns + 8:
        return escaped(text)
    kept, used = [], 1  # the ellipsis
    for character in characters:
        used += width(character)
        if used > columns:
            break
        kept.append(character)
    return _markup("".join(kept) + "…")


def wrapped(text: str, characters: int = HOVER_CHARACTERS, columns: int = LINE) -> str:
    """`text` for a hover, escaped, in lines of at most `columns`; ⏎ ends a line; cut where it is very long."""
    cut = len(text) > characters
    lines = [""]
    for word in regex.findall(r"\S+\s*|\s+", shown(text[:characters]).replace("⏎", "⏎ ")):
        pieces = [word] if width(word) <= columns else graphemes(word)
        for piece in pieces:
            if lines[-1] and (width(lines[-1] + piece.rstrip()) > columns or lines[-1].endswith("⏎ ")):
                lines.append("")
            lines[-1] += piece
    if cut:
        lines.append(f"… ({grouped(len(text))} characters)")
    return "<br>".join(_markup(line.replace("⏎ ", "⏎")) for line in lines)


def number(value: float, decimals: int = 2) -> str:
    """A number with a real minus sign and fixed decimals; what rounds to 0 has no sign."""
    text = f"{value:.{decimals}f}"
    if float(text) == 0:
        return text.lstrip("-")
    return text.replace("-", "−")


def signed(value: float, decimals: int = 2) -> str:
    """As `number`, with a plus sign too."""
    text = number(value, decimals)
    return text if text.startswith("−") or float(text) == 0 else f"+{text}"


def p_value(p: float) -> str:
    """A p-value with two digits that count: "0.52", "0.025"."""
    return f"{p:.3f}" if p < 0.1 else f"{p:.2f}"


def column(texts: Sequence[str]) -> list[str]:
    """Numbers of one format padded in front to one width, so that their digits stand in columns."""
    longest = max((len(text) for text in texts if _is_number(text)), default=0)
    return [text.rjust(longest, "\N{FIGURE SPACE}") if _is_number(text) else text for text in texts]


def probability(target: str, foil: str | None = None) -> str:
    """What is explained, for a legend: "p(·Paris)", "p(·Paris) against p(·Rome)"."""
    what = f"p({brief(target, 20)})"
    return what if foil is None else f"{what} against p({brief(foil, 20)})"


def log_probability(target: str, foil: str | None = None) -> str:
    """The same in nats, for an axis: "log p(·Paris)", "log p(·Paris) − log p(·Rome)"."""
    what = f"log p({brief(target, 10)})"
    return what if foil is None else f"{what} − log p({brief(foil, 10)})"


def width(text: str) -> int:
    """Columns of a fixed-width font: two for wide characters, none for marks."""
    if text.isascii() and text.isprintable():
        return len(text)
    return sum(
        0 if unicodedata.category(c) in ("Mn", "Me", "Cf") else 2 if unicodedata.east_asian_width(c) in "WF" else 1
        for c in text
    )


def _is_number(text: str) -> bool:
    return text.lstrip("+−").replace(".", "", 1).isdigit()


def _markup(visible: str) -> str:
    """Text that is to be drawn as it stands, for Plotly. Quotes stay: it knows no entity for them."""
    # In titles and legends Plotly would look up %{…} in the figure's meta.
    text = html.escape(visible, quote=False).replace("$", "&#36;").replace("%{", "&#37;{")
    # Right-to-left text must not reorder the numbers beside it.
    return f"\u2068{text}\u2069" if any(unicodedata.bidirectional(c) in ("R", "AL", "AN") for c in visible) else text
