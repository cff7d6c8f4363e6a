"""Tables of a set's sensitivity for spreadsheets: its metrics, and its pairwise matrices."""

import csv
import io
from collections.abc import Mapping, Sequence

from analysis.matrices import PairMatrix
from analysis.report import BYTE_ORDER_MARK
from analysis.report_json import finite
from analysis.results import Analysis
from analysis.sensitivity_metric import Metric
from analysis.validation import SURROGATE

METRIC_COLUMNS = (
    "key", "name", "value", "unit", "n", "interval_low", "interval_high", "definition", "source", "lowest", "highest",
    "note",
)  # fmt: skip
PAIR_COLUMNS = ("matrix", "row", "column", "row_label", "column_label", "value_nats", "response_tokens")


def metrics_csv(metrics: Sequence[Metric]) -> str:
    """One record per metric, with a header, in the form of `report.to_csv`; yes and no are true and false."""
    return csv_of(METRIC_COLUMNS, [_metric(metric) for metric in metrics])


def matrices_csv(analysis: Analysis, matrices: Sequence[PairMatrix]) -> str:
    """One record per ordered pair of prompts and matrix.

    `row` and `column` are numbers of rows in the set, 0 for the reference. delta is log p(target) after the column's
    prompt minus after the row's; response is the log-prob of the column's answer after the row's prompt.
    """
    records = []
    for matrix in matrices:
        results = [analysis.prompts[place] for place in matrix.places]
        for i, one in enumerate(results):
            for j, other in enumerate(results):
                records.append(
                    {
                        "matrix": matrix.kind,
                        "row": one.row.index,
                        "column": other.row.index,
                        "row_label": one.label,
                        "column_label": other.label,
                        "value_nats": finite(float(matrix.values[i, j])),
                        "response_tokens": matrix.lengths[j] if matrix.lengths else None,
                    }
                )
    return csv_of(PAIR_COLUMNS, records)


def _metric(metric: Metric) -> dict[str, object]:
    low, high = metric.interval or (None, None)
    value = str(metric.value).lower() if isinstance(metric.value, bool) else finite(metric.value)
    record = {name: getattr(metric, name, None) for name in METRIC_COLUMNS}
    return record | {"value": value, "interval_low": finite(low), "interval_high": finite(high)}


def csv_of(columns: Sequence[str], records: Sequence[Mapping[str, object]]) -> str:
    output = io.StringIO(newline="")
    writer = csv.DictWriter(output, list(columns))
    writer.writeheader()
    writer.writerows(records)
    return BYTE_ORDER_MARK + SURROGATE.sub("\ufffd", output.getvalue())
