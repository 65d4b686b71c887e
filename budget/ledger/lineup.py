"""Reads a pool's queues under its lock: who is too late, who is next."""

from collections.abc import Iterable
from typing import Any

import psycopg

from budget import conf
from budget.ledger import job_queries
from budget.ledger.batch import Batch
from budget.ledger.clock import moment
from budget.ledger.job_rows import Entry, StoredJob
from budget.ledger.rows import json_text
from budget.rule.dequeue import Queue, service_margin, turn
from budget.rule.terms import ClassTerms, Tier

MOST_EXPIRED = 5_000
"""Jobs expired per batch; while there are more, each batch expires so many."""
MOST_WOKEN = 1_000
FAR = 253_402_300_799_000_000
"""The end of the year 9999."""
TOO_LATE = "Not run: less time was left to its deadline than it takes."


def count_queues(connection: psycopg.Connection, pipeline: psycopg.Pipeline, batch: Batch) -> None:
    """Count every queue anew, where the balances don't know them."""
    counted = connection.execute(job_queries.COUNT_QUEUES, {"pool": batch.pool_id}, prepare=True)
    pipeline.sync()
    batch.balances.queues = {
        slug: Queue(depth=depth, tokens=tokens, running=running, oldest=oldest or 0)
        for slug, depth, tokens, running, oldest in counted
    }


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
    """
    members = [m for m in batch.terms.classes if m.tier in frozenset(tiers)]
    members = [m for m in members if batch.queue(m.slug).depth]
    if not members:
        return
    _expire_and_turn(connection, pipeline, batch, members)
    heads = [
        (
            member,
            [connection.execute(*query, prepare=True) for query in _heads(batch, member, most)],
        )
        for member in members
    ]
    pipeline.sync()
    idle = []
    for member, cursors in heads:
        jobs = [batch.know(StoredJob(*row)) for cursor in cursors for row in cursor]
        if not batch.queue(member.slug).newest_first:
            jobs.sort(key=lambda job: (job.deadline, job.id))
        batch.ready[member.slug] = [job for job in jobs if job.state == "queued"]
        if not jobs and batch.queue(member.slug).depth:
            idle.append(member)
    _foresee(connection, pipeline, batch, idle)


def expire_full(
    connection: psycopg.Connection, pipeline: psycopg.Pipeline, batch: Batch, slugs: Iterable[str]
) -> None:
    """Make room in queues that may be full of jobs nobody came for in time."""
    members = [
        batch.terms.classes[c] for s in slugs if (c := batch.terms.class_index.get(s)) is not None
    ]
    full = [m for m in members if _is_full(m, batch.queue(m.slug))]
    if full:
        _expire_and_turn(connection, pipeline, batch, full)


def _expire_and_turn(
    connection: psycopg.Connection,
    pipeline: psycopg.Pipeline,
    batch: Batch,
    members: list[ClassTerms],
) -> None:
    classes = [{"slug": m.slug, "cutoff": _cutoff(batch, m)} for m in members]
    params = {"pool": batch.pool_id, "now": batch.now, "classes": json_text(classes)}
    connection.execute(job_queries.WAKE, {**params, "most": MOST_WOKEN}, prepare=True)
    entry = Entry(moment(batch.now).isoformat(), "expired", TOO_LATE)
    late = connection.execute(
        job_queries.EXPIRE,
        {**params, "most": MOST_EXPIRED, "error": TOO_LATE, "entries": json_text([entry])},
        prepare=True,
    )
    waited = connection.execute(job_queries.WAITED, params, prepare=True)
    pipeline.sync()
    for slug, jobs, tokens in late:
        batch.queue(slug).leave(jobs, tokens)
        batch.balances.minute.count_expired(slug, jobs)
    for slug, oldest, part in waited:
        queue = batch.queue(slug)
        queue.oldest = (oldest or queue.oldest) if queue.depth else 0
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
    }
    horizon = batch.horizon(member)
    late = job_queries.BY_DEADLINE if horizon is not None else order
    return [
        (late, {**params, "batchable": True, "horizon": horizon or FAR}),
        (order, {**params, "batchable": False, "horizon": FAR}),
    ]


def _foresee(
    connection: psycopg.Connection,
    pipeline: psycopg.Pipeline,
    batch: Batch,
    idle: list[ClassTerms],
) -> None:
    """When each queue that has jobs, but none ready, will have one."""
    if not idle:
        return
    asked = []
    for member in idle:
        horizon = batch.horizon(member)
        window = 0 if horizon is None else horizon - batch.now
        params = {"pool": batch.pool_id, "slug": member.slug, "window": window}
        asked.append((member, connection.execute(job_queries.NEXT_READY, params, prepare=True)))
    pipeline.sync()
    for member, cursor in asked:
        row = cursor.fetchone()
        if row is None or row[0] is None:
            # Counted, but not there: somebody else wrote the table.
            batch.balances.recount = True
        else:
            batch.queue(member.slug).ready_at = row[0]


def _cutoff(batch: Batch, member: ClassTerms) -> int:
    """A job whose deadline is not after this moment is too late."""
    return batch.now + service_margin(member, batch.queue(member.slug))


def _is_full(member: ClassTerms, queue: Queue) -> bool:
    return (member.queue_limit is not None and queue.depth >= member.queue_limit) or (
        member.queue_tokens is not None and queue.tokens >= member.queue_tokens / 2
    )
