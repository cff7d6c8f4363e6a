"""One number of a prompt set with all that is needed to read it."""

import math
from dataclasses import dataclass, fields, replace

from analysis.intervals import FEWEST, Interval
from analysis.sensitivity import LeftOut

ENDS = "no interval: a resample of the wordings never goes beyond the largest and the smallest that are there"
FEW = "at least two wordings are needed"
UNANSWERED = "the answers are not there"
UNEXPECTED = "no wording says which answer is expected"

CHATTERJEE = "POSIX: Chatterjee et al., EMNLP Findings 2024"
ZHUO = "ProSA: Zhuo et al., EMNLP Findings 2024"
SCLAR = "FormatSpread: Sclar et al., ICLR 2024"
ERRICA = "Errica et al., NAACL 2025"
LIN = "Lin, IEEE Transactions on Information Theory, 1991"
MIZRAHI = "State of What Art?: Mizrahi et al., TACL 2024"
RELIABLE = "ReliableEval, EMNLP Findings 2025"


@dataclass(frozen=True)
class Metric:
    """One number of a prompt set; `value` is None where there is none, and `note` then says why."""

    key: str
    name: str
    value: float | bool | None
    unit: str  # "" for none
    n: int  # wordings that it is taken over
    interval: Interval | None  # 95 %; how it was made is in `note`
    definition: str
    source: str
    lowest: str  # what its smallest value would mean
    highest: str
    note: str = ""


def omitted(found: LeftOut) -> str:
    """What a comparison leaves out, as "left out: 1 control, 2 repeated"; empty where it is nothing."""
    says = {
        "failed": "without a result",
        "controls": "controls",
        "own_target": "on their own target",
        "own_expected": "with another expected answer",
        "duplicates": "repeated",
    }
    counts = [(getattr(found, field.name), says[field.name]) for field in fields(found)]
    phrases = [f"{count} {what.removesuffix('s') if count == 1 else what}" for count, what in counts if count]
    return f"left out: {', '.join(phrases)}" if phrases else ""


def bootstrap_note(interval: Interval | None, n: int, *, pairs: bool = False) -> str:
    """How an interval was made, or why there is none."""
    if interval is None:
        return f"no interval for fewer than {FEWEST} wordings" if 1 < n < FEWEST else ""
    return "bootstrap interval: wordings are resampled" + (", pairs of one with itself left out" if pairs else "")


def known(metric: Metric) -> Metric:
    """The same with None for a number that is NaN or infinite."""
    if metric.value is None or math.isfinite(metric.value):
        return metric
    return replace(metric, value=None, interval=None, note=notes("some log-probs could not be computed", metric.note))


def notes(*parts: str) -> str:
    return "; ".join(dict.fromkeys(part for part in parts if part))
