"""`../shared/cases.md` as values: the input of each case and its table of numbers, decoded, never retyped."""

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from analysis.prompts import INHERIT, PromptSet, Variant

CASES_FILE = Path(__file__).parents[3] / "shared" / "cases.md"

_HEADING = re.compile(r"^### (C\d\d) · (.+)$", re.MULTILINE)
_INPUT = re.compile(r"^```json\n(.*?)\n```$", re.MULTILINE | re.DOTALL)
_SCORE = re.compile(r"(`+)(.+?)(?<!`)\1(?!`) (-?\d+\.\d+)(?: \((\d+) tok\))?")


@dataclass(frozen=True)
class Score:
    """A continuation in a table: its log-prob in nats, summed over its `tokens`."""

    text: str
    log_prob: float
    tokens: int


@dataclass(frozen=True)
class Line:
    """One row of a table: what plain transformers says about one prompt."""

    label: str
    tokens: int
    scores: tuple[Score, ...]
    top: tuple[Score, ...]  # the two likeliest next tokens


@dataclass(frozen=True)
class Case:
    """One report: `input` is its JSON block, `table` is empty where it is about a file."""

    name: str
    kind: str
    input: dict[str, Any]
    table: tuple[Line, ...]

    def line(self, label: str) -> Line:
        return next(line for line in self.table if line.label == label)

    def texts(self) -> dict[str, str]:
        """The prompts by label, the reference first."""
        return {"reference": self.input["reference"]} | {
            label: variant["text"] for label, variant in self.input["variants"].items()
        }

    def prompt_set(self, **settings: Any) -> PromptSet:
        """The case as a set of the product: `targets` as candidates, the first of them as target.

        Control tokens that a text spells are honoured, as in the tables; `settings` override that.
        """
        golds = self.input.get("gold", {})
        variants = []
        for label, variant in self.input["variants"].items():
            targets = variant.get("targets")
            variants.append(
                Variant(
                    variant["text"],
                    kind="negative control" if variant.get("meaning") == "changed" else "paraphrase",
                    label=label,
                    mode=variant.get("mode"),
                    system=variant.get("system", INHERIT),
                    prefill=variant.get("prefill"),
                    target=targets[0] if targets else None,
                    expected=golds.get(label),
                    candidates=tuple(targets) if targets else None,
                )
            )
        common: dict[str, Any] = {
            "name": self.name,
            "mode": self.input["mode"],
            "system": self.input.get("system"),
            "prefill": self.input.get("prefill", ""),
            "special_tokens": False,
            "control_tokens": True,
            "target": self.input["targets"][0],
            "candidates": tuple(self.input["targets"]),
            "expected": golds.get("reference"),
        }
        return PromptSet(self.input["reference"], tuple(variants), **(common | settings))


def read(text: str) -> dict[str, Case]:
    """The cases of the document by name."""
    headings = list(_HEADING.finditer(text))
    ends = [heading.start() for heading in headings[1:]] + [len(text)]
    cases = [_case(heading, text[heading.end() : end]) for heading, end in zip(headings, ends, strict=True)]
    return {case.name: case for case in cases}


def _case(heading: re.Match[str], body: str) -> Case:
    found = _INPUT.search(body)
    assert found, f"{heading[1]} has no input"
    document = json.loads(found[1])
    # A pair of surrogates written as two escapes is one character, which json puts together.
    lines = [line for line in body[found.end() :].splitlines() if line.startswith("| ")][1:]
    return Case(heading[1], heading[2], document, tuple(_line(line) for line in lines))


def _line(line: str) -> Line:
    label, count, scores, top = (cell.strip() for cell in line.strip("|").split(" | "))
    return Line(label, int(count), _scores(scores), _scores(top))


def _scores(cell: str) -> tuple[Score, ...]:
    return tuple(
        Score(_code(ticks, text), float(value), int(tokens or 1)) for ticks, text, value, tokens in _SCORE.findall(cell)
    )


def _code(ticks: str, text: str) -> str:
    """The text of a Markdown code span, with the document's stand-ins for newline and bar undone."""
    if len(ticks) > 1:
        text = text[1:-1]  # one blank on either side sets the text off from its ticks
    return text.replace("\\n", "\n").replace("¦", "|")


CASES = read(CASES_FILE.read_text(encoding="utf-8"))
TABLED = tuple(case for case in CASES.values() if case.table)
