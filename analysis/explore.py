"""A prompt set, analysed: every row's tokens and target, its trace, its Δ and what is to be said about it.

A row that cannot be analysed becomes a note in one plain sentence; the others keep their results.
"""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from analysis import notes as remarks
from analysis.answers import AnswerCache, answers
from analysis.encoding import EncodingError, encode, encode_target, ids_after, target_from_ids
from analysis.limits import MAX_PROMPT_CHARACTERS
from analysis.lru import Lru
from analysis.model import LanguageModel
from analysis.other_form import other_forms
from analysis.prompts import PromptSet, Row
from analysis.results import Analysis, Answer, CandidateScores, Note, PromptResult, Target, Tokens, Trace
from analysis.scoring import ScoreCache, score
from analysis.text import grouped, shortened
from analysis.trace import Item, TraceCache, traces

Report = Callable[[float], object]


@dataclass(frozen=True, eq=False)
class Caches:
    """What a model has computed, by content; shared by all its sessions."""

    traces: TraceCache = field(default_factory=TraceCache)
    answers: AnswerCache = field(default_factory=lambda: AnswerCache(2000))
    scores: ScoreCache = field(default_factory=lambda: ScoreCache(20_000))
    other: Lru[Hashable, Any] = field(default_factory=lambda: Lru(500))  # attributions, curves … by what made them


@dataclass(frozen=True)
class _Encoded:
    """A row on its way: its item, or the note that says why there is none."""

    row: Row
    item: Item | None
    note: Note | None = None


def analyse(
    lm: LanguageModel,
    prompt_set: PromptSet,
    caches: Caches,
    *,
    attributions: bool = True,
    report: Report = lambda fraction: None,
) -> Analysis:
    """Trace every row of a set and compare it with the reference.

    `report` gets the share done and may raise to stop the run.
    """
    rows = prompt_set.rows()
    tokens = [_tokens(lm, row) for row in rows]
    target, problem = _reference_target(lm, prompt_set, tokens[0], caches)
    encoded = [_encoded(lm, row, read, target, problem) for row, read in zip(rows, tokens, strict=True)]
    items = [entry.item for entry in encoded if entry.item is not None]
    traced = iter(traces(lm, items, attributions=attributions, cache=caches.traces, report=report))
    results: list[PromptResult] = []
    for entry in encoded:
        found = next(traced) if entry.item else entry.note
        assert found is not None
        results.append(_result(entry, found, results))
    others = other_forms(lm, results, caches.scores, report)
    noted = [
        replace(result, notes=remarks.of_row(lm, result, results[0], other, others[0], prompt_set.label))
        if result.trace
        else result
        for result, other in zip(results, others, strict=True)
    ]
    made = Analysis(prompt_set, lm.card, target, tuple(noted))
    return replace(made, notes=(*remarks.of_set(lm, made, others[0]), *_candidate_problems(lm, rows, tokens)))


def _tokens(lm: LanguageModel, row: Row) -> Tokens | Note:
    if len(row.prompt.text) > MAX_PROMPT_CHARACTERS:
        return Note(
            "error",
            f"{row.label} has {grouped(len(row.prompt.text))} characters;"
            f" at most {grouped(MAX_PROMPT_CHARACTERS)} are analysed",
        )
    try:
        tokens = encode(lm.encoder, row.prompt)
    except EncodingError as error:
        return Note("error", f"{row.label}: {error}")
    if len(tokens) > lm.max_tokens:
        return Note("error", _too_long(lm, row, len(tokens)))
    return tokens


def _too_long(lm: LanguageModel, row: Row, count: int) -> str:
    return f"{row.label} has {grouped(count)} tokens; {lm.card.name} reads at most {grouped(lm.max_tokens)}"


