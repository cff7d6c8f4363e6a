"""What the Variants page takes away: the proposals with their checks and verdicts, and the kinds."""

from collections.abc import Callable, Sequence

from analysis.judgement import Judged
from analysis.report_pages import proposals_csv, proposals_json
from analysis.report_variants import risky_kinds_json
from analysis.risky_kinds_results import RiskyKinds
from analysis.variants.results import Generated
from pages.shared import export, session


def draw(page: session.Page, made: Sequence[Generated], judged: Sequence[Judged], kinds: RiskyKinds | None) -> None:
    """The popover; kinds that were not run are null in the JSON."""

    def document() -> str:
        more = {"risky_kinds": risky_kinds_json(kinds) if kinds else None}
        return proposals_json(page.prompt_set.reference, made, judged, more)

    files: dict[str, tuple[str, str, Callable[[], str]]] = {
        "Proposals and kinds (JSON)": ("variants.json", "application/json", document),
        "A row per proposal (CSV)": ("proposals.csv", "text/csv", lambda: proposals_csv(judged)),
    }
    export.popover(files)
