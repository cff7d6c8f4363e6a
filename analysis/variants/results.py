"""What the makers of rewordings return: frozen values; start reading here."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Edit:
    """`before`, at [start, end) of the source text, becomes `after`. Offsets are characters of the source."""

    start: int
    end: int
    before: str
    after: str
    rule: str


@dataclass(frozen=True)
class Proposal:
    """One rewording. The edits, in order and without overlap, turn the source into `text`."""

    text: str
    rule: str
    kind: str  # one of `prompts.KINDS`, for the set
    edits: tuple[Edit, ...]
    expected: str | None = None  # where the edit moves the right answer (reordered options); None: as before
    target: str | None = None


@dataclass(frozen=True)
class Generated:
    """All that a rule made of one text. Fewer proposals than asked for always come with a reason."""

    rule: str
    asked: int
    proposals: tuple[Proposal, ...]
    unchanged: int = 0  # attempts that changed nothing
    duplicates: int = 0  # attempts whose text, or token ids, had been there already
    reason: str = ""


def applied(source: str, edits: tuple[Edit, ...]) -> str:
    """The source with its edits made; the rest of the text stays byte for byte."""
    pieces, end = [], 0
    for edit in edits:
        pieces += [source[end : edit.start], edit.after]
        end = edit.end
    return "".join([*pieces, source[end:]])
