"""Further keys of the JSON result, and tables for CSV: edits, tests against noise, and risky kinds.

What was not computed is null; numbers are plain and finite.
"""

from collections.abc import Sequence
from dataclasses import asdict

from analysis.edits_results import EditAttribution
from analysis.report_json import finite
from analysis.risky_kinds_results import METRICS, RiskyKinds
from analysis.significance_results import NoiseTest

Table = dict[str, list[str | int | float | bool | None]]


def edits_json(found: EditAttribution) -> dict[str, object]:
    """One wording's edits with their Shapley values, in nats."""
    errors = found.standard_errors
    hunks = [
        {
            "before": hunk.before,
            "after": hunk.after,
            "span": [hunk.a_start, hunk.a_end],
            "variant_span": [hunk.b_start, hunk.b_end],
            "value": finite(float(found.values[place])),
            "standard_error": None if errors is None else finite(float(errors[place])),
            "alone": finite(float(found.alone[place])),
            "last": finite(found.delta - float(found.without[place])),
        }
        for place, hunk in enumerate(found.hunks)
    ]
    return {
        "row": found.index,
        "label": found.label,
        "target": found.target.text,
        "delta": finite(found.delta),
        "residual": finite(found.residual),
        "exact": found.exact,
        "texts_scored": found.passes,
        "merged": found.merged,
        "hunks": hunks,
        "interactions": None if found.interactions is None else finite(found.interactions),
    }


def noise_json(test: NoiseTest) -> dict[str, object]:
    """One wording's effect, its p-value, and every baseline."""
    return {
        "row": test.row.index,
        "label": test.row.label,
        "effect": test.effect_name,
        "value": finite(test.effect),
        "jsd": finite(test.jsd),
        "delta": finite(test.delta),
        "token_edit_share": finite(test.share),
        "p": finite(test.p),
        "p_adjusted": finite(test.adjusted),
        "baselines_at_least_as_large": test.as_large,
        "baselines_needed": test.needed,
        "baselines_asked": test.asked,
        "reason": test.reason or None,
        "baselines": [finite(asdict(one)) for one in test.baselines],
    }


def risky_kinds_json(found: RiskyKinds) -> dict[str, object]:
    """Every kind with its rewordings' effects, and modification against misalignment."""
    kinds = [
        {
            "rule": kind.rule,
            "kind": kind.kind,
            "alignment": kind.alignment,
            "control": kind.is_control,
            "rewordings": len(kind.effects),
            **{_summary(metric): finite(kind.summary(metric)) for metric in METRICS},
            "effects": [finite(asdict(effect)) for effect in kind.effects],
            "shortfalls": [finite(asdict(shortfall)) for shortfall in kind.shortfalls],
        }
        for kind in found.kinds
    ]
    groups = {
        group.name: {
            "rewordings": len(group.effects),
            **{_summary(metric): finite(group.summary(metric)) for metric in METRICS},
        }
        for group in found.groups
    }
    return {
        "sets": list(found.sets),
        "left_out": [{"set": name, "reason": why} for name, why in found.left_out],
        "rewordings_asked": found.asked,
        "seed": found.seed,
        "kinds": kinds,
        "alignments": groups,
    }


def _summary(metric: str) -> str:
    return {"delta": "median_abs_delta", "displacement": "median_displacement", "flip": "flip_rate"}[metric]


def edits_table(found: Sequence[EditAttribution]) -> Table:
    """A row per edit of every wording."""
    listed = [(one, place) for one in found for place in range(len(one.hunks))]
    errors = [one.standard_errors for one, _ in listed]
    return {
        "row": [one.index for one, _ in listed],
        "label": [one.label for one, _ in listed],
        "edit": [place + 1 for _, place in listed],
        "before": [one.hunks[place].before for one, place in listed],
        "after": [one.hunks[place].after for one, place in listed],
        "value_nats": [float(one.values[place]) for one, place in listed],
        "standard_error_nats": [
            None if own is None else float(own[place]) for own, (_, place) in zip(errors, listed, strict=True)
        ],
        "alone_nats": [float(one.alone[place]) for one, place in listed],
        "last_nats": [one.delta - float(one.without[place]) for one, place in listed],
        "delta_nats": [one.delta for one, _ in listed],
    }


def noise_table(tests: Sequence[NoiseTest]) -> Table:
    """A row per wording; the baselines are in the chart's own table."""
    return {
        "row": [test.row.index for test in tests],
        "label": [test.row.label for test in tests],
        "effect": [test.effect_name for test in tests],
        "jsd_nats": [test.jsd for test in tests],
        "delta_nats": [test.delta for test in tests],
        "token_edit_share": [test.share for test in tests],
        "baselines": [len(test.baselines) for test in tests],
        "at_least_as_large": [test.as_large for test in tests],
        "p": [test.p for test in tests],
        "p_adjusted": [test.adjusted for test in tests],
        "baselines_needed": [test.needed for test in tests],
    }


def risky_kinds_table(found: RiskyKinds) -> Table:
    """A row per kind; the rewordings are in the chart's own table."""
    return {
        "rule": [kind.rule for kind in found.kinds],
        "kind": [kind.kind for kind in found.kinds],
        "control": [kind.is_control for kind in found.kinds],
        "rewordings": [len(kind.effects) for kind in found.kinds],
        "median_abs_delta_nats": [kind.summary("delta") for kind in found.kinds],
        "median_hidden_displacement": [kind.summary("displacement") for kind in found.kinds],
        "flip_rate": [kind.summary("flip") for kind in found.kinds],
        "fewer_than_asked": [sum(one.asked - one.made for one in kind.shortfalls) for kind in found.kinds],
    }
