"""Reads a pool's queues under its lock: who is too late, who is next."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from uuid import UUID

import psycopg

from budget import conf
from budget.ledger import job_queries
from budget.ledger.batch import Batch
from budget.ledger.clock import moment
from budget.ledger.job_rows import Step, StoredJob
from budget.ledger.rows import json_text
from budget.rule.dequeue import adrift, service_margin, turn
from budget.rule.terms import ClassTerms, Tier

MOST_EXPIRED = 2_000
"""Jobs expired per batch; while there are more, each batch expires so many."""
MOST_WOKEN = 1_000
FAR = 253_402_300_799_000_000
"""The end of the year 9999."""
TOO_LATE = "Not run: less time was left to its deadline than it takes."
"""What its last attempt came to is added, if it had one."""


def ensure_counted(
    connection: psycopg.Connection, pipeline: psycopg.Pipeline, batch: Batch
) -> None:
    """Count every queue anew if the balances don't know them.

    Only while the batch has changed no job yet: what it changes is not in the table.
    """
    balances = batch.balances
    if balances.queues is not None and not balances.recount:
        return
    counted = connection.execute(job_queries.COUNT_QUEUES, {"pool": batch.pool_id}, prepare=True)
    pipeline.sync()
    for queue in batch.queues.values():
        queue.depth = queue.tokens = queue.running = 0
        queue.oldest = queue.first_deadline = queue.ready_at = 0
    for slug, depth, tokens, running, oldest, first_deadline in counted:
        queue = batch.queue(slug)
        queue.depth, queue.tokens, queue.running = depth, tokens, running
        queue.oldest, queue.first_deadline = oldest or 0, first_deadline or 0
    for queue in batch.queues.values():
        queue.keep_time(batch.now)
    balances.recount = False
    batch.changes.queues_changed = True


def line_up(
    connection: psycopg.Connection,
    pipeline: psycopg.Pipeline,
    batch: Batch,
    tiers: Iterable[Tier],
    most: int,
) -> None:
    """Wake rested jobs, expire late ones, and read the first of each queue in its order.

    1. Wake and expire, and see how long the oldest has waited.
    2. Switch each queue's order by that.
    3. Read up to `most` jobs of each, into `batch.ready`.
    4. For a queue without a ready one, see when there will be.

    Jobs that nobody takes any more only wait for their deadline, in case somebody will.
    """
    wanted = frozenset(tiers)
    members = [m for m in batch.terms.classes if m.tier in wanted]
    members = [m for m in members if (q := batch.queues.get(m.slug)) is not None and q.depth]
    stranded = adrift(batch.terms, batch.queues)
    if not members and not stranded:
        return
    cutoffs = {m.slug: _cutoff(batch, m) for m in members} | dict.fromkeys(stranded, batch.now)
    _expire_and_turn(connection, pipeline, batch, cutoffs)
    heads = [
        (
            member,
            [connection.execute(*query, prepare=True) for query in _heads(batch, member, most)],
        )
        for member in members
    ]
    pipeline.sync()
    idle = [slug for slug in stranded if batch.queue(slug).depth]
    for member, cursors in heads:
        queue = batch.queue(member.slug)
        jobs = [batch.know(StoredJob(*row)) for cursor in cursors for row in cursor]
        jobs.sort(key=_newest_first if queue.newest_first else _by_deadline)
        batch.ready[member.slug] = jobs
        if jobs:
            queue.ready_at = 0
        elif queue.depth:
            idle.append(member.slug)
    _foresee(connection, pipeline, batch, idle)


def make_room(
    connection: psycopg.Connection,
    pipeline: psycopg.Pipeline,
    batch: Batch,
    wanted: Mapping[str, Sequence[int]],
) -> None:
    """Expire late jobs where queues haven't room for so many more, given by their tokens."""
    full = [
        member
        for slug, tokens in wanted.items()
        if (member := batch.member(slug)) is not None and _overflows(batch, member, tokens)
    ]
    if full:
        _expire_and_turn(connection, pipeline, batch, {m.slug: _cutoff(batch, m) for m in full})


