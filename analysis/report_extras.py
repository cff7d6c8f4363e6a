"""Further keys of the JSON result: what the Dispersion page computes besides the traces' own numbers."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict

from analysis.contrast import Contrast
from analysis.dispersion import Distances, dispersion
from analysis.patching_results import PatchCurve
from analysis.report_json import finite
from analysis.results import Analysis

#: Curves by the places of a and b in `Analysis.prompts`, one for each target token that was patched.
Patches = Mapping[tuple[int, int], Sequence[PatchCurve]]


def extras(analysis: Analysis, patches: Patches | None = None, contrast: Contrast | None = None) -> dict[str, object]:
    """`dispersion`, `patches` and `contrast`; what was not computed is null."""
    return {
        "dispersion": _dispersion(analysis),
        "patches": _patches(patches) if patches else None,
        "contrast": None
        if contrast is None
        else {
            "within": _views(contrast.within),
            "between": _views(contrast.between),
            "pairs_between": contrast.pairs,
        },
    }


def _dispersion(analysis: Analysis) -> dict[str, object] | None:
    """Mean distances by layer at the first target token, controls left out."""
    traces = [result.trace for result in analysis.prompts if result.trace is not None and not result.row.is_control]
    if analysis.reference.trace is None or len(traces) < 2:
        return None
    found = dispersion(traces)
    return {
        "prompts": found.prompts,
        **{name: _views(getattr(found, name)) for name in ("to_reference", "pairwise", "to_centroid")},
    }


def _views(distances: Distances) -> object:
    return finite(asdict(distances))


def _patches(patches: Patches) -> list[dict[str, object]]:
    return [
        {"a": a, "b": b, "target_token": curve.target, "effect": finite(curve.effect), "jump": curve.jump}
        for (a, b), curves in patches.items()
        for curve in curves
    ]
