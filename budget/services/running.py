"""Running jobs: what the workers ask for. Producers have no use for it."""

import logging
from collections.abc import Iterable
from contextlib import suppress
from datetime import datetime
from uuid import UUID

from django.db import DatabaseError, InterfaceError, connection

from budget.ledger.clock import micros
from budget.ledger.dues import due_pools
from budget.ledger.errors import LedgerUnavailable, UnknownJob, UnknownPool
from budget.ledger.ids import new_id
from budget.ledger.job_operations import Collect, Finish, Finished, Take, Taken, handed_back
from budget.ledger.jobs import leased_with_batch, with_work
from budget.ledger.operations import RenewedMany, RenewMany
from budget.ledger.writers import keep
from budget.models import Pool
from budget.rule.terms import Tier
from budget.services.asking import ask, submitted
from budget.services.endings import announce

logger = logging.getLogger(__name__)

MOST_RENEWED = 1_000
"""Leases renewed per operation, so that none holds the lock for long."""


def keep_minutes() -> None:
    """Record from now on, in this process, that a minute passed in which nobody called a pool.

    Else only the processes do that have had a call of the pool. Again and again does no harm,
    and finds new pools.
    """
    for pool_id in Pool.objects.values_list("pk", flat=True):
        keep(pool_id)


def due(tiers: Iterable[Tier]) -> dict[int, float]:
    """By pool id: in how many seconds there may next be a job of these tiers to take.

    By the database's clock; 0 if there may be one now. Pools where none waits are left out.
    Takes no lock.
    """
    return due_pools(tuple(tiers))


def take(pool_id: int, tiers: Iterable[Tier], most: int) -> Taken:
    """Start up to so many jobs of a pool: expired ones are dropped, the rest admitted.

    Whoever takes a job runs it at once and calls `finish`, before its lease expires.
    Raises UnknownPool, LedgerUnavailable.
    """
    taken = ask(Take(id=new_id(pool_id), tiers=tuple(tiers), most=most))
    assert isinstance(taken, Taken), "the answer to a Take"
    return _with_work(taken)


def collect(pool_id: int, batch_id: UUID, model: str, most: int, most_bytes: int) -> Taken:
    """Start up to so many bulk jobs of one model that can wait for the batch endpoint.

    They are charged to the limits of the batch endpoint and leased for its window; whoever
    collects them calls `finish` on each. Raises UnknownPool, LedgerUnavailable.
    """
    collected = ask(
        Collect(
            id=new_id(pool_id),
            batch_id=batch_id,
            model=model,
            most=most,
            most_bytes=most_bytes,
        )
    )
    assert isinstance(collected, Taken), "the answer to a Collect"
    return _with_work(collected)


def renew_batch(pool_id: int, batch_id: UUID, until: datetime) -> int:
    """Let the leases of a batch's running jobs last until a moment at least; how many do.

    For a batch that is sent later than it was collected. The same again changes nothing, and
    a lease that is over already stays so. Raises UnknownPool, LedgerUnavailable.
    """
    calls = leased_with_batch(batch_id)
    renewed = 0
    for start in range(0, len(calls), MOST_RENEWED):
        some = calls[start : start + MOST_RENEWED]
        answer = ask(RenewMany(id=new_id(pool_id), calls=some, until=micros(until)))
        assert isinstance(answer, RenewedMany), "the answer to a RenewMany"
        renewed += answer.leases
    return renewed


def finish(ending: Finish) -> Finished:
    """End an attempt at a job; the same again changes nothing.

    The attempt's call is settled, whoever's the job is by now. Raises UnknownJob,
    LedgerUnavailable; after the latter the ledger goes on trying.
    """
    try:
        finished = ask(ending)
    except UnknownPool:
        raise UnknownJob(f"The pool of the job {ending.id} is gone.") from None
    assert isinstance(finished, Finished), "the answer to a Finish"
    announce(finished)
    return finished


def _with_work(taken: Taken) -> Taken:
    """The same with what is to be run, or else all handed back: they are nobody's to run."""
    try:
        return with_work(taken)
    except (DatabaseError, InterfaceError, KeyError) as error:
        logger.warning("%d jobs that were taken are handed back: %r", len(taken.jobs), error)
        # A connection that broke is none to look for the next jobs with.
        connection.close_if_unusable_or_obsolete()
        for job in taken.jobs:
            with suppress(LedgerUnavailable):
                submitted(handed_back(job, "What it runs could not be read."))
        raise LedgerUnavailable("What the jobs run could not be read.") from error
