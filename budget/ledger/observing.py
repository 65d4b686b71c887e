"""Holds what a provider said against the balances, within a batch."""

from collections.abc import Sequence

import psycopg

from budget import conf
from budget.ledger import queries
from budget.ledger.batch import Batch
from budget.ledger.clock import MILLISECOND, moment
from budget.ledger.operations import Observe, Observed
from budget.ledger.rows import NewObservation, SeenLimit
from budget.ledger.submission import Submission
from budget.providers.headers import REFILL_STEADILY
from budget.providers.standing import Standing
from budget.rule.observe import Correction, Reading, back_off, reconcile
from budget.rule.terms import SECOND, TIERS, PoolTerms


def observe(batch: Batch, operation: Observe) -> Observed:
    """Clamp limits, put classes off, and record it if anything changed.

    1. In a transaction of unknown fate it may have been done: then the record says so.
    2. What is left at the provider is compared; more than a tolerance missing is a leak.
    3. Busy: the loosest classes are put off. Money: whoever finds the pool paused is told why.

    A caller that is bound to classes is believed as far as the strictest of them, and its `money`
    is busy as well.
    """
    leaked = batch.leaked.get(operation.id)
    if leaked is None:
        leaked = _observe(batch, operation)
    state = batch.balances.pool
    backoff = zip(batch.terms.classes, state.backoff_until, strict=True)
    return Observed(
        pool=batch.terms.slug,
        leaked=leaked,
        backoff={member.slug: moment(until) for member, until in backoff if until > batch.now},
        paused=batch.terms.paused,
    )


def read_observed(
    connection: psycopg.Connection,
    pipeline: psycopg.Pipeline,
    batch: Batch,
    submissions: Sequence[Submission],
) -> None:
    """Read which observations changed something in a transaction of unknown fate."""
    ids = [
        submission.operation.id
        for submission in submissions
        if isinstance(submission.operation, Observe) and submission.attempted is not None
    ]
    if not ids:
        return
    found = connection.execute(queries.LEAKED, (ids, batch.pool_id), prepare=True)
    pipeline.sync()
    batch.leaked.update(found.fetchall())


def _observe(batch: Batch, operation: Observe) -> dict[str, int]:
    terms, balances, standing = batch.terms, batch.balances, operation.standing
    if operation.said_at is None:
        operation.said_at = batch.now - operation.age_ms * MILLISECOND
    _see(batch, operation, operation.said_at)
    strictest = _strictest(terms, operation.classes)
    if strictest == len(terms.classes):
        return {}
    readings, tolerance = _readings(batch, operation), conf.leak_tolerance_percent() / 100
    age = batch.now - operation.said_at
    corrections = reconcile(terms, balances.pool, readings, age, tolerance, strictest)
    backoff: dict[str, int] = {}
    if puts_off(standing.refusal, strictest):
        wait = standing.retry_after_seconds
        backoff = back_off(terms, balances.pool, wait, operation.said_at, strictest)
    capped = _is_capped(batch, standing, strictest)
    balances.spend_cap_reached |= capped
    leaked = _leaked(corrections)
    for unit, amount in leaked.items():
        balances.leaked[unit] = balances.leaked.get(unit, 0) + amount
    if corrections or backoff or capped:
        batch.changes.observed.append(
            NewObservation(
                id=operation.id,
                position=batch.next_position(),
                key_prefix=operation.key_prefix,
                strictest="" if strictest is None else terms.classes[strictest].slug,
                refusal=standing.refusal,
                wait_seconds=standing.retry_after_seconds,
                said_at=operation.said_at,
                readings=readings,
                tolerance=tolerance,
                leaked=leaked,
                backoff=backoff,
            )
        )
    return leaked


def puts_off(refusal: str, strictest: int | None) -> bool:
    """Whether classes are put off by what a caller tells: one that is bound can't pause a pool."""
    return refusal == "busy" or (refusal == "money" and strictest is not None)


def _strictest(terms: PoolTerms, classes: frozenset[str] | None) -> int | None:
    """Position of the strictest of the classes; that after the last if none is known."""
    if classes is None:
        return None
    known = (terms.class_index[slug] for slug in classes if slug in terms.class_index)
    return min(known, default=len(terms.classes))


def _is_capped(batch: Batch, standing: Standing, strictest: int | None) -> bool:
    """Whether the pool was paused because of this: `services.observe` says by whose word it is."""
    may_stop_all = strictest is None or batch.terms.classes[strictest].tier == TIERS[0]
    if standing.refusal != "money" or not may_stop_all:
        return False
    return batch.terms.paused and not batch.balances.spend_cap_reached


def _see(batch: Batch, operation: Observe, said_at: int) -> None:
    for limit in operation.standing.limits:
        batch.changes.seen[limit.unit] = SeenLimit(
            unit=limit.unit,
            amount=limit.amount,
            remaining=limit.remaining,
            per_seconds=limit.per_seconds,
            reset_seconds=limit.reset_seconds,
            seen_at=said_at,
            key_prefix=operation.key_prefix,
        )


def _readings(batch: Batch, operation: Observe) -> list[Reading]:
    """What is left of the provider's limits, where it says anything about ours."""
    if batch.terms.provider not in REFILL_STEADILY:
        return []
    return [
        Reading(limit.unit, limit.remaining, limit.amount, limit.per_seconds * SECOND)
        for limit in operation.standing.limits
        if limit.remaining is not None
    ]


def _leaked(corrections: Sequence[Correction]) -> dict[str, int]:
    """By unit; where several limits count it, they have missed the same."""
    leaked: dict[str, int] = {}
    for correction in corrections:
        unit = correction.limit.partition("/")[0]
        if correction.leaked:
            leaked[unit] = max(leaked.get(unit, 0), correction.leaked)
    return leaked
