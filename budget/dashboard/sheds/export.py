"""Sheds as CSV."""

import csv
import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from budget.dashboard.sheds.question import Question
from budget.models import Call

FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""What makes a spreadsheet take text for a formula when it stands first."""

COLUMNS: dict[str, Callable[[Call], Any]] = {
    "id": lambda call: call.id,
    "offered_at": lambda call: f"{call.offered_at:%Y-%m-%dT%H:%M:%S.%fZ}",
    "workload_class": lambda call: call.workload_class,
    "decision": lambda call: "shed" if call.state == Call.State.SHED else "would be shed",
    "reason": lambda call: call.reason,
    "limit": lambda call: call.limit,
    "source": lambda call: call.source,
    "api_key": lambda call: call.key_prefix,
    "input_tokens": lambda call: call.input_tokens,
    "output_tokens": lambda call: call.output_tokens,
    "retry_after_ms": lambda call: call.retry_after_ms,
    "offered_again_as": lambda call: call.retried_as,
    "job_id": lambda call: call.job_id,
    "tags": lambda call: json.dumps(call.tags, ensure_ascii=False),
}


class _Line:
    """What a writer of CSV writes to: hands each line back."""

    def write(self, line: str) -> str:
        return line


def lines(calls: Iterable[Call]) -> Iterator[str]:
    """A heading, then a line for each call."""
    writer = csv.writer(_Line())
    yield writer.writerow(COLUMNS)
    for call in calls:
        yield writer.writerow([_harmless(value(call)) for value in COLUMNS.values()])


def file_name(slug: str, question: Question) -> str:
    """Names the pool and the time: `sheds-claims-20260131T1200Z-20260131T1300Z.csv`."""
    start, end = (f"{at:%Y%m%dT%H%MZ}" for at in (question.span.start, question.span.end))
    return f"sheds-{slug}-{start}-{end}.csv"


def _harmless(value: Any) -> Any:
    """Text that no spreadsheet runs."""
    return f"'{value}" if isinstance(value, str) and value.startswith(FORMULA) else value