def _expire_and_turn(
    connection: psycopg.Connection,
    pipeline: psycopg.Pipeline,
    batch: Batch,
    cutoffs: Mapping[str, int],
) -> None:
    """Drop the jobs whose deadline is not after their class's cutoff, and set its order."""
    classes = [{"slug": slug, "cutoff": cutoff} for slug, cutoff in cutoffs.items()]
    params = {"pool": batch.pool_id, "now": batch.now, "classes": json_text(classes)}
    connection.execute(job_queries.WAKE, {**params, "most": MOST_WOKEN}, prepare=True)
    step = Step(moment(batch.now).isoformat(), "expired", TOO_LATE)
    late = connection.execute(
        job_queries.EXPIRE,
        {
            **params,
            "most": MOST_EXPIRED,
            "known": list(batch.jobs),
            "error": TOO_LATE,
            "steps": json_text([step]),
        },
        prepare=True,
    )
    waited = connection.execute(job_queries.WAITED, params, prepare=True)
    pipeline.sync()
    expired = 0
    for slug, jobs, tokens in late:
        expired += jobs
        batch.queue(slug).leave(jobs, tokens, batch.now)
        batch.balances.minute.count_expired(slug, jobs)
    more = expired >= MOST_EXPIRED
    for slug, oldest, part, first_deadline in waited:
        queue = batch.queue(slug)
        if queue.depth:
            queue.oldest = oldest or queue.oldest
            queue.first_deadline = batch.now if more else first_deadline or 0
        turn(queue, part or 0.0, conf.newest_first_after())


def _heads(batch: Batch, member: ClassTerms, most: int) -> list[tuple[str, dict[str, Any]]]:
    """The statements that find the first jobs of a class; batch jobs only once they can't wait."""
    order = job_queries.BY_DEADLINE
    if batch.queue(member.slug).newest_first:
        order = job_queries.NEWEST_FIRST
    params = {
        "pool": batch.pool_id,
        "slug": member.slug,
        "cutoff": _cutoff(batch, member),
        "most": most,
        # Attempts from which on a lost job runs alone, while another does.
        "alone_from": member.max_attempts - 1 if batch.runs_alone(member.slug) else None,
    }
    horizon = batch.horizon(member)
    late = job_queries.BY_DEADLINE if horizon is not None else order
    return [
        (late, {**params, "batchable": True, "horizon": horizon or FAR}),
        (order, {**params, "batchable": False, "horizon": FAR}),
    ]


def _foresee(
    connection: psycopg.Connection, pipeline: psycopg.Pipeline, batch: Batch, idle: list[str]
) -> None:
    """When each queue that has jobs, but none ready, will have one."""
    if not idle:
        return
    asked = []
    for slug in idle:
        member = batch.member(slug)
        horizon = None if member is None else batch.horizon(member)
        window = 0 if horizon is None else horizon - batch.now
        params = {"pool": batch.pool_id, "slug": slug, "window": window}
        asked.append((slug, connection.execute(job_queries.NEXT_READY, params, prepare=True)))
    pipeline.sync()
    for slug, cursor in asked:
        row = cursor.fetchone()
        if row is not None and row[0] is not None:
            batch.queue(slug).ready_at = row[0]
        elif not batch.changes.jobs:
            # Counted, but not there: somebody else wrote the table.
            batch.balances.recount = batch.changes.queues_changed = True


def _by_deadline(job: StoredJob) -> tuple[int, UUID]:
    return job.deadline, job.id


def _newest_first(job: StoredJob) -> tuple[int, UUID]:
    return -job.enqueued_at, job.id


def _cutoff(batch: Batch, member: ClassTerms) -> int:
    """A job whose deadline is not after this moment is too late."""
    return batch.now + service_margin(member, batch.queue(member.slug))


def _overflows(batch: Batch, member: ClassTerms, tokens: Sequence[int]) -> bool:
    queue = batch.queue(member.slug)
    jobs, held = queue.depth + len(tokens), queue.tokens + sum(tokens)
    return (member.queue_limit is not None and jobs > member.queue_limit) or (
        member.queue_tokens is not None and held > member.queue_tokens
    )
