"""Files written whole or not at all."""

import os
import shutil
from pathlib import Path


class OutputError(Exception):
    """A file that cannot be written; the message is one sentence that begins with its path."""


def check(path: Path) -> None:
    """Raise OutputError if `path` cannot be written, by trying; leaves nothing behind."""
    try:
        target = path.resolve()
        if _special(target):
            return
        if target.is_dir():
            raise OutputError(f"{path}: is a folder; name a file in it")
        if not target.parent.is_dir():
            raise OutputError(f"{path}: cannot be written, because there is no folder {target.parent}")
        if target.exists() and not os.access(target, os.W_OK):
            raise OutputError(f"{path}: cannot be written (permission denied)")
        beside = _beside(target)
        beside.open("x").close()
        beside.unlink()
    except OSError as error:
        raise _error(path, error) from None


def write(path: Path, text: str) -> None:
    """Write `text` as UTF-8, line ends as they are; a file that is there stays until the new one is complete.

    A link stays a link, a device (/dev/stdout) is written to. Raises OutputError.
    """
    target = path.resolve()
    try:
        if _special(target):
            target.write_bytes(text.encode())
            return
        beside = _beside(target)
        try:
            with beside.open("xb") as file:
                file.write(text.encode())
                file.flush()
                os.fsync(file.fileno())
            if target.exists():
                shutil.copymode(target, beside)
            beside.replace(target)
        except BaseException:
            beside.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise _error(path, error) from None


def _special(target: Path) -> bool:
    return target.exists() and not target.is_file() and not target.is_dir()


def _beside(target: Path) -> Path:
    """A name on the same disk, so that the finished file can take its place in one step."""
    return target.with_name(f".analysis-{os.getpid()}.tmp")


def _error(path: Path, error: OSError) -> OutputError:
    return OutputError(f"{path}: cannot be written ({(error.strerror or str(error)).lower()})")
