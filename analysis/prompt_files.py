"""Prompt sets as JSON: what the editor saves and opens, version 1.

    {"version": 1, "reference": "The capital of France is", "target": " Paris",
     "variants": [{"text": "France's capital city is", "kind": "paraphrase", "label": "possessive"}]}

Only `version` and `reference` are required. A key left out has the default of `PromptSet` or
`Variant`. In a variant a missing `system` is the set's, null is the template's default, and "" an
empty turn. A target is text, a list of token ids, or null. Everything that is not understood is an
error that names its place, so that no setting is lost in silence.

Law: load_json(dump_json(s), "") == s for every set that has no problem but blank rewordings.
"""

import codecs
import difflib
import json
from collections.abc import Callable
from dataclasses import MISSING, fields
from typing import Any

from analysis.prompts import MODES, Message, PromptSet, Variant
from analysis.text import grouped, invisible_characters, shortened
from analysis.validation import SURROGATE, PromptSetError, problems

VERSION = 1

Reader = Callable[[object, str], object]


def load_json(text: str | bytes, source: str) -> PromptSet:
    """Read a set from JSON. Raises PromptSetError with one sentence that starts with `source`."""
    return from_document(parse_json(decode(text, source) if isinstance(text, bytes) else text, source), source)


def dump_json(prompt_set: PromptSet) -> str:
    """Write a set as indented JSON that ends in a newline; letters stay readable, what cannot be seen is escaped.

    Raises PromptSetError for half a surrogate pair, which no encoding has a place for.
    """
    text = json.dumps(to_document(prompt_set), ensure_ascii=False, indent=2) + "\n"
    if half := SURROGATE.search(text):
        raise PromptSetError(f"the set holds U+{ord(half.group()):04X}, half of a character, which cannot be saved")
    unseen = {found.character for found in invisible_characters(text) if found.sort == "invisible"}
    return text.translate({ord(character): json.dumps(character)[1:-1] for character in unseen})


def to_document(prompt_set: PromptSet, brief: bool = False) -> dict[str, object]:
    """The set as JSON values. `brief` leaves out all that is as by default."""
    document: dict[str, object] = {"version": VERSION}
    for key in SET_KEYS:
        value = getattr(prompt_set, key)
        if key != "reference" and value == _default(PromptSet, key) and (brief or key in ("prefill", "control_tokens")):
            continue
        if key == "variants":
            document[key] = [_variant_document(variant, brief) for variant in prompt_set.variants]
        elif key == "turns":
            document[key] = [{"role": turn.role, "content": turn.content} for turn in prompt_set.turns]
        else:
            document[key] = list(value) if isinstance(value, tuple) else value
    return document


def from_document(document: object, source: str) -> PromptSet:
    """The set that JSON values stand for; the counterpart of `to_document`."""
    try:
        prompt_set = _prompt_set(document)
    except PromptSetError as error:
        raise PromptSetError(f"{source}: {error}") from None
    for problem in problems(prompt_set):
        if not problem.blank:
            raise PromptSetError(f"{source}: {problem.place} {problem.fault}")
    return prompt_set


def parse_json(text: str, source: str) -> object:
    """JSON values of a text; strict about what JSON forbids (NaN) and what would lose data (a key given twice)."""
    try:
        return json.loads(text.removeprefix("\ufeff"), object_pairs_hook=_object, parse_constant=_constant)
    except json.JSONDecodeError as error:
        where = f"line {grouped(error.lineno)}, column {grouped(error.colno)}"
        raise PromptSetError(f"{source}: not valid JSON at {where} ({error.msg.lower()})") from None
    except PromptSetError as error:
        raise PromptSetError(f"{source}: {error}") from None
    except RecursionError:
        raise PromptSetError(f"{source}: the JSON is nested too deeply to be a prompt set") from None
    except ValueError:  # Python's limit on the digits of a whole number
        raise PromptSetError(f"{source}: the JSON holds a number with too many digits") from None


def decode(data: bytes, source: str) -> str:
    """The text of a file: UTF-8, or UTF-16 that says so by its byte order mark. Raises PromptSetError."""
    if data.startswith((codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)):
        raise PromptSetError(f"{source}: is text in UTF-32; save the file as UTF-8")
    utf16 = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    try:
        return data.decode("utf-16" if utf16 else "utf-8-sig")
    except UnicodeDecodeError as error:
        if utf16:
            raise PromptSetError(
                f"{source}: starts like UTF-16, but byte {grouped(error.start)} does not fit it"
            ) from None
        line = data[: error.start].count(b"\n") + 1
        raise PromptSetError(
            f"{source}: line {grouped(line)} is not UTF-8 text (byte 0x{data[error.start]:02X}); save the file as UTF-8"
        ) from None


def _prompt_set(document: object) -> PromptSet:
    if not isinstance(document, dict):
        raise PromptSetError(f"a prompt set is a JSON object, this is {_kind_of(document)}")
    if "version" not in document:
        raise PromptSetError(f'"version" is missing; a prompt set has at least "version": {VERSION} and "reference"')
    version = document["version"]
    if version != VERSION or type(version) is not int:
        raise PromptSetError(f"version {_shown(version)} is not known; this reads version {VERSION}")
    if "reference" not in document:
        raise PromptSetError('"reference" is missing; it is the prompt that the others are compared with')
    settings = {key: value for key, value in document.items() if key != "version"}
    return PromptSet(**_read(settings, SET_KEYS, ""))


