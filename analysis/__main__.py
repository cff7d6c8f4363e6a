"""The dashboard's analyses without a browser.

    python -m analysis examples                       what is built in
    python -m analysis example antonym > SET.json     one of them as a file
    python -m analysis analyse SET.json --out RESULT.json --report REPORT.html --csv TABLE.csv

Ends with 0 when done, 2 on bad input (one line says which file, where, and why), 130 when stopped.
"""

import argparse
import os
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO, NoReturn

from analysis.examples import EXAMPLES
from analysis.limits import MAX_UPLOAD_BYTES
from analysis.open_file import load_any
from analysis.output_file import OutputError, check, write
from analysis.prompt_files import dump_json
from analysis.prompt_tables import Loaded
from analysis.text import grouped, shortened
from analysis.validation import PromptSetError

STANDARD = "-"  # the standard input or output in place of a file


class BadInput(Exception):
    """What the user gave cannot be used; the message is one sentence."""


class Parser(argparse.ArgumentParser):
    """One line on an error, as everywhere."""

    def error(self, message: str) -> NoReturn:
        raise BadInput(f"{message}; {self.prog} --help says more")


def main(arguments: list[str] | None = None) -> int:
    try:
        options = _parser().parse_args(arguments)
        options.run(options)
    except (BadInput, PromptSetError, OutputError) as error:
        print(" ".join(str(error).splitlines()), file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("stopped", file=sys.stderr)
        return 130
    except BrokenPipeError:  # the reader of the output has gone; so may what is left of it
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = Parser(prog="python -m analysis", description="Prompt Sensitivity Lab without a browser.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    analyse = commands.add_parser("analyse", help="analyse a prompt set and write the results")
    analyse.add_argument(
        "set", metavar="SET", help="a prompt set (JSON), a table (CSV, TSV) or a list (TXT); - reads JSON"
    )
    analyse.add_argument("--out", required=True, metavar="RESULT.json", help="all results as JSON; - prints them")
    analyse.add_argument("--report", metavar="REPORT.html", help="a self-contained report")
    analyse.add_argument("--csv", metavar="TABLE.csv", help="one row per prompt")
    analyse.add_argument("--metrics", metavar="METRICS.csv", help="one row per sensitivity metric")
    analyse.add_argument("--matrices", metavar="MATRICES.csv", help="one row per pair of prompts and matrix")
    analyse.add_argument(
        "--model", help="default, gemma-3-270m, a Hugging Face id, a folder or a .gguf file (default: the set's)"
    )
    analyse.add_argument(
        "--accept-terms", action="store_true", help="accept the model's terms of use, where it has any"
    )
    analyse.add_argument("--dtype", default="auto", help="auto, float32, bfloat16 or float16")
    analyse.add_argument("--device", default="auto", help="auto, cpu, cuda or mps")
    analyse.add_argument(
        "--no-answers", action="store_true", help="leave out greedy answers and what is computed from them"
    )
    analyse.add_argument(
        "--patch", action="store_true", help="add the patch curves of the reference with every other prompt"
    )
    analyse.set_defaults(run=_analyse)
    examples = commands.add_parser("examples", help="list the built-in prompt sets")
    examples.set_defaults(run=lambda options: _print("".join(f"{e.key:<20}{e.title}. {e.shows}\n" for e in EXAMPLES)))
    example = commands.add_parser("example", help="print a built-in prompt set")
    example.add_argument("key", metavar="KEY")
    example.set_defaults(run=_example)
    return parser


def _example(options: argparse.Namespace) -> None:
    found = next((example for example in EXAMPLES if example.key == options.key), None)
    if found is None:
        keys = ", ".join(example.key for example in EXAMPLES)
        raise BadInput(f"there is no example {shortened(options.key)!r}; the examples are {keys}")
    _print(dump_json(found.prompt_set))


def _analyse(options: argparse.Namespace) -> None:
    loaded = _load(options.set)
    source = "standard input" if options.set == STANDARD else Path(options.set).name
    outputs = {name: getattr(options, name) for name in ("out", "report", "csv", "metrics", "matrices")}
    outputs = {name: path for name, path in outputs.items() if path is not None}
    _check_outputs(options.set, outputs)
    for note in loaded.notes:
        print(f"{source}: {note}", file=sys.stderr)
    texts = _results(loaded, source, options, _progress())
    for name, path in outputs.items():
        if path == STANDARD:
            _print(texts[name])
        else:
            write(Path(path), texts[name])


def _load(name: str) -> Loaded:
    if name == STANDARD:
        return load_any(_read(sys.stdin.buffer, "standard input"), "standard input.json")
    path = Path(name)
    try:
        with path.open("rb") as file:
            data = _read(file, shortened(name, 200))
    except OSError as error:
        raise BadInput(f"{shortened(name, 200)}: cannot be read ({(error.strerror or str(error)).lower()})") from None
    return load_any(data, path.name)


def _read(file: BinaryIO, name: str) -> bytes:
    """All of a file, which may have no end (/dev/zero)."""
    data = file.read(MAX_UPLOAD_BYTES + 1)
    if len(data) > MAX_UPLOAD_BYTES:
        limit = f"{MAX_UPLOAD_BYTES // 1024**2} MB ({grouped(MAX_UPLOAD_BYTES)} bytes)"
        raise BadInput(f"{name}: is larger than {limit}, and no larger file is opened")
    return data


def _check_outputs(source: str, outputs: dict[str, str]) -> None:
    """Refuse before the long work what could not be written after it, or would overwrite something needed."""
    taken = {} if source == STANDARD else {Path(source).resolve(): "the prompt set"}
    for name, path in outputs.items():
        place = Path(STANDARD) if path == STANDARD else Path(path).resolve()
        if place in taken:
            raise BadInput(f"--{name} {shortened(path, 200)}: is {taken[place]} already; name another file")
        taken[place] = f"the output of --{name}"
        if path != STANDARD:
            check(Path(path))


def _results(
    loaded: Loaded, source: str, options: argparse.Namespace, report: Callable[[str], Callable[..., object]]
) -> dict[str, str]:
    """Everything computed, as the text of each output."""
    report("starting")(0.0)
    _quiet()
    from analysis import explore, findings
    from analysis.measured import measured
    from analysis.model import ModelError, ModelSpec, load
    from analysis.patching import PatchingError, against_reference
    from analysis.report import to_csv, to_html, to_json
    from analysis.report_extras import extras
    from analysis.report_figures import report_figures
    from analysis.report_sensitivity import matrices_csv, metrics_csv
    from analysis.responses import response_scores
    from analysis.sensitivity import sensitivity

    prompt_set = loaded.prompt_set
    spec = ModelSpec(
        options.model or prompt_set.model, options.dtype, options.device, accept_terms=options.accept_terms
    )
    try:
        lm = load(spec, report("loading the model"))
    except ModelError as error:
        raise BadInput(f"{'--model' if options.model else f'{source}: model'}: {error}") from None
    caches = explore.Caches()
    analysis = explore.analyse(lm, prompt_set, caches, report=report("tracing"))
    failed = [(result, note) for result in analysis.prompts if result.trace is None for note in result.notes]
    if analysis.reference.trace is None:
        said = failed[0][1].text
        raise BadInput(f"{source}: {said}" if said.startswith("reference") else f"{source}: reference: {said}")
    for _, note in failed:
        print(f"{source}: {note.text}", file=sys.stderr)
    candidates = explore.candidate_scores(lm, analysis, caches, report("scoring candidates"))
    answers, responses = None, None
    if not options.no_answers:
        answers = explore.answers_of(lm, analysis, caches, report("answering"))
        responses = response_scores(lm, analysis, answers, caches.scores, report("scoring answers"))
    found = sensitivity(analysis, answers, posix=responses.posix if responses else None)
    made = measured(analysis, answers, responses, candidates=candidates)
    patches = None
    if options.patch:
        try:
            patches = against_reference(lm, analysis, report("exchanging states"))
        except PatchingError as error:
            print(f"{source}: {error}", file=sys.stderr)
    report("writing")(1.0)
    texts = {
        "out": to_json(
            analysis,
            lm.encoder.piece,
            answers=answers,
            candidates=candidates,
            sensitivity=found,
            measured=made,
            extras=extras(analysis, patches),
        ),
        "csv": to_csv(analysis, answers, candidates) if options.csv else "",
        "metrics": metrics_csv(made.metrics),
        "matrices": matrices_csv(analysis, made.matrices),
        "report": to_html(
            analysis,
            finding=findings.explore(analysis, answers),
            answers=answers,
            candidates=candidates,
            sensitivity=found,
            figures=report_figures(analysis, lm.encoder.name_of),
        )
        if options.report
        else "",
    }
    report("")(1.0)
    return texts


def _quiet() -> None:
    """Keep the libraries' own remarks and progress bars off the standard error, before they are imported."""
    os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
    os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")
    if not sys.warnoptions:
        warnings.simplefilter("ignore")
    from transformers.utils import logging

    logging.disable_progress_bar()


def _progress() -> Callable[[str], Callable[..., object]]:
    """Stage → what is called with its progress: one line, rewritten, and only on a terminal."""
    shown = sys.stderr.isatty()

    def stage(name: str) -> Callable[..., object]:
        def report(fraction: float, text: str = "") -> None:
            if shown:
                line = f"{text or name}: {fraction:4.0%}" if name else ""
                print(f"\r\x1b[K{line}", end="", file=sys.stderr, flush=True)

        return report

    return stage


def _print(text: str) -> None:
    """To the standard output in UTF-8, whatever the terminal's encoding."""
    sys.stdout.flush()
    sys.stdout.buffer.write(text.encode())
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    sys.exit(main())
