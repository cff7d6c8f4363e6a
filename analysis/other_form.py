"""The target with its leading blank, or without: a hint where that form is much likelier than the one typed."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from analysis.encoding import Encoder, ids_alone
from analysis.model import LanguageModel
from analysis.results import PromptResult, Trace
from analysis.scoring import ScoreCache, score

LIKELIER = 1.0  # nats by which another form of the target has to be likelier to be named


@dataclass(frozen=True)
class OtherForm:
    """The target with or without its leading blank, likelier by `gain` nats."""

    text: str
    gain: float


def other_forms(
    lm: LanguageModel, results: Sequence[PromptResult], cache: ScoreCache, report: Callable[[float], object]
) -> list[OtherForm | None]:
    """For every row the target with, or without, its leading blank, where that form is much likelier.

    No form is likelier than its first token, which the trace knows: few rows need a pass.
    """
    texts: list[tuple[str, tuple[int, ...]] | None] = []
    for result in results:
        form = _with_other_blank(lm.encoder, result.trace) if result.trace else None
        if result.trace and form and result.trace.next_log_probs[form[1][0]] - result.trace.log_prob <= LIKELIER:
            form = None
        texts.append(form)
    pairs = [(r.trace.tokens.ids, form[1]) for r, form in zip(results, texts, strict=True) if r.trace and form]
    long = [row for row in pairs if len(row[1]) > 1 and len(row[0]) + len(row[1]) <= lm.max_tokens]
    scored = dict(zip(long, score(lm, long, lambda _: report(1.0), cache=cache), strict=True)) if long else {}
    found: list[OtherForm | None] = []
    for result, form in zip(results, texts, strict=True):
        other = None
        if result.trace and form:
            text, ids = form
            values = scored.get((result.trace.tokens.ids, ids), result.trace.next_log_probs[list(ids[:1])])
            if len(values) == len(ids) and (gain := float(values.sum()) - result.trace.log_prob) > LIKELIER:
                other = OtherForm(text, gain)
        found.append(other)
    return found


def _with_other_blank(encoder: Encoder, trace: Trace) -> tuple[str, tuple[int, ...]] | None:
    """The typed target without its leading blank, or with one: its text and ids. None where there is no such form."""
    target = trace.target
    if not target.chosen or not target.text.strip() or "\ufffd" in target.text:
        return None
    other = target.text[1:] if target.text.startswith(" ") else " " + target.text
    ids = ids_alone(encoder, other)
    return None if ids == target.ids or not ids or not all(map(encoder.reads, ids)) else (other, ids)