def _reference_target(
    lm: LanguageModel, prompt_set: PromptSet, tokens: Tokens | Note, caches: Caches
) -> tuple[Target | None, Note | None]:
    """The set's target, tokenised at the reference; by default the model's own top next token there."""
    if isinstance(tokens, Note):
        return None, None
    reference = prompt_set.rows()[0]
    try:
        if prompt_set.target is not None:
            return encode_target(lm.encoder, reference.prompt, tokens, prompt_set.target), None
        top = answers(lm, [tokens.ids], 1, cache=caches.answers)[0]
        return target_from_ids(lm.encoder, top.ids, chosen=False), None
    except EncodingError as error:
        return None, Note("error", str(error))


def _encoded(
    lm: LanguageModel, row: Row, tokens: Tokens | Note, target: Target | None, problem: Note | None
) -> _Encoded:
    if isinstance(tokens, Note):
        return _Encoded(row, None, tokens)
    if row.own_target:
        assert row.target is not None
        try:
            target = encode_target(lm.encoder, row.prompt, tokens, row.target)
        except EncodingError as error:
            return _Encoded(row, None, Note("error", f"{row.label}: {error}"))
    if target is None:
        return _Encoded(
            row, None, problem or Note("error", "the reference could not be analysed, so there is no target")
        )
    if len(tokens) + len(target) - 1 > lm.max_tokens:
        return _Encoded(row, None, Note("error", _too_long(lm, row, len(tokens) + len(target) - 1)))
    return _Encoded(row, Item(tokens, target))


def _result(entry: _Encoded, found: Trace | Note, earlier: Sequence[PromptResult]) -> PromptResult:
    if isinstance(found, Note):
        return PromptResult(entry.row, None, None, None, (found,))
    duplicate = next((result.row.index for result in earlier if result.trace and _equal_ids(result.trace, found)), None)
    reference = earlier[0].trace if earlier else found
    delta = found.log_prob - reference.log_prob if reference else None
    return PromptResult(entry.row, found, delta, duplicate)


def _equal_ids(a: Trace, b: Trace) -> bool:
    return a.tokens.ids == b.tokens.ids and a.target.ids == b.target.ids


def answers_of(
    lm: LanguageModel, analysis: Analysis, caches: Caches, report: Report = lambda fraction: None
) -> tuple[Answer | None, ...]:
    """The greedy answer to every row; None where the row failed or the model has no room for a token."""
    wanted = _answer_lengths(lm, analysis)
    found: dict[tuple[int, ...], Answer] = {}
    for tokens in sorted(set(wanted.values())):
        prompts = [ids for ids, length in wanted.items() if length == tokens]
        found |= zip(prompts, answers(lm, prompts, tokens, cache=caches.answers, report=report), strict=True)
    return tuple(found.get(result.trace.tokens.ids) if result.trace else None for result in analysis.prompts)


def known_answers(lm: LanguageModel, analysis: Analysis, caches: Caches) -> tuple[Answer | None, ...] | None:
    """The answers if every one of them is in the cache, else None: asks nothing of the model."""
    found = {ids: caches.answers.get((ids, tokens)) for ids, tokens in _answer_lengths(lm, analysis).items()}
    if any(answer is None for answer in found.values()):
        return None
    return tuple(found.get(result.trace.tokens.ids) if result.trace else None for result in analysis.prompts)


def _answer_lengths(lm: LanguageModel, analysis: Analysis) -> dict[tuple[int, ...], int]:
    """How many tokens the answer to each prompt may have: the set's limit, or the room that is left."""
    prompts = [result.trace.tokens.ids for result in analysis.prompts if result.trace]
    lengths = {ids: min(analysis.prompt_set.response_tokens, lm.max_tokens - len(ids)) for ids in prompts}
    return {ids: length for ids, length in lengths.items() if length > 0}


