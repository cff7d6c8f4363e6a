"""What the Variants and Sensitivity pages add to files: proposals with their checks, sampled answers, two models."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict

from analysis.judgement import Judged
from analysis.report_json import finite, libraries, written
from analysis.report_sensitivity import csv_of
from analysis.results import Analysis
from analysis.sampling import Share
from analysis.two_models import Comparison
from analysis.variants.results import Generated

VERSION = 1
PROPOSAL_COLUMNS = (
    "rule", "kind", "text", "edits", "checks_failed", "similarity", "verdict", "same_meaning", "kept", "expected", "target",
)  # fmt: skip


def sampled_json(
    analysis: Analysis, shares: Sequence[Share | None], temperature: float, seed: int
) -> dict[str, object]:
    """Right answers among the samples of each row that expects something."""
    rows = [
        {"row": result.row.index, "label": result.label, "expected": result.row.expected, "share": share.share}
        | asdict(share)
        for result, share in zip(analysis.prompts, shares, strict=True)
        if share is not None
    ]
    return {"temperature": temperature, "seed": seed, "rows": finite(rows)}


def two_models_json(found: Comparison) -> object:
    return finite(asdict(found))


def proposals_json(
    reference: str, made: Sequence[Generated], judged: Sequence[Judged], more: Mapping[str, object]
) -> str:
    """The proposals as the user left them, what fell short, and `more` keys of JSON values."""
    document: dict[str, object] = {
        "version": VERSION,
        "reference": reference,
        "proposals": [_proposal(one) for one in judged],
        "shortfalls": [
            {
                "rule": one.rule,
                "asked": one.asked,
                "made": len(one.proposals),
                "unchanged": one.unchanged,
                "duplicates": one.duplicates,
                "reason": one.reason or None,
            }
            for one in made
            if one.reason or one.unchanged or one.duplicates
        ],
        "libraries": libraries(),
    }
    return written(document | dict(more))


def proposals_csv(judged: Sequence[Judged]) -> str:
    """One record per proposal, with a header, in the form of `report.to_csv`."""
    return csv_of(PROPOSAL_COLUMNS, [_record(one) for one in judged])


def _proposal(one: Judged) -> dict[str, object]:
    proposal = one.proposal
    return {
        "text": one.text,
        "rule": proposal.rule,
        "kind": proposal.kind,
        "proposed": proposal.text,
        "edited": one.text != proposal.text,
        "in_set": one.there,
        "edits": [finite(asdict(edit)) for edit in proposal.edits],
        "checks": [finite(asdict(check)) for check in one.checks],
        "similarity": finite(one.similarity),
        "verdict": one.verdict,
        "same_meaning": one.passes,
        "kept": one.kept,
        "expected": proposal.expected,
        "target": proposal.target,
    }


def _record(one: Judged) -> dict[str, object]:
    record = _proposal(one)
    return {name: record[name] for name in PROPOSAL_COLUMNS if name in record} | {
        "edits": "edited by the user"
        if one.text != one.proposal.text
        else "; ".join(f"{edit.before!r} -> {edit.after!r}" for edit in one.proposal.edits),
        "checks_failed": "; ".join(f"{check.name}: {check.detail}" for check in one.failed),
        "verdict": {None: "", True: "same meaning", False: "another meaning"}[one.verdict],
    }
