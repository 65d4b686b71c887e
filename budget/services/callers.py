"""Processes that call: what they say of themselves, and what they are told of a pool."""

from collections.abc import Mapping, Sequence
from typing import Annotated
from uuid import UUID

from django.db import connection
from django.db.backends.utils import CursorWrapper
from msgspec import Meta, Struct

from budget.client.verdict import Choice
from budget.ledger.errors import Forbidden, UnknownPool
from budget.ledger.ids import new_id
from budget.ledger.operations import IN_PROCESS, Caller, Excuse, check_text
from budget.ledger.terms import load_policy
from budget.models import WorkloadClass
from budget.rule.strategies import reserved_splits
from budget.rule.terms import SECOND, PoolTerms
from budget.services.asking import ask, existing_pool
from budget.services.away import AwayReport, check_reports, take_in

HEARD_SECONDS = 90
"""For how long a process counts after it was heard of; they speak up every 30 seconds."""

MOST_PROCESSES = 1000
"""That are remembered of one pool and key: who makes some up can't shrink shares without end."""

HEAR = """
INSERT INTO budget_callerprocess AS c (pool_id, process, name, key_prefix, seen_at)
VALUES (%s, %s, %s, %s, now())
ON CONFLICT (pool_id, process) DO UPDATE SET
    name = excluded.name, key_prefix = excluded.key_prefix, seen_at = excluded.seen_at
RETURNING xmax = 0 AS is_new
"""
# Those that another hears of or forgets right now are left to it: nobody waits in a circle.
FORGET_OLDEST = """
DELETE FROM budget_callerprocess WHERE id IN (
    SELECT id FROM budget_callerprocess WHERE pool_id = %s AND key_prefix = %s
    ORDER BY seen_at DESC OFFSET %s FOR UPDATE SKIP LOCKED
)
"""
LEAVE = """
DELETE FROM budget_callerprocess WHERE pool_id = %s AND process = %s AND key_prefix = %s
"""
COUNT = """
SELECT count(*) FROM budget_callerprocess
WHERE pool_id = %s AND seen_at > now() - %s * interval '1 second'
"""


class LimitForCallers(Struct, kw_only=True):
    """One of the pool's ceilings."""

    unit: str
    algorithm: str
    amount: int
    per_seconds: Annotated[int, Meta(description="The period of the amount; unused by a gauge.")]
    capacity: Annotated[float, Meta(description="What the limit can hold, in its unit.")]


class ClassForCallers(Struct, kw_only=True):
    """A workload class on the pool."""

    tier: str
    deadline_seconds: int
    max_call_seconds: int
    max_call_tokens: int
    when_unavailable: Annotated[
        Choice, Meta(description="What its calls do while the service is away.")
    ]
    paused: Annotated[bool, Meta(description="Whether the class, or the whole pool, is paused.")]
    floors: Annotated[
        dict[str, float],
        Meta(description="By limit, as unit/algorithm: how much of it is the class's full floor."),
    ]


class PoolForCallers(Struct, kw_only=True):
    """What a caller has to know to go on while the service is away."""

    pool: str
    provider: str
    policy_version: int
    untagged: Annotated[
        str | None, Meta(description="The class untagged calls fall into; null if they are shed.")
    ]
    processes: Annotated[
        int,
        Meta(
            description="Processes of the pool heard of in the last 90 s, this one included unless "
            "it leaves: at most 1,000 for each API key."
        ),
    ]
    limits: list[LimitForCallers]
    classes: Annotated[
        dict[str, ClassForCallers], Meta(description="By slug: those that the key may use.")
    ]


def hear(
    pool: str,
    process: UUID,
    name: str = "",
    away: Sequence[AwayReport] = (),
    caller: Caller = IN_PROCESS,
    leaving: bool = False,
) -> PoolForCallers:
    """Take in that a process is alive, and what it decided while the service was away.

    One that is `leaving` counts no more. Of the processes of one key, the 1,000 that were heard of
    last count. The ledger expects to miss at the provider what was used meanwhile, and takes it for
    no leak.

    Raises Implausible, Forbidden, UnknownPool; then nothing was taken in. Raises LedgerUnavailable;
    then the same reports are to be told once more. Call it outside of transactions, since the
    ledger reads reports on a connection of its own.
    """
    check_text("name", name)
    check_reports(away, caller)
    if caller.pools is not None and pool not in caller.pools:
        raise Forbidden(f"This key may not use the pool {pool!r}.")
    pool_id = existing_pool(pool)
    with connection.cursor() as cursor:
        policy = load_policy(cursor, pool_id)
        if policy is None:
            raise UnknownPool(f"There is no pool {pool!r}.")
        if away:
            take_in(pool_id, policy.terms, away, caller.key_prefix)
            ask(Excuse(id=new_id(pool_id)))
        if leaving:
            cursor.execute(LEAVE, (pool_id, process, caller.key_prefix))
        else:
            _remember(cursor, pool_id, process, name, caller.key_prefix)
    return _as_told(policy.terms, caller, caller_processes(pool_id))


def _remember(
    cursor: CursorWrapper, pool_id: int, process: UUID, name: str, key_prefix: str
) -> None:
    cursor.execute(HEAR, (pool_id, process, name, key_prefix))
    (is_new,) = cursor.fetchone()
    if is_new:
        cursor.execute(FORGET_OLDEST, (pool_id, key_prefix, MOST_PROCESSES))


def caller_processes(pool_id: int) -> int:
    """How many processes that call a pool were heard of lately."""
    with connection.cursor() as cursor:
        cursor.execute(COUNT, (pool_id, HEARD_SECONDS))
        (count,) = cursor.fetchone()
    return int(count)


def _as_told(terms: PoolTerms, caller: Caller, processes: int) -> PoolForCallers:
    return PoolForCallers(
        pool=terms.slug,
        provider=terms.provider,
        policy_version=terms.version,
        untagged=terms.untagged,
        processes=processes,
        limits=[
            LimitForCallers(
                unit=limit.unit,
                algorithm=limit.algorithm,
                amount=limit.amount,
                per_seconds=limit.per_seconds,
                capacity=limit.capacity,
            )
            for limit in terms.limits
        ],
        classes={
            slug: told
            for slug, told in _classes(terms).items()
            if caller.classes is None or slug in caller.classes
        },
    )


def _classes(terms: PoolTerms) -> Mapping[str, ClassForCallers]:
    choices = {row.slug: row.choice_when_away for row in WorkloadClass.objects.all()}
    splits = reserved_splits(terms)
    return {
        member.slug: ClassForCallers(
            tier=member.tier,
            deadline_seconds=member.deadline // SECOND,
            max_call_seconds=member.max_call_time // SECOND,
            max_call_tokens=member.max_call_tokens,
            when_unavailable=choices[member.slug],
            paused=terms.paused or member.paused,
            floors={split.terms.name: split.floors[c] for split in splits},
        )
        for c, member in enumerate(terms.classes)
        # One that was deleted this very moment is no longer to be known.
        if member.slug in choices
    }
