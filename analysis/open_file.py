"""Open whatever file the user has: told by its content first, then by its name.

What cannot be opened gets one sentence that says what it is and what is read instead. Nothing in a
file is ever executed: of YAML not even the tags are looked at.
"""

import codecs
import json
import re
from dataclasses import replace
from pathlib import PurePath

from analysis.limits import MAX_LABEL_CHARACTERS, MAX_UPLOAD_BYTES
from analysis.prompt_files import decode, from_document, parse_json
from analysis.prompt_tables import Loaded, load_lines, load_table, set_of_texts
from analysis.text import grouped, shortened
from analysis.validation import SURROGATE, PromptSetError

READ_INSTEAD = (
    "what is read: a prompt set (JSON), a table with a column named text (CSV, TSV), a list with one text a line (TXT)"
)
AS_CSV = "save the table as CSV (UTF-8) and open that"

#: First bytes of formats that are not text, what to call them, and what to do about it.
BINARY = (
    (b"\x89PNG", "an image", ""),
    (b"\xff\xd8\xff", "an image", ""),
    (b"GIF8", "an image", ""),
    (b"RIFF", "a media file", ""),
    (b"%PDF", "a PDF document", ""),
    (b"PAR1", "a Parquet table", AS_CSV),
    (b"\xd0\xcf\x11\xe0", "an old Excel or Word file", AS_CSV),
    (b"\x1f\x8b", "a compressed file", "unpack it first"),
    (b"7z\xbc\xaf", "an archive", "unpack it first"),
    (b"SQLite format 3\x00", "a database", AS_CSV),
    (b"GGUF", "a model's weights", "open it with the model picker"),
)
SPREADSHEETS = (b"xl/workbook", b"application/vnd.oasis.opendocument.spreadsheet")
TABLES = (".csv", ".tsv", ".tab")
JSON_FILES = (".json", ".cforge", ".ipynb")
PROMPTSOURCE = re.compile(r"^ *[\w-]+: !Template *\r?$", re.MULTILINE)
YAML_FILES = (".yaml", ".yml")
OTHER_FILES = {
    ".jsonl": "JSON Lines",
    ".ndjson": "JSON Lines",
    ".html": "a web page",
    ".htm": "a web page",
    ".xml": "XML",
    ".py": "a program",
    ".toml": "TOML",
}


def load_any(data: bytes, filename: str) -> Loaded:
    """The prompt set in a file. Raises PromptSetError with one sentence that starts with the file's name."""
    name = PurePath(filename.replace("\\", "/")).name
    source = shortened(name) or "the file"
    ending = PurePath(name).suffix.casefold()
    if len(data) > MAX_UPLOAD_BYTES:
        limit = f"{MAX_UPLOAD_BYTES // 1024**2} MB ({grouped(MAX_UPLOAD_BYTES)} bytes)"
        raise PromptSetError(f"{source}: has {grouped(len(data))} bytes; files of up to {limit} are opened")
    if not data:
        raise PromptSetError(f"{source}: is an empty file")
    _refuse_binary(data, source)
    text = decode(data, source)
    if ending in TABLES and not _is_json_object(text):
        loaded = load_table(data, source)
    else:
        loaded = _load_text(text, source, ending)
    if loaded.prompt_set.name:
        return loaded
    # A name that is not UTF-8 comes with halves of characters, which cannot be saved.
    stem = SURROGATE.sub("\ufffd", PurePath(name).stem[:MAX_LABEL_CHARACTERS])
    return replace(loaded, prompt_set=replace(loaded.prompt_set, name=stem))


def _refuse_binary(data: bytes, source: str) -> None:
    for start, what, advice in BINARY:
        if data.startswith(start):
            raise PromptSetError(f"{source}: is {what}; {advice or READ_INSTEAD}")
    if data.startswith(b"PK\x03\x04"):
        if any(mark in data for mark in SPREADSHEETS):
            raise PromptSetError(f"{source}: is a spreadsheet; {AS_CSV}")
        raise PromptSetError(f"{source}: is a ZIP archive or an Office document; {READ_INSTEAD}")
    # A byte order mark says that it is text: our own tables begin with one, and a text may hold U+0000.
    if b"\x00" in data and not data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, codecs.BOM_UTF8)):
        raise PromptSetError(f"{source}: is not a text file; {READ_INSTEAD}")


def _load_text(text: str, source: str, ending: str) -> Loaded:
    templates = PROMPTSOURCE.search(text)
    if templates or ending in YAML_FILES:
        what = "a PromptSource template collection" if templates else "YAML"
        raise PromptSetError(f"{source}: is {what}, of which nothing is read or executed; {READ_INSTEAD}")
    if ending in OTHER_FILES:
        raise PromptSetError(f"{source}: is {OTHER_FILES[ending]}; {READ_INSTEAD}")
    if ending in JSON_FILES or _is_json_object(text):
        return _load_document(parse_json(text, source), source)
    return load_lines(text, source)


def _is_json_object(text: str) -> bool:
    if not text.lstrip("\ufeff \t\r\n").startswith("{"):
        return False
    try:
        return isinstance(json.loads(text.removeprefix("\ufeff")), dict)
    except (ValueError, RecursionError):
        return False


def _load_document(document: object, source: str) -> Loaded:
    if isinstance(document, list) and document and all(isinstance(item, str) for item in document):
        return set_of_texts([item for item in document if item.strip()], source)
    if isinstance(document, dict) and "version" in document and "set" in document and "prompts" in document:
        note = "this is a result: the prompt set that it was computed from was opened, to be analysed anew"
        return Loaded(from_document(document["set"], f"{source}: set"), (note,))
    if what := _other_tool(document):
        raise PromptSetError(f"{source}: is {what}; {READ_INSTEAD}")
    return Loaded(from_document(document, source))


def _other_tool(document: object) -> str | None:
    """What a JSON document of another tool is, by the keys that give it away."""
    if not isinstance(document, dict) or "reference" in document:
        return None
    if isinstance(document.get("flow"), dict) and "nodes" in document["flow"]:
        return "a ChainForge flow"
    if {"prompts", "tests"} & set(document) and "providers" in document:
        return "a promptfoo configuration"
    if "nbformat" in document:
        return "a notebook"
    if "messages" in document:
        return "a chat request or a conversation"
    return None
