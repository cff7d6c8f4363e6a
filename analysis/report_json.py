"""An analysis as JSON: what the dashboard exports and `python -m analysis analyse` writes.

The keys, their order and their meaning are those of the README; readers ignore keys that they do not
know, and what was not computed is null. Numbers are plain and finite: where one could not be computed
it is null, and the row's `error` says so. `a`, `b` and `duplicate_of` are places in `prompts`.
"""

import json
import platform
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from importlib import metadata

import numpy as np

from analysis.explore import entropy, rank, top_tokens
from analysis.measured import Measured
from analysis.prompt_files import to_document
from analysis.results import Analysis, Answer, CandidateScores, Note, PromptResult, Target, Trace
from analysis.sensitivity import Sensitivity
from analysis.taylor import Pair, TokenPair, pairs
from analysis.validation import SURROGATE

VERSION = 1
LIBRARIES = ("torch", "transformers", "tokenizers", "numpy", "scipy")
TOP_TOKENS = 10
NOT_FINITE = "some numbers could not be computed (NaN or infinity); they are null"

Piece = Callable[[int], str]


def to_json(
    analysis: Analysis,
    piece: Piece,
    *,
    answers: Sequence[Answer | None] | None = None,
    candidates: Sequence[CandidateScores | None] | None = None,
    sensitivity: Sensitivity | None = None,
    measured: Measured | None = None,
    extras: Mapping[str, object] | None = None,
) -> str:
    """The analysis as JSON text that ends in a newline, one prompt and one pair per line.

    `piece` gives a token's text by its id (`Encoder.piece`). `answers` and `candidates` have one entry
    per prompt. `measured` is written into `sensitivity`. `extras` are further keys of JSON values; one
    of them may be `seed`, which is null where nothing random was drawn.
    """
    none: list[None] = [None] * len(analysis.prompts)
    document: dict[str, object] = {
        "version": VERSION,
        "model": _model(analysis),
        "set": to_document(analysis.prompt_set),
        "target": _target(analysis.target),
        "prompts": [
            _prompt(analysis, place, piece, answer, scores)
            for place, (answer, scores) in enumerate(zip(answers or none, candidates or none, strict=True))
        ],
        "pairs": [_pair(found) for found in pairs(analysis)],
        "sensitivity": None if sensitivity is None else _sensitivity(sensitivity, measured),
        "notes": _notes(analysis.notes),
        "seed": None,
        "libraries": libraries(),
    }
    return written(document | dict(extras or {}))


def libraries() -> dict[str, str]:
    """The versions that the numbers depend on."""
    return {"python": platform.python_version()} | {name: metadata.version(name) for name in LIBRARIES}


def finite(value: object) -> object:
    """JSON values of numbers, arrays, dictionaries and sequences; NaN and infinities become null.

    Float32 keeps its shortest exact form, other numbers nine digits.
    """
    match value:
        case np.ndarray():
            return [finite(one) for one in value] if value.ndim > 1 else [_number(one) for one in value.tolist()]
        case bool() | int() | str() | None:
            return value
        case np.generic():
            return finite(value.item())
        case float():
            return _number(value)
        case Mapping():
            return {str(key): finite(one) for key, one in value.items()}
        case Sequence():
            return [finite(one) for one in value]
    raise TypeError(f"{type(value).__name__} has no place in JSON")


def _number(value: float) -> float | None:
    return float(f"{value:.9g}") if np.isfinite(value) else None


def _model(analysis: Analysis) -> dict[str, object]:
    card = analysis.model
    keys = ("name", "revision", "dtype", "device", "layers", "hidden", "architecture", "parameters", "vocabulary")
    return {key: getattr(card, key) for key in (*keys, "max_tokens")} | {
        "noise_floor": finite(card.noise_floor),
        "unavailable": dict(card.unavailable),
    }


def _target(target: Target | None) -> dict[str, object] | None:
    if target is None:
        return None
    return {
        "text": target.text,
        "ids": list(target.ids),
        "tokens": list(target.pieces),
        "chosen": target.chosen,
        "joined": target.joined,
    }


def _prompt(
    analysis: Analysis, place: int, piece: Piece, answer: Answer | None, candidates: CandidateScores | None
) -> dict[str, object]:
    result = analysis.prompts[place]
    row, trace = result.row, result.trace
    error = next((note.text for note in result.notes if note.level == "error"), None)
    document: dict[str, object] = {"label": row.label, "kind": row.kind}
    document |= _unread(result) if trace is None else _read(trace, piece)
    document |= {
        "answer": None if answer is None else answer.text,
        "answer_tokens": None if answer is None else list(answer.pieces),
        "answer_ids": None if answer is None else list(answer.ids),
        "answer_log_probs": None if answer is None else finite(answer.log_probs),
        "answer_finished": None if answer is None else answer.finished,
    }
    document |= _token_scores(trace)
    document |= {
        "delta": None if result.delta is None else finite(result.delta),
        "index": row.index,
        "control": row.is_control,
        "same_meaning": row.same_meaning,
        "prompt": row.prompt.text,
        "mode": row.prompt.mode,
        "expected": row.expected,
        "own_target": _target(trace.target) if trace is not None and row.own_target else None,
        "duplicate_of": _place_of(analysis, result.duplicate_of),
        "candidates": _candidates(candidates),
        "notes": _notes(result.notes),
        "error": error or (NOT_FINITE if trace is not None and not _all_finite(trace) else None),
    }
    return document


