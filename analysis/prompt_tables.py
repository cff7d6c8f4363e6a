"""Lists and tables of texts: one wording per line, or one per row of a CSV or TSV file.

The first text is the reference. Texts are taken as they are: only line ends and the quoting of the
format go. What was left out is said in the notes.
"""

import csv
import io
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

from analysis.limits import MAX_VARIANTS
from analysis.prompt_files import decode
from analysis.prompts import MODES, PromptSet, Variant
from analysis.text import grouped, shortened
from analysis.validation import PromptSetError, problems

TEXT_COLUMNS = ("text", "prompt", "variant", "paraphrase", "rewording", "wording")
SET_COLUMNS = ("target", "expected", "system", "prefill", "mode")
SETTING_COLUMNS = ("label", "kind", *SET_COLUMNS)
#: promptfoo's column of assertions ("icontains:bonjour"), and those whose operand is an answer's text.
ASSERTIONS = "__expected"
ASSERTION = re.compile(r"[a-z-]+(?:\([^)]*\))?:.*", re.DOTALL)
TEXT_ASSERTION = re.compile(r"(?:i?contains|equals|starts-with):\s*(.*)", re.DOTALL)
SEPARATORS = (",", ";", "\t")
NO_SEPARATOR = "\x1f"
LINE_END = re.compile(r"\r\n|\n|\r")
EXCEL_SEPARATOR = re.compile(r"sep=([,;\t])(?:\r\n|\n|\r)")

Rows = list[list[str]]


@dataclass(frozen=True)
class Loaded:
    """A set that was read, and one sentence for each thing about the reading that the user should know."""

    prompt_set: PromptSet
    notes: tuple[str, ...] = ()


class NoTextColumn(PromptSetError):
    """A table whose columns are named, none of them as one of texts; `columns` can be offered for choice."""

    def __init__(self, message: str, columns: tuple[str, ...]) -> None:
        super().__init__(message)
        self.columns = columns


def load_lines(text: str, source: str = "the list") -> Loaded:
    """A set from a list of texts, one a line. Raises PromptSetError."""
    return set_of_texts(pasted_variants(text), source)


def pasted_variants(text: str) -> tuple[str, ...]:
    r"""The texts of a pasted list: its lines without blank ones, nothing trimmed but the line end.

    A JSON list of strings, and lines that are all JSON strings, are decoded, so that a text with
    newlines can be pasted ("Q: …\nA:").
    """
    lines = [line for line in LINE_END.split(text.removeprefix("\ufeff")) if line.strip()]
    texts = _json_texts(text) or _json_lines(lines) or lines
    return tuple(one for one in texts if one.strip())


def load_table(data: bytes, source: str, text_column: str | None = None) -> Loaded:
    """A set from a CSV or TSV file: comma, semicolon or tab, with or without a header.

    A header names a column of texts (`TEXT_COLUMNS`, or the one given) and any of
    `SETTING_COLUMNS`; the first row's settings are the set's, those of later rows override them
    where they differ. Without a header the first column holds the texts. Raises PromptSetError,
    and NoTextColumn where the user has to say which column is meant.
    """
    text = decode(data, source)
    rows, header = _parse(text, source, text_column)
    if header is None:
        return _headless(rows, source)
    return _with_header(rows[1:], header, source, text_column)


def set_of_texts(texts: Sequence[str], source: str, notes: tuple[str, ...] = ()) -> Loaded:
    """A set of plain texts, the first one its reference."""
    if not texts:
        raise PromptSetError(f"{source}: holds no text; the first text is the reference, the others are rewordings")
    _check_count(len(texts), source)
    variants = tuple(Variant(text) for text in texts[1:])
    return _checked(PromptSet(texts[0], variants), source, notes)


def _json_texts(text: str) -> list[str] | None:
    """The texts of a JSON list of strings; None where the text is anything else."""
    if not text.lstrip().startswith("["):
        return None
    try:
        values = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return values if isinstance(values, list) and all(isinstance(one, str) for one in values) else None


def _json_lines(lines: list[str]) -> list[str] | None:
    """The texts of lines that are a JSON string each; None where one of them is anything else."""
    decoded: list[str] = []
    for line in lines:
        texts = _json_texts(f"[{line}]")
        if texts is None or len(texts) != 1:
            return None
        decoded += texts
    return decoded