def candidate_scores(
    lm: LanguageModel, analysis: Analysis, caches: Caches, report: Report = lambda fraction: None
) -> tuple[CandidateScores | None, ...]:
    """Every declared candidate scored after every row; None where a row failed or declares none.

    A candidate of one token is read off the row's trace; the others take a pass over shared prefixes.
    Candidates of the set are encoded at the reference, a row's own ones at the row. A row whose candidates
    cannot be scored (`analyse` says why) has None.
    """
    common = _candidate_ids(lm, analysis.reference)
    found = [
        _fitting(lm, result, common if _shares_candidates(analysis, result) else _candidate_ids(lm, result))
        for result in analysis.prompts
    ]
    long = [
        (result.trace.tokens.ids, candidate)
        for result, candidates in zip(analysis.prompts, found, strict=True)
        if result.trace and candidates
        for candidate in candidates
        if len(candidate) > 1
    ]
    scored = dict(zip(long, score(lm, long, report, cache=caches.scores), strict=True)) if long else {}
    made: list[CandidateScores | None] = []
    for result, candidates in zip(analysis.prompts, found, strict=True):
        if result.trace is None or candidates is None:
            made.append(None)
            continue
        assert result.row.candidates is not None
        trace = result.trace
        values = [
            tuple(scored[trace.tokens.ids, c].tolist()) if len(c) > 1 else (float(trace.next_log_probs[c[0]]),)
            for c in candidates
        ]
        joined = tuple(
            ids_after(lm.encoder, result.row.prompt, trace.tokens, text) == ids
            for text, ids in zip(result.row.candidates, candidates, strict=True)
        )
        made.append(CandidateScores(result.row.candidates, tuple(values), joined))
    return tuple(made)


def _shares_candidates(analysis: Analysis, result: PromptResult) -> bool:
    reference = analysis.reference
    return reference.trace is not None and result.row.candidates == reference.row.candidates


def _candidate_ids(lm: LanguageModel, result: PromptResult) -> list[tuple[int, ...]] | None:
    trace, row = result.trace, result.row
    if trace is None or not row.candidates:
        return None
    try:
        return [encode_target(lm.encoder, row.prompt, trace.tokens, text).ids for text in row.candidates]
    except EncodingError:
        return None


def _fitting(
    lm: LanguageModel, result: PromptResult, ids: list[tuple[int, ...]] | None
) -> list[tuple[int, ...]] | None:
    """The same where the model has room for all of them after this row."""
    if result.trace is None or ids is None:
        return None
    room = lm.max_tokens - len(result.trace.tokens) + 1
    return ids if all(len(candidate) <= room for candidate in ids) else None


def _candidate_problems(lm: LanguageModel, rows: Sequence[Row], tokens: Sequence[Tokens | Note]) -> list[Note]:
    """A sentence for each declared candidate that cannot be scored."""
    declared: dict[str, tuple[Row, Tokens]] = {}
    for row, read in zip(rows, tokens, strict=True):
        for text in row.candidates or ():
            if not isinstance(read, Note):
                declared.setdefault(text, (row, read))
    found = []
    for text, (row, read) in declared.items():
        try:
            encode_target(lm.encoder, row.prompt, read, text)
        except EncodingError as error:
            found.append(Note("error", f"“{shortened(text)}” and the candidates beside it are not scored: {error}"))
    return found


def top_tokens(trace: Trace, count: int = 10) -> list[tuple[int, float]]:
    """The likeliest next tokens: (id, log-prob in nats)."""
    values = trace.next_log_probs
    best = np.argpartition(-values, min(count, len(values) - 1))[:count]
    return [(int(i), float(values[i])) for i in best[np.argsort(-values[best], kind="stable")]]


def rank(trace: Trace) -> int:
    """How many tokens are likelier than the target's first token, plus one."""
    return int((trace.next_log_probs > trace.next_log_probs[trace.target.ids[0]]).sum()) + 1


def entropy(trace: Trace) -> float:
    """Entropy of the next-token distribution, in nats."""
    logs = trace.next_log_probs.astype(np.float64)
    return float(-(np.exp(logs) * np.where(np.isfinite(logs), logs, 0.0)).sum())
