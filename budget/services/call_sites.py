"""Who calls without naming a class, by the place in the code that the calls come from."""

from collections import Counter
from collections.abc import Collection
from datetime import datetime
from typing import Annotated, Any

from django.db import connection
from msgspec import Meta, Struct

from budget.ledger.errors import Forbidden
from budget.ledger.operations import IN_PROCESS, Caller
from budget.models import Pool
from budget.services.asking import existing_pool

MOST_SITES = 1000
MOST_CALLS = 50_000
"""Calls of one pool that are looked at: the newest ones, from the index alone."""

CALL_SITES = """
WITH found AS (
    SELECT p.slug AS pool, c.*
    FROM budget_pool p CROSS JOIN LATERAL (
        SELECT source, key_prefix, workload_class, state, offered_at,
            input_tokens + output_tokens AS tokens
        FROM budget_call
        WHERE untagged AND pool_id = p.id AND offered_at >= %(start)s AND offered_at < %(end)s
            AND (%(classes)s::text[] IS NULL OR workload_class = ANY (%(classes)s::text[])
                OR key_prefix = %(key)s)
        ORDER BY offered_at DESC LIMIT %(calls)s
    ) AS c
    WHERE p.id = ANY (%(pools)s)
)
SELECT pool, source, key_prefix, nullif(workload_class, ''), count(*),
    count(*) FILTER (WHERE state = 'shed'), sum(tokens)::bigint, min(offered_at), max(offered_at)
FROM found GROUP BY pool, source, key_prefix, workload_class
ORDER BY max(offered_at) DESC, pool, source, key_prefix, workload_class LIMIT %(sites)s
"""


class CallSite(Struct):
    """Untagged calls from one place in the code, by one key, that went to one class."""

    pool: str
    source: Annotated[str, Meta(description="As the caller named it; empty if it didn't.")]
    key: Annotated[str, Meta(description="Prefix of the API key; empty for the service's own.")]
    workload_class: Annotated[
        str | None, Meta(description="The class they fell into; null if the pool sheds them.")
    ]
    calls: int
    shed: Annotated[int, Meta(description="How many of them were shed, for whatever reason.")]
    tokens: Annotated[int, Meta(description="Input and output tokens that the calls estimated.")]
    first_seen: datetime
    last_seen: datetime


class UntaggedCalls(Struct):
    """Where untagged calls come from, newest first."""

    call_sites: list[CallSite]
    truncated: Annotated[
        bool, Meta(description="Whether there may be more sites than 1,000, or calls than 50,000.")
    ]


def untagged(
    pool: str | None, start: datetime, end: datetime, caller: Caller = IN_PROCESS
) -> UntaggedCalls:
    """Untagged calls offered from `start` to before `end`, on one pool or all the caller may use.

    A caller bound to classes sees the calls that fell into these, and its own.
    Raises Forbidden, UnknownPool.
    """
    bounds: dict[str, Any] = {
        "pools": _pools(pool, caller),
        "start": start,
        "end": end,
        "classes": None if caller.classes is None else sorted(caller.classes),
        "key": caller.key_prefix,
        "calls": MOST_CALLS,
        "sites": MOST_SITES + 1,
    }
    with connection.cursor() as cursor:
        cursor.execute(CALL_SITES, bounds)
        sites = [CallSite(*row) for row in cursor.fetchall()]
    return UntaggedCalls(sites[:MOST_SITES], _is_cut(sites))


def _is_cut(sites: Collection[CallSite]) -> bool:
    calls: Counter[str] = Counter()
    for site in sites:
        calls[site.pool] += site.calls
    return len(sites) > MOST_SITES or max(calls.values(), default=0) >= MOST_CALLS


def _pools(pool: str | None, caller: Caller) -> list[int]:
    if pool is None:
        pools = Pool.objects.all()
        if caller.pools is not None:
            pools = pools.filter(slug__in=caller.pools)
        return list(pools.values_list("pk", flat=True))
    if caller.pools is not None and pool not in caller.pools:
        raise Forbidden(f"This key may not use the pool {pool!r}.")
    return [existing_pool(pool)]
