"""Is an edit's effect more than what any rewording of that size does? A rank test against baselines made on the spot.

One prompt, one wording: its effect is the Jensen–Shannon divergence of the next-token distributions against the
reference (or |Δ|), its baselines are rewordings that mean the same and change about as many tokens. Where the edit is
nothing but one more of them, every rank among B + 1 is equally likely.

Source: "Counterfactual prompting", COLM 2026; Benjamini & Hochberg 1995.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.stats import wilcoxon

from analysis import intervals
from analysis.divergence import distribution, jsd_of
from analysis.encoding import EncodingError, encode
from analysis.limits import MAX_PROMPT_CHARACTERS
from analysis.model import LanguageModel
from analysis.prompts import Prompt
from analysis.results import Analysis, PromptResult, Tokens, Trace
from analysis.scoring import Report, endings
from analysis.significance_results import (
    WINDOW,
    Baseline,
    EffectName,
    NoiseTest,
    SignificanceError,
    adjusted,
)
from analysis.variants.baselines import Candidate, Spans, baselines, token_edit_share
from analysis.variants.rules import OptionContext

__all__ = ["adjusted", "edit_share", "noise_tests", "paired_flips", "paired_test", "token_edit_share"]

Ids = tuple[int, ...]
COUNT = 39  # baselines: the smallest p is 1/40
MAKING = 0.2  # of the work: making texts, against running them
#: Items below which nothing is said about many items.
FEWEST_ITEMS = 15


def noise_tests(
    lm: LanguageModel,
    analysis: Analysis,
    results: Sequence[PromptResult],
    *,
    count: int = COUNT,
    seed: int = 0,
    effect: EffectName = "jsd",
    protected: Spans = (),
    report: Report = lambda fraction: None,
) -> tuple[NoiseTest, ...]:
    """A test for each of `results`, rows of `analysis`; p-values are adjusted for how many there are.

    Baselines are rewordings of the reference's text whose share of edited tokens is within ±10 points of the row's, at
    most `count` for each row; `protected` are spans of the reference that stay. All of them are run once, without
    gradients. Deterministic in the seed. `report` may raise to stop.
    Errors: SignificanceError where the reference or a row has no result.
    """
    reference = analysis.reference.trace
    if reference is None:
        raise SignificanceError("the reference could not be analysed, so there is nothing to compare with")
    for result in results:
        if result.trace is None:
            raise SignificanceError(f"{result.label} could not be analysed, so it has no effect to test")
    made = []
    for place, result in enumerate(results):

        def making(fraction: float, place: int = place) -> None:
            report(MAKING * (place + fraction) / len(results))

        made.append(_candidates(lm, analysis, result, count, seed, protected, making))
    known = _effects(
        lm,
        analysis.reference.row.prompt,
        reference,
        [one.text for row in made for one in row],
        lambda fraction: report(MAKING + (1 - MAKING) * fraction),
    )
    tests = []
    for result, row in zip(results, made, strict=True):
        assert result.trace is not None
        found = tuple(
            Baseline(one.text, one.rules, one.share, *effects)
            for one in row
            if (effects := known[one.text]) is not None
        )
        tests.append(
            NoiseTest(
                row=result.row,
                effect_name=effect,
                jsd=jsd_of(distribution(reference.next_log_probs), distribution(result.trace.next_log_probs)),
                delta=None if result.row.own_target else result.delta,
                share=edit_share(reference.tokens, result.trace.tokens),
                baselines=found,
                asked=count,
                reason=_shortfall(len(found), len(row), count),
            )
        )
    return adjusted(tuple(tests))


def edit_share(reference: Tokens, other: Tokens) -> float:
    """The share of edited tokens: of those that the user typed, where all others are equal; else of all."""
    if _around(reference) == _around(other):
        return token_edit_share(_typed(reference), _typed(other))
    return token_edit_share(reference.ids, other.ids)


def _typed(tokens: Tokens) -> Ids:
    return tuple(index for index, role in zip(tokens.ids, tokens.roles, strict=True) if role == "text")


def _around(tokens: Tokens) -> Ids:
    return tuple(index for index, role in zip(tokens.ids, tokens.roles, strict=True) if role != "text")


def _candidates(
    lm: LanguageModel,
    analysis: Analysis,
    result: PromptResult,
    count: int,
    seed: int,
    protected: Spans,
    report: Report,
) -> tuple[Candidate, ...]:
    """The baselines of one row as texts."""
    row, reference, trace = analysis.reference.row, analysis.reference.trace, result.trace
    assert reference is not None
    assert trace is not None
    share = edit_share(reference.tokens, trace.tokens)
    report(0.0)
    return baselines(
        row.prompt.text,
        reader(lm, row.prompt, len(reference.target)),
        (share - WINDOW, share + WINDOW),
        count,
        seed,
        protected=protected,
        options=OptionContext(row.expected, reference.target.text, row.candidates or ()),
        ending=seam(row.prompt),
        apart_from=[_typed(trace.tokens)] if _around(trace.tokens) == _around(reference.tokens) else [],
        report=report,
    )


def seam(prompt: Prompt) -> str:
    """What the target follows directly, the last word to the end: rewordings that are to be compared keep it.

    A full stop or a line break after a text that is to be continued asks for another continuation. In chat mode
    the template stands between.
    """
    if prompt.mode == "chat":
        return ""
    found = re.search(r"\S+\s*$", prompt.text)
    return found[0] if found else ""


def reader(lm: LanguageModel, prompt: Prompt, target: int) -> Callable[[str], Ids | None]:
    """The ids that a text in place of the prompt's own gives, without the template; None where it cannot be read."""

    def read(text: str) -> Ids | None:
        tokens = read_as(lm, prompt, text, target)
        return None if tokens is None else _typed(tokens)

    return read


