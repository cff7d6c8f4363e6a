"""Elements of an HTML page as a tree: whatever a text spells, it is text."""

from collections.abc import Iterable, Sequence
from xml.etree import ElementTree

from analysis.tokens import shown_parts

Element = ElementTree.Element
Child = Element | str | None
Cell = str | Element | list[Child]

#: Columns of numbers, which stand on the right.
NUMBERS = ("log p", "p", "Δ", "rank", "tokens", "lowest", "highest", "JSD", "‖Δh‖ first", "‖Δh‖ last", "mean", "value")


def document(head: Element, body: Element) -> str:
    """A whole page as text."""
    page = element("html", head, body, lang="en")
    return "<!DOCTYPE html>\n" + ElementTree.tostring(page, encoding="unicode", method="html") + "\n"


def element(tag: str, *children: Child, class_: str = "", **attributes: str) -> Element:
    """An element with text and elements inside; None is left out."""
    made = Element(tag, ({"class": class_} if class_ else {}) | attributes)
    for child in children:
        if isinstance(child, str):
            if len(made):
                made[-1].tail = (made[-1].tail or "") + child
            else:
                made.text = (made.text or "") + child
        elif child is not None:
            made.append(child)
    return made


def text(text: str) -> list[Child]:
    """A text of a user or a model, character by character, with a glyph before each unseen one.

    Only control characters and halves of surrogate pairs, which HTML cannot hold, are glyph alone.
    """
    parts: list[Child] = []
    for part, glyph in shown_parts(text):
        if part == glyph:
            parts.append(part)
        else:
            parts.append(element("span", plain(part), class_="mark", **{"data-glyph": glyph.removesuffix(part)}))
    return parts


def plain(text: str) -> str:
    """`text` without what HTML cannot hold."""
    return "".join(
        c for c in text if c in "\n\t" or not (c < " " or "\x7f" <= c <= "\x9f" or "\ud800" <= c <= "\udfff")
    )


def table(caption: str, header: Sequence[str], rows: Iterable[Sequence[Cell]]) -> Element:
    """A table, in a box of its own so that it scrolls rather than widens the page."""
    body = [element("tr", *(_cell(cell, header[place]) for place, cell in enumerate(row))) for row in rows]
    return element(
        "div",
        element(
            "table",
            element("caption", caption) if caption else None,
            element("thead", element("tr", *(_head(title) for title in header))),
            element("tbody", *body),
        ),
        class_="wide",
    )


def _head(title: str) -> Element:
    return element("th", title, class_="number" if title in NUMBERS else "", scope="col")


def _cell(content: Cell, title: str) -> Element:
    children = content if isinstance(content, list) else [content]
    return element("td", *children, class_="number" if title in NUMBERS else "text")
