"""A prompt set in the address of a page: JSON, compressed, in the alphabet that addresses may use.

A link is anybody's input, so reading one is bounded: in the link's length, in what it unpacks to,
and then by every rule that a file is held to.
"""

import base64
import binascii
import json
import re
import zlib

from analysis.limits import MAX_LINK_CHARACTERS, MAX_UPLOAD_BYTES
from analysis.prompt_files import from_document, parse_json, to_document
from analysis.prompts import PromptSet
from analysis.text import grouped
from analysis.validation import SURROGATE, PromptSetError

SOURCE = "the link"
ALPHABET = re.compile(r"[A-Za-z0-9_-]+", re.ASCII)
DAMAGED = f"{SOURCE}: is incomplete or was changed on its way; ask for it again, or for the file"


class LinkTooLong(PromptSetError):
    """The set does not fit into a link; the message names the size and the limit."""


def to_link_fragment(prompt_set: PromptSet) -> str:
    """The set as one word of letters, digits, "-" and "_". Raises LinkTooLong."""
    text = json.dumps(to_document(prompt_set, brief=True), ensure_ascii=False, separators=(",", ":"))
    if SURROGATE.search(text):
        raise PromptSetError("the set holds half of a character, which a link has no place for")
    data = text.encode()
    fragment = base64.urlsafe_b64encode(zlib.compress(data, 9)).decode().rstrip("=")
    if len(fragment) > MAX_LINK_CHARACTERS or len(data) > MAX_UPLOAD_BYTES:
        size = f"{grouped(len(fragment))} characters; links have at most {grouped(MAX_LINK_CHARACTERS)}"
        raise LinkTooLong(f"the set is too long for a link ({size}): download the file instead")
    return fragment


def from_link(fragment: str) -> PromptSet:
    """The set of a fragment that `to_link_fragment` made. Raises PromptSetError."""
    fragment = fragment.strip()
    if len(fragment) > MAX_LINK_CHARACTERS:
        size = f"{grouped(len(fragment))} characters; links have at most {grouped(MAX_LINK_CHARACTERS)}"
        raise PromptSetError(f"{SOURCE}: has {size}")
    if not ALPHABET.fullmatch(fragment):
        raise PromptSetError(DAMAGED)
    try:
        text = _unpacked(base64.urlsafe_b64decode(fragment + "=" * (-len(fragment) % 4))).decode()
    except (binascii.Error, zlib.error, UnicodeDecodeError):
        raise PromptSetError(DAMAGED) from None
    return from_document(parse_json(text, SOURCE), SOURCE)


def _unpacked(data: bytes) -> bytes:
    """Decompress, but never more than a file may have; data that goes on or stops early is damaged."""
    unpacking = zlib.decompressobj()
    unpacked = unpacking.decompress(data, MAX_UPLOAD_BYTES)
    if not unpacking.eof:
        if len(unpacked) >= MAX_UPLOAD_BYTES:
            raise PromptSetError(f"{SOURCE}: unpacks to more than {grouped(MAX_UPLOAD_BYTES)} bytes")
        raise PromptSetError(DAMAGED)
    if unpacking.unused_data:
        raise PromptSetError(DAMAGED)
    return unpacked