def _parse(text: str, source: str, text_column: str | None) -> tuple[Rows, list[str] | None]:
    """The rows of a table, and the names in the first of them where that is a header."""
    parsed = _readings(text, source)
    tops = {separator: _names(rows[0]) for separator, rows in parsed.items() if rows}
    wanted = set(TEXT_COLUMNS) if text_column is None else {_name(text_column)}
    known = wanted | set(SETTING_COLUMNS) | {ASSERTIONS}
    # Of a single named column nothing is cut at commas.
    best_first = sorted(tops, key=lambda one: (-len(known & set(tops[one])), one != NO_SEPARATOR))
    if best_first and wanted & set(tops[best_first[0]]):
        return parsed[best_first[0]], tops[best_first[0]]
    for separator in best_first:
        rows = parsed[separator]
        if text_column is not None or known & set(tops[separator]) or _looks_like_header(tops[separator], rows[1:]):
            raise _no_text_column(tuple(rows[0]), rows[1:], source)
    for separator, rows in parsed.items():
        if separator != NO_SEPARATOR and _is_table(rows):
            return rows, None
    return parsed.get(NO_SEPARATOR, next(iter(parsed.values()))), None


def _readings(text: str, source: str) -> dict[str, Rows]:
    """The rows of the text for each separator with which its quotation marks make sense."""
    separators: tuple[str, ...] = (*SEPARATORS, NO_SEPARATOR)
    if told := EXCEL_SEPARATOR.match(text):
        separators, text = (told.group(1),), text[told.end() :]
    parsed = {}
    last_line = 1
    for separator in separators:
        # strict, so that a quote left open does not swallow the rest of the file into one cell
        reader = csv.reader(io.StringIO(text.lstrip("\r\n"), newline=""), delimiter=separator, strict=True)
        try:
            parsed[separator] = list(reader)
        except csv.Error:
            last_line = max(last_line, reader.line_num)
    if not parsed:
        where = f"in or before line {grouped(last_line)}"
        raise PromptSetError(
            f"{source}: a quotation mark {where} is not closed, or one inside a quoted text is not doubled"
        )
    return parsed


def _name(cell: str) -> str:
    return cell.strip().casefold()


def _names(row: list[str]) -> list[str]:
    return [_name(cell) for cell in row]


def _looks_like_header(names: list[str], rows: Rows) -> bool:
    """Whether a first row of several single words stands above rows of texts."""
    words = len(names) > 1 and all(re.fullmatch(r"[a-z_][\w.-]*", name) for name in names)
    return words and any(" " in cell for row in rows for cell in row)


def _is_table(rows: Rows) -> bool:
    """Whether rows without a header have columns: several rows, equally many cells, no prose cut at commas."""
    filled = [row for row in rows if row]
    prose = any(cell.startswith(" ") for row in filled for cell in row[1:])
    return len(filled) > 1 and len({len(row) for row in filled}) == 1 and len(filled[0]) > 1 and not prose


def _headless(rows: Rows, source: str) -> Loaded:
    columns = max((len(row) for row in rows), default=0)
    texts = [row[0] for row in rows if row and row[0].strip()]
    blank = sum(1 for row in rows if not row or not row[0].strip())
    notes = []
    if columns > 1:
        further = "a second column" if columns == 2 else f"{columns - 1} further columns"
        names = ", ".join((TEXT_COLUMNS[0], *SETTING_COLUMNS))
        notes.append(
            f"{further} without a header {'was' if columns == 2 else 'were'} left out; a header may name {names}"
        )
    return set_of_texts(texts, source, (*notes, *_blank_note(blank)))


