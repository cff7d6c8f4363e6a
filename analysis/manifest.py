"""A folder that knows what it should hold, so that a broken cache is noticed before it is used."""

import hashlib
import json
from pathlib import Path

NAME = "manifest.json"
_FORMAT = 1
_SAMPLES, _BLOCK = 64, 4096


def write(folder: Path, source: str) -> None:
    """Record the files of `folder` and what they were made from."""
    files = {
        path.name: {"sample": _sample(path), "sha256": _sha256(path)}
        for path in sorted(folder.iterdir())
        if path.name != NAME
    }
    (folder / NAME).write_text(json.dumps({"format": _FORMAT, "source": source, "files": files}, indent=1))


def fault(folder: Path, source: str, *, thorough: bool = False) -> str | None:
    """What is wrong with `folder`, or None.

    Looks at the size and a sample of each file (milliseconds), and at every byte when `thorough`.
    """
    try:
        manifest = json.loads((folder / NAME).read_text())
        if manifest["format"] != _FORMAT or manifest["source"] != source:
            return f"{folder} was made from something else"
        for name, expected in manifest["files"].items():
            path = folder / name
            if _sample(path) != expected["sample"] or (thorough and _sha256(path) != expected["sha256"]):
                return f"{path} has changed"
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        return f"{folder} cannot be read ({error})"
    return None


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _sample(path: Path) -> str:
    """The size, and the SHA-256 of blocks spread evenly from the first byte to the last."""
    size, digest = path.stat().st_size, hashlib.sha256()
    with path.open("rb") as file:
        for step in range(_SAMPLES):
            file.seek(step * max(size - _BLOCK, 0) // (_SAMPLES - 1))
            digest.update(file.read(_BLOCK))
    return f"{size}:{digest.hexdigest()}"