def read_as(lm: LanguageModel, prompt: Prompt, text: str, target: int) -> Tokens | None:
    """The tokens of `prompt` with another text; None where it is too long or cannot be encoded."""
    if len(text) > MAX_PROMPT_CHARACTERS:
        return None
    try:
        tokens = encode(lm.encoder, replace(prompt, text=text))
    except EncodingError:
        return None
    return tokens if len(tokens) + target - 1 <= lm.max_tokens else None


def _effects(
    lm: LanguageModel, prompt: Prompt, reference: Trace, texts: Sequence[str], report: Report
) -> dict[str, tuple[float, float] | None]:
    """JSD and Δ of every text against the reference; None where they cannot be computed. Each text is run once."""
    unique = list(dict.fromkeys(texts))
    read = [read_as(lm, prompt, text, len(reference.target)) for text in unique]
    rows = [(tokens.ids, reference.target.ids) for tokens in read if tokens is not None]
    places = [place for place, tokens in enumerate(read) if tokens is not None]
    known: dict[str, tuple[float, float] | None] = dict.fromkeys(unique)
    base = distribution(reference.next_log_probs)
    for place, ending in endings(lm, rows, report):
        delta = float(ending.log_probs.sum(dtype=np.float64)) - reference.log_prob
        divergence = jsd_of(base, distribution(ending.next_log_probs))
        if np.isfinite(delta) and np.isfinite(divergence):
            known[unique[places[place]]] = divergence, delta
    return known


def _shortfall(found: int, made: int, asked: int) -> str:
    if found == asked:
        return ""
    failed = f"; {made - found} of them could not be computed" if made > found else ""
    return f"only {made} of {asked} baselines could be made that mean the same and change as many tokens{failed}"


# --- many items


@dataclass(frozen=True)
class ItemsTest:
    """An edit's effects over many items against the effects of the items' baselines."""

    items: int
    mean_difference: float  # edit − baseline, in the effects' unit
    interval: intervals.Interval | None  # 95 %, bootstrap over items
    p: float | None  # one-sided: the edit does more; None below 15 items


def paired_test(edit: Sequence[float], baseline: Sequence[float], seed: int = 0) -> ItemsTest:
    """Wilcoxon's signed-rank test on per-item effects, such as JSD; `baseline` holds each item's mean over its own.

    Nothing is said below 15 items. Source: Wilcoxon 1945.
    """
    difference = _differences(edit, baseline)
    if len(difference) < FEWEST_ITEMS:
        return ItemsTest(len(difference), _mean(difference), None, None)
    p = float(wilcoxon(difference, alternative="greater").pvalue) if np.any(difference) else 1.0
    return ItemsTest(len(difference), _mean(difference), intervals.of_mean(difference, seed), p)


def paired_flips(edit: Sequence[bool], baseline: Sequence[float], seed: int = 0) -> ItemsTest:
    """The same for flips: whether the edit changed each item's answer, and the share of its baselines that did.

    p is the share of bootstrap means that are not above 0, the observed one counted.
    """
    difference = _differences([float(flip) for flip in edit], baseline)
    if len(difference) < FEWEST_ITEMS:
        return ItemsTest(len(difference), _mean(difference), None, None)
    random = np.random.default_rng(seed)
    means = random.choice(difference, size=(intervals.RESAMPLES, len(difference))).mean(axis=1)
    p = (1 + int((means <= 0).sum())) / (len(means) + 1)
    return ItemsTest(len(difference), _mean(difference), intervals.of_mean(difference, seed), p)


def _differences(edit: Sequence[float], baseline: Sequence[float]) -> np.ndarray:
    if len(edit) != len(baseline):
        raise ValueError(f"{len(edit)} effects of the edit and {len(baseline)} baselines: one of each per item")
    return np.asarray(edit, dtype=np.float64) - np.asarray(baseline, dtype=np.float64)


def _mean(values: np.ndarray) -> float:
    return float(values.mean()) if len(values) else 0.0
