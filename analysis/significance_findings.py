"""The sentence over "More than noise?": how an effect stands among those of other rewordings of its size."""

from analysis.charts.words import p_value
from analysis.findings import number
from analysis.significance_results import FEWEST, NoiseTest
from analysis.text import shortened

LEVEL = 0.05
APART = 0.05  # of shares: baselines that change so many more or fewer tokens on average are worth a word


def noise(tests: tuple[NoiseTest, ...]) -> str:
    """One wording with its rank, or how many of several stand out after Benjamini–Hochberg."""
    if not tests:
        return "Add a paraphrase to see whether its effect is more than noise."
    return _one(tests[0]) if len(tests) == 1 else _several(tests)


def _one(test: NoiseTest) -> str:
    name = f"“{shortened(test.row.label, 40)}”"
    what = "the next-token distribution" if test.effect_name == "jsd" else "the target"
    count, larger = len(test.baselines), test.as_large
    if larger is None:
        return f"{name} has a target of its own, so its Δ cannot be compared; the distributions can."
    if test.p is None:
        return f"No verdict on {name}: {_too_few(test)}.{_few(test)}"
    like = "rewordings that mean the same and change about as many tokens"
    if larger:
        rank = f"{larger} of {count} {like} move {what} at least as much as {name}"
    else:
        rank = f"{name} moves {what} more than any of {count} {like}"
    verdict = "more than noise" if test.p <= LEVEL else "that may well be noise"
    return f"{rank}: {verdict} (p = {p_value(test.p)}).{_few(test)}{_unlike(test)}"


def _several(tests: tuple[NoiseTest, ...]) -> str:
    judged = [test for test in tests if test.adjusted is not None]
    possible = [test for test in tests if test.effect is not None]
    if not possible:
        return f"All {number(len(tests))} wordings have targets of their own, so their Δ cannot be compared; the distributions can."
    most = max(possible, key=lambda test: len(test.baselines))
    if not judged:
        return f"No verdict on any of {number(len(tests))} wordings: at best {_too_few(most)}."
    out = [test for test in judged if test.adjusted is not None and test.adjusted <= LEVEL]
    names = ", ".join(f"“{shortened(test.row.label, 30)}”" for test in out[:3])
    more = f" and {len(out) - 3} more" if len(out) > 3 else ""
    count = number(len(out)).capitalize() if out else "None"
    sentence = (
        f"{count} of {number(len(judged))} wordings {'have' if len(out) > 1 else 'has'} an effect that is more than noise"
        f" (at {100 * LEVEL:.0f} %, after Benjamini–Hochberg{f': {names}{more}' if out else ''})."
    )
    left = len(tests) - len(judged)
    without = f" No verdict on {number(left)}, for want of baselines or of a common target." if left else ""
    # Of m tests one that stands alone has an adjusted p of at least m/(B+1).
    blunt = not out and len(judged) / (len(most.baselines) + 1) > LEVEL
    needed = round(len(judged) / LEVEL) - 1
    hint = f" One alone could not stand out among {len(judged)} tests: that takes {needed} baselines." if blunt else ""
    return f"{sentence}{without}{hint}"


def _too_few(test: NoiseTest) -> str:
    count, needed = len(test.baselines), test.needed
    are = "is" if needed == 1 else "are"
    return f"{number(count)} baseline{'' if count == 1 else 's'} of the {FEWEST} that it takes, {number(needed)} more {are} needed"


def _few(test: NoiseTest) -> str:
    return f" {test.reason[:1].upper()}{test.reason[1:]}." if test.reason else ""


def _unlike(test: NoiseTest) -> str:
    mean = sum(one.share for one in test.baselines) / len(test.baselines)
    if abs(mean - test.share) <= APART:
        return ""
    fewer = "fewer" if mean < test.share else "more"
    return f" They change {fewer} tokens than it does: {100 * mean:.0f} % on average against {100 * test.share:.0f} %."