def _with_header(rows: Rows, names: list[str], source: str, text_column: str | None) -> Loaded:
    for name in SETTING_COLUMNS:
        if names.count(name) > 1:
            raise PromptSetError(
                f"{source}: the column “{name}” is there {names.count(name)} times; keep the one that counts"
            )
    wanted = TEXT_COLUMNS if text_column is None else (_name(text_column),)
    column = names.index(next(name for name in wanted if name in names))
    _check_count(sum(1 for row in rows if column < len(row) and row[column].strip()), source)
    texts: list[str] = []
    settings: list[dict[str, str]] = []
    notes: list[str] = []
    blank = 0
    for number, row in enumerate(rows, start=2):
        if any(row[len(names) :]):
            fault = f"row {grouped(number)} has {len(row)} cells, the header {len(names)}"
            raise PromptSetError(f"{source}: {fault}; a text that holds the separator must be in quotation marks")
        text = row[column] if column < len(row) else ""
        if not text.strip():
            blank += 1
            continue
        cells = {
            name: cell for place, (name, cell) in enumerate(zip(names, row, strict=False)) if cell and place != column
        }
        settings.append(_settings(cells, f"{source}: row {grouped(number)}", notes))
        texts.append(text)
    if not texts:
        raise PromptSetError(f"{source}: the column “{shortened(names[column])}” holds no text")
    unused = [
        name for place, name in enumerate(names) if place != column and name not in (*SETTING_COLUMNS, ASSERTIONS)
    ]
    if named := [shortened(name) for name in unused if name]:
        notes.append(f"columns left out: {', '.join(named)}")
    shared = settings[0]
    whole: dict[str, str] = {key: shared[key] for key in SET_COLUMNS if key in shared}
    variants = []
    for text, own in zip(texts[1:], settings[1:], strict=True):
        differing = {key: value for key, value in own.items() if whole.get(key) != value}
        variants.append(Variant(text, **differing))  # type: ignore[arg-type]
    prompt_set = PromptSet(texts[0], tuple(variants), **whole)  # type: ignore[arg-type]
    return _checked(prompt_set, source, (*dict.fromkeys(notes), *_blank_note(blank)))


def _settings(cells: dict[str, str], place: str, notes: list[str]) -> dict[str, str]:
    """A row's filled settings by field name; what an assertion asks for is offered in `notes`, not taken."""
    settings = {name: cells[name] for name in SETTING_COLUMNS if name in cells}
    if "mode" in settings:
        settings["mode"] = settings["mode"].strip().casefold()
        if settings["mode"] not in MODES:
            raise PromptSetError(f"{place}: mode must be {' or '.join(MODES)}, it is “{shortened(cells['mode'])}”")
    if assertion := cells.get(ASSERTIONS):
        if ASSERTION.fullmatch(assertion):
            notes.append(_assertion_note(assertion))
        else:  # bare text stands for equality
            settings.setdefault("expected", assertion)
    return settings


def _assertion_note(assertion: str) -> str:
    found = TEXT_ASSERTION.fullmatch(assertion)
    offer = f"; to check for it, use “{shortened(found.group(1))}” as the expected answer" if found else ""
    return (
        f"“{shortened(assertion)}” in the column {ASSERTIONS} is an assertion, not an answer, and was left out{offer}"
    )


def _no_text_column(columns: tuple[str, ...], rows: Rows, source: str) -> NoTextColumn:
    named = ", ".join(shortened(column) for column in columns)
    wanted = f"one of them must be named {', '.join(TEXT_COLUMNS[:-1])} or {TEXT_COLUMNS[-1]}"
    message = f"{source}: no column of texts among {named}; {wanted}"
    names = _names(list(columns))
    if ASSERTIONS in names:
        place = names.index(ASSERTIONS)
        assertion = next((row[place] for row in rows if len(row) > place and row[place]), "")
        message += f" ({_assertion_note(assertion)})" if assertion else ""
    return NoTextColumn(message, columns)


def _blank_note(blank: int) -> tuple[str, ...]:
    if not blank:
        return ()
    return (f"{grouped(blank)} row{'s' if blank > 1 else ''} without a text {'were' if blank > 1 else 'was'} skipped",)


def _check_count(texts: int, source: str) -> None:
    if texts > MAX_VARIANTS + 1:
        limit = f"a set has a reference and at most {MAX_VARIANTS} rewordings"
        raise PromptSetError(f"{source}: holds {grouped(texts)} texts; {limit}")


def _checked(prompt_set: PromptSet, source: str, notes: tuple[str, ...]) -> Loaded:
    for problem in problems(prompt_set):
        raise PromptSetError(f"{source}: {problem.sentence}")
    return Loaded(prompt_set, notes)
