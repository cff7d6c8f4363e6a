"""An analysis to take away: JSON for programs, CSV for spreadsheets, HTML for people."""

import csv
import io
import math
from collections.abc import Sequence

from analysis.explore import entropy, rank
from analysis.report_html import to_html
from analysis.report_json import finite, to_json
from analysis.results import Analysis, Answer, CandidateScores, PromptResult
from analysis.validation import SURROGATE

__all__ = ["to_csv", "to_html", "to_json"]

BYTE_ORDER_MARK = "\ufeff"  # or spreadsheets read UTF-8 as something else


def to_csv(
    analysis: Analysis,
    answers: Sequence[Answer | None] | None = None,
    candidates: Sequence[CandidateScores | None] | None = None,
) -> str:
    """One record per prompt, with a header; begins with a byte order mark and ends lines with CR LF.

    `answers` and `candidates` have one entry per prompt; each candidate is a column of its summed
    log-prob. What was not computed is an empty cell. Texts are exactly as they were typed or
    generated, quoted where they hold separators or line breaks; only half a surrogate pair, which no file can hold,
    is U+FFFD. A spreadsheet may take a text that
    begins with =, +, - or @ for a formula: import such a file with its columns as text. As a prompt
    set, the file opens with the same texts, labels, kinds, targets and expected answers.
    """
    none: list[None] = [None] * len(analysis.prompts)
    named = list(dict.fromkeys(text for scores in candidates or () if scores for text in scores.texts))
    records = [
        _record(result, answer) | {_column(text): _candidate(scores, text) for text in named}
        for result, answer, scores in zip(analysis.prompts, answers or none, candidates or none, strict=True)
    ]
    output = io.StringIO(newline="")
    writer = csv.DictWriter(output, list(records[0]))
    writer.writeheader()
    writer.writerows(records)
    return BYTE_ORDER_MARK + SURROGATE.sub("\ufffd", output.getvalue())


def _record(result: PromptResult, answer: Answer | None) -> dict[str, object]:
    row, trace = result.row, result.trace
    error = next((note.text for note in result.notes if note.level == "error"), None)
    others = " ".join(f"{note.text}." for note in result.notes if note.level != "error")
    return {
        "label": row.label,
        "kind": row.kind,
        "text": row.prompt.text,
        "mode": row.prompt.mode,
        "system": row.prompt.system,
        "prefill": row.prompt.prefill,
        "target": trace.target.text if trace else None,
        "expected": row.expected,
        "answer": answer.text if answer else None,
        "log_prob": finite(trace.log_prob) if trace else None,
        "probability": finite(math.exp(trace.log_prob)) if trace else None,
        "delta": None if result.delta is None else finite(result.delta),
        "rank": rank(trace) if trace else None,
        "entropy": finite(entropy(trace)) if trace else None,
        "tokens": len(trace.tokens) if trace else None,
        "same_tokens_as": result.duplicate_of,
        "error": error,
        "notes": others,
    }


def _column(candidate: str) -> str:
    return f"log p({candidate!r})"


def _candidate(scores: CandidateScores | None, text: str) -> object:
    if scores is None or text not in scores.texts:
        return None
    return finite(float(scores.sums[scores.texts.index(text)]))