def _read(document: dict[str, object], readers: dict[str, Reader], place: str) -> dict[str, Any]:
    """The values of the keys that are there, each read by its own reader; other keys are errors."""
    values = {}
    for key, value in document.items():
        if key not in readers:
            close = difflib.get_close_matches(key, readers, n=1)
            meant = f'; did you mean "{close[0]}"?' if close else f"; the keys are {', '.join(readers)}"
            raise PromptSetError(f'{place or "the set"} has an unknown key "{shortened(key)}"{meant}')
        values[key] = readers[key](value, f"{place}.{key}" if place else key)
    return values


def _variants(value: object, place: str) -> tuple[Variant, ...]:
    variants = []
    for index, item in enumerate(_list(value, place)):
        here = f"{place}[{index}]"
        document = _dictionary(item, here)
        if "text" not in document:
            raise PromptSetError(f'{here} has no "text"')
        variants.append(Variant(**_read(document, VARIANT_KEYS, here)))
    return tuple(variants)


def _turns(value: object, place: str) -> tuple[Message, ...]:
    turns = []
    for index, item in enumerate(_list(value, place)):
        here = f"{place}[{index}]"
        document = _dictionary(item, here)
        for key in ("role", "content"):
            if key not in document:
                raise PromptSetError(f'{here} has no "{key}"')
        turns.append(Message(**_read(document, {"role": _text, "content": _text}, here)))
    return tuple(turns)


def _text(value: object, place: str) -> str:
    if not isinstance(value, str):
        raise _mismatch(place, "text", value)
    return value


def _mode(value: object, place: str) -> str:
    if value not in MODES:
        raise PromptSetError(f"{place} must be {' or '.join(MODES)}, it is {_shown(value)}")
    return str(value)


def _flag(value: object, place: str) -> bool:
    if not isinstance(value, bool):
        raise _mismatch(place, "true or false", value)
    return value


def _whole_number(value: object, place: str) -> int:
    if type(value) is not int:
        raise _mismatch(place, "a whole number", value)
    return value


def _texts(value: object, place: str) -> tuple[str, ...]:
    return tuple(_text(item, f"{place}[{index}]") for index, item in enumerate(_list(value, place)))


def _continuation(value: object, place: str) -> str | tuple[int, ...]:
    if isinstance(value, list):
        return tuple(_whole_number(item, f"{place}[{index}]") for index, item in enumerate(value))
    if not isinstance(value, str):
        raise _mismatch(place, "text, a list of token ids, or null", value)
    return value


def _optional(reader: Reader) -> Reader:
    return lambda value, place: None if value is None else reader(value, place)


def _list(value: object, place: str) -> list[object]:
    if not isinstance(value, list):
        raise _mismatch(place, "a list", value)
    return value


def _dictionary(value: object, place: str) -> dict[str, object]:
    if not isinstance(value, dict):
        raise _mismatch(place, "an object", value)
    return value


#: The keys of a set, in the order in which they are written, and how each is read.
SET_KEYS: dict[str, Reader] = {
    "name": _text,
    "model": _text,
    "mode": _mode,
    "system": _optional(_text),
    "special_tokens": _flag,
    "control_tokens": _optional(_flag),
    "target": _optional(_continuation),
    "foil": _optional(_continuation),
    "candidates": _optional(_texts),
    "expected": _optional(_text),
    "response_tokens": _whole_number,
    "turns": _turns,
    "prefill": _text,
    "reference": _text,
    "variants": _variants,
}
VARIANT_KEYS: dict[str, Reader] = {
    "text": _text,
    "kind": _text,
    "label": _text,
    "enabled": _flag,
    "mode": _optional(_mode),
    "system": _optional(_text),
    "prefill": _optional(_text),
    "target": _optional(_continuation),
    "expected": _optional(_text),
    "candidates": _optional(_texts),
    "same_meaning": _optional(_flag),
}


def _variant_document(variant: Variant, brief: bool) -> dict[str, object]:
    document: dict[str, object] = {}
    for key in VARIANT_KEYS:
        value = getattr(variant, key)
        always = key == "text" or (not brief and key in ("kind", "label"))
        if always or value != _default(Variant, key):
            document[key] = list(value) if isinstance(value, tuple) else value
    return document


def _default(owner: type, key: str) -> object:
    """The default of a dataclass field; MISSING, which equals no value, where it has none."""
    return next((field.default for field in fields(owner) if field.name == key), MISSING)


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    document: dict[str, object] = {}
    for key, value in pairs:
        if key in document:
            raise PromptSetError(f'the key "{shortened(key)}" is given twice in one object')
        document[key] = value
    return document


def _constant(name: str) -> object:
    raise PromptSetError(f"{name} is not a JSON number")


def _mismatch(place: str, wanted: str, value: object) -> PromptSetError:
    return PromptSetError(f"{place} must be {wanted}, it is {_shown(value)}")


def _kind_of(value: object) -> str:
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    names = {str: "text", int: "a number", float: "a number", list: "a list", dict: "an object"}
    return names[type(value)]


def _shown(value: object) -> str:
    """A JSON value for a message: itself where it is short, else what it is."""
    if isinstance(value, list | dict):
        return _kind_of(value)
    return shortened(json.dumps(value, ensure_ascii=False), 40)