def _unread(result: PromptResult) -> dict[str, object]:
    """The keys of `_read` for a row that failed."""
    keys = ("tokens", "spans", "ids", "roles", "log_prob", "log_probs", "rank", "entropy", "top")
    return {"text": result.row.prompt.text} | dict.fromkeys(keys)


def _read(trace: Trace, piece: Piece) -> dict[str, object]:
    tokens = trace.tokens
    return {
        "text": tokens.text,
        "tokens": list(tokens.pieces),
        "spans": [list(span) for span in tokens.spans],
        "ids": list(tokens.ids),
        "roles": list(tokens.roles),
        "log_prob": finite(trace.log_prob),
        "log_probs": finite(trace.target_log_probs),
        "rank": rank(trace),
        "entropy": finite(entropy(trace)),
        "top": [
            {"token": piece(index), "log_prob": finite(value), "id": index}
            for index, value in top_tokens(trace, TOP_TOKENS)
        ],
    }


def _token_scores(trace: Trace | None) -> dict[str, object]:
    if trace is None:
        return dict.fromkeys(("saliency", "gradient_x_input", "gradient_norm", "hidden_norm", "per_target"))
    norms = [
        {
            "gradient_norm": None if trace.gradient is None else finite(np.linalg.norm(trace.gradient[k], axis=-1)),
            "hidden_norm": finite(np.linalg.norm(trace.hidden[k], axis=-1)),
        }
        for k in range(len(trace.target))
    ]
    return {
        "saliency": None if trace.saliency is None else finite(trace.saliency),
        "gradient_x_input": None if trace.gradient_x_input is None else finite(trace.gradient_x_input),
        **norms[0],
        "per_target": norms if len(norms) > 1 else None,
    }


def _all_finite(trace: Trace) -> bool:
    arrays = (trace.target_log_probs, trace.hidden, trace.gradient, trace.saliency, trace.gradient_x_input)
    return all(bool(np.isfinite(array).all()) for array in arrays if array is not None)


def _candidates(scores: CandidateScores | None) -> list[dict[str, object]] | None:
    if scores is None:
        return None
    return [
        {"text": text, "log_prob": finite(total), "mean": finite(mean), "log_probs": finite(each)}
        for text, total, mean, each in zip(scores.texts, scores.sums, scores.means, scores.log_probs, strict=True)
    ]


def _notes(notes: Sequence[Note]) -> list[dict[str, str]]:
    return [{"level": note.level, "text": note.text} for note in notes]


def _sensitivity(figures: Sensitivity, measured: Measured | None) -> dict[str, object]:
    document = {name: finite(value) for name, value in asdict(figures).items()}
    if measured is None:
        return document | dict.fromkeys(("metrics", "groups", "responses"))
    scores = measured.responses
    return document | {
        "metrics": [finite(asdict(metric)) for metric in measured.metrics],
        "groups": [finite(asdict(group)) for group in measured.groups],
        "responses": None
        if scores is None
        else {"places": list(scores.places), "lengths": list(scores.lengths), "log_probs": finite(scores.log_probs)},
    }


def _place_of(analysis: Analysis, index: int | None) -> int | None:
    """The place in `prompts` of the row with this number in the set."""
    return next((place for place, result in enumerate(analysis.prompts) if result.row.index == index), None)


def _pair(pair: Pair) -> dict[str, object]:
    each = [_token_pair(token) for token in pair.tokens]
    return {
        "a": pair.a,
        "b": pair.b,
        "delta_log_prob": finite(pair.delta),
        **{key: value for key, value in each[0].items() if key != "delta_log_prob"},
        "jsd": finite(pair.jsd),
        "second_order": finite(pair.second),
        "own_target": pair.own_target,
        "per_target": each if len(each) > 1 else None,
    }


def _token_pair(pair: TokenPair) -> dict[str, object]:
    return {
        "delta_log_prob": finite(pair.delta),
        "delta_hidden_norm": finite(pair.distance),
        "relative": finite(pair.relative),
        "cosine_distance": finite(pair.cosine),
        "taylor": finite(pair.taylor),
        "bound": finite(pair.bound),
        "lower": finite(pair.lower),
        "upper": finite(pair.upper),
        "certified": finite(pair.certified),
    }


def written(document: Mapping[str, object]) -> str:
    """JSON with a line per key, and per element of a list of objects: to read, to compare, to search."""
    text = "{\n" + ",\n".join(f"{_compact(key)}: {_lines(value)}" for key, value in document.items()) + "\n}\n"
    # Half a surrogate pair can be written only as an escape.
    return SURROGATE.sub(lambda half: f"\\u{ord(half.group()):04x}", text)


def _lines(value: object) -> str:
    if isinstance(value, list) and value and all(isinstance(one, dict) for one in value):
        return "[\n" + ",\n".join(_compact(one) for one in value) + "\n]"
    return _compact(value)


def _compact(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)
