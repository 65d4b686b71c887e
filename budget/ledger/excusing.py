"""Takes in what callers used by themselves while the service was away, within a batch.

Their reports are stored before, each once. The ledger notes on each where in its order it was
taken in: so none is taken in twice, and one that nobody got to is found by the next.
"""

from collections.abc import Sequence

import psycopg

from budget.ledger import queries
from budget.ledger.batch import Batch, amounts
from budget.ledger.operations import Excuse, Excused
from budget.ledger.rows import ExcusedReport, StoredReport
from budget.ledger.submission import Submission
from budget.providers import Tokens
from budget.rule.observe import excuse as excuse_used
from budget.rule.terms import PoolTerms

MOST_EXCUSED = 1000
"""Reports taken in per batch; further ones wait for the next."""


def excuse(batch: Batch) -> Excused:
    """Excuse what is told by the reports that were read."""
    reports, batch.excusable = batch.excusable, []
    for report in reports:
        used = used_alone(
            batch.terms, report.admitted, Tokens(report.input_tokens, report.output_tokens)
        )
        excuse_used(batch.terms, batch.balances.pool, used, report.first_at, report.last_at)
        batch.changes.excused.append(ExcusedReport(report.id, batch.next_position()))
    return Excused(reports=len(reports))


def used_alone(terms: PoolTerms, calls: int, tokens: Tokens) -> dict[str, int]:
    """What so many calls count as with the pool's provider, by unit."""
    return {**amounts(terms, tokens), "requests": calls}


def read_excusable(
    connection: psycopg.Connection,
    pipeline: psycopg.Pipeline,
    batch: Batch,
    submissions: Sequence[Submission],
) -> None:
    """Read the reports that were not taken in yet, if anybody asks for it."""
    if not any(isinstance(submission.operation, Excuse) for submission in submissions):
        return
    found = connection.execute(queries.EXCUSABLE, (batch.pool_id, MOST_EXCUSED), prepare=True)
    pipeline.sync()
    batch.excusable = [StoredReport(*row) for row in found]
