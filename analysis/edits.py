"""Which edit did it? The difference between two wordings, cut into edits, and what each of them did.

v(S) = log p(target) after the reference with the edits in S made. Shapley values share Δ among the edits:
exact for up to `EXACT` edits (2ᵏ texts), else from random orders with a standard error. Texts are scored in
chunks that share beginnings (`analysis.scoring`), each once, which is why captum's ShapleyValueSampling is not
used: it runs one forward function on masked tensors order by order, knows neither the tables that exact values
and interactions come from nor standard errors, and would need the same code around it.
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np
from jaxtyping import Float

from analysis import shapley
from analysis.diff import word_diff
from analysis.edits_results import EditAttribution, EditError, TextEdit
from analysis.encoding import EncodingError, encode
from analysis.model import LanguageModel
from analysis.prompts import Prompt
from analysis.results import PromptResult
from analysis.scoring import Report, ScoreCache, score
from analysis.text import grouped
from analysis.tokens import words

EXACT = 8  # edits: 2⁸ texts
MAX_EDITS = 24  # more are merged with their neighbours
PAIRS = 12  # random orders and their reverses, above EXACT


def text_edits(a: str, b: str) -> tuple[TextEdit, ...]:
    """The edits that turn `a` into `b`, in order and apart from one another; each replaces whole words."""
    places = [(h.a_start, h.a_end, h.b_start, h.b_end) for h in word_diff(a, b) if h.op != "equal"]
    a_cuts, b_cuts = _word_cuts(a), _word_cuts(b)
    whole: list[tuple[int, int, int, int]] = []
    ceilings = [*(place[0] for place in places), len(a)][1:]
    for (a_start, a_end, b_start, b_end), ceiling in zip(places, ceilings, strict=True):
        floor = whole[-1][1] if whole else 0
        while a_start > floor and not (a_start in a_cuts and b_start in b_cuts):
            a_start, b_start = a_start - 1, b_start - 1
        while a_end < ceiling and not (a_end in a_cuts and b_end in b_cuts):
            a_end, b_end = a_end + 1, b_end + 1
        if whole and floor == a_start:
            a_start, _, b_start, _ = whole.pop()
        whole.append((a_start, a_end, b_start, b_end))
    return tuple(TextEdit(a[i:j], b[k:m], i, j, k, m) for i, j, k, m in whole)


def merged(hunks: Sequence[TextEdit], a: str, b: str, most: int = MAX_EDITS) -> tuple[TextEdit, ...]:
    """At most `most` of them: neighbours with the least text between them become one."""
    left = list(hunks)
    while len(left) > most:
        gaps = [after.a_start - before.a_end for before, after in pairwise(left)]
        near = int(np.argmin(gaps))
        start, end = left[near], left[near + 1]
        place = (start.a_start, end.a_end, start.b_start, end.b_end)
        left[near : near + 2] = [TextEdit(a[place[0] : place[1]], b[place[2] : place[3]], *place)]
    return tuple(left)


def _word_cuts(text: str) -> frozenset[int]:
    return frozenset(np.cumsum([0, *map(len, words(text))]).tolist())


def with_edits(a: str, hunks: Sequence[TextEdit], mask: int) -> str:
    """`a` with those edits made whose bit in `mask` is set."""
    pieces, place = [], 0
    for number, hunk in enumerate(hunks):
        pieces += [a[place : hunk.a_start], hunk.after if mask >> number & 1 else hunk.before]
        place = hunk.a_end
    return "".join([*pieces, a[place:]])


def problem(reference: PromptResult, variant: PromptResult) -> str | None:
    """Why the difference of two rows cannot be cut into edits of the text, as a sentence; None where it can."""
    a, b = reference.row.prompt, variant.row.prompt
    if reference.trace is None or variant.trace is None:
        failed = variant.label if variant.trace is None else reference.label
        return f"{failed} could not be analysed, so there is no change to explain"
    differs = [
        name
        for name, field in (
            ("mode", "mode"),
            ("system prompt", "system"),
            ("earlier turns", "turns"),
            ("beginning of the answer", "prefill"),
        )
        if getattr(a, field) != getattr(b, field)
    ]
    if differs or replace(a, text=b.text) != b:
        return (
            f"{variant.label} differs from the reference in its {' and '.join(differs) or 'special tokens'} too:"
            " only edits of the text can be told apart"
        )
    if reference.trace.target.ids != variant.trace.target.ids:
        return f"{variant.label} has a target of its own, so there is no change of one log-prob to explain"
    if a.text == b.text:
        return f"{variant.label} has the same text as the reference: there is no edit"
    return None


def attribute_edits(
    lm: LanguageModel,
    reference: PromptResult,
    variant: PromptResult,
    *,
    pairs: int = PAIRS,
    seed: int = 0,
    exact: int = EXACT,
    cache: ScoreCache | None = None,
    report: Report = lambda fraction: None,
) -> EditAttribution:
    """How much of Δ each edit did. `report` may raise to stop; with a `cache` the next call goes on from there.

    Above `exact` edits, `pairs` ≥ 2 random orders and their reverses are drawn, the same for the same seed.
    Errors: EditError where the rows cannot be compared so, or where a mixture of the two cannot be read.
    """
    if (sentence := problem(reference, variant)) is not None:
        raise EditError(sentence)
    assert reference.trace is not None
    assert variant.trace is not None
    target, prompt = reference.trace.target, reference.row.prompt
    all_edits = text_edits(prompt.text, variant.row.prompt.text)
    hunks = merged(all_edits, prompt.text, variant.row.prompt.text)
    everything = (1 << len(hunks)) - 1
    single = np.array([1 << place for place in range(len(hunks))])
    found: dict[int, float] = {}

    def value_of(masks: np.ndarray) -> Float[np.ndarray, " coalition"]:
        """Of these coalitions; each edit alone, and all without it, are scored in the same run."""
        wanted = np.unique(np.concatenate([masks, single, everything ^ single])).tolist()
        prompts = [replace(prompt, text=with_edits(prompt.text, hunks, mask)) for mask in wanted]
        rows = [(_ids(lm, mixed, variant.label, len(target)), target.ids) for mixed in prompts]
        values = [float(scores.sum(dtype=np.float64)) for scores in score(lm, rows, report, cache=cache)]
        if not np.isfinite(values).all():
            raise EditError("could not compute: the model returned NaN or infinity for a mixture of the two wordings")
        found.update(zip(wanted, values, strict=True))
        return np.array([found[mask] for mask in masks.tolist()])

    values, errors, together = _shared(value_of, len(hunks), exact, pairs, seed)
    delta = variant.trace.log_prob - reference.trace.log_prob
    return EditAttribution(
        index=variant.row.index,
        label=variant.label,
        reference=prompt.text,
        variant=variant.row.prompt.text,
        target=target,
        hunks=hunks,
        values=values,
        standard_errors=errors,
        interactions=together,
        alone=np.array([found[one] - found[0] for one in single.tolist()]),
        without=np.array([found[one] - found[0] for one in (everything ^ single).tolist()]),
        delta=delta,
        residual=delta - float(values.sum()),
        passes=len(found),
        merged=len(hunks) < len(all_edits),
    )


def _shared(
    value_of: shapley.ValueOf, count: int, exact: int, pairs: int, seed: int
) -> tuple[np.ndarray, np.ndarray | None, np.ndarray | None]:
    """Shapley values, their standard errors where they are sampled, interactions where they are not."""
    if count > exact:
        drawn = shapley.sampled(value_of, count, pairs, seed)
        return drawn.values, drawn.standard_errors, None
    table = value_of(np.arange(1 << count))
    return shapley.exact(table), None, shapley.interactions(table)


def _ids(lm: LanguageModel, prompt: Prompt, label: str, target: int) -> tuple[int, ...]:
    try:
        ids = encode(lm.encoder, prompt).ids
    except EncodingError as error:
        raise EditError(f"a mixture of the reference and {label} cannot be read: {error}") from error
    if len(ids) + target - 1 > lm.max_tokens:
        raise EditError(
            f"a mixture of the reference and {label} has {grouped(len(ids))} tokens;"
            f" {lm.card.name} reads at most {grouped(lm.max_tokens)}"
        )
    return ids
