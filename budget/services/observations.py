"""What providers say of their limits."""

import logging
from datetime import timedelta

import pghistory
from django.db import DatabaseError
from django.db.models.functions import Now

from budget.ledger import pools
from budget.ledger.errors import BudgetError, Forbidden, Implausible
from budget.ledger.ids import new_id
from budget.ledger.operations import (
    IN_PROCESS,
    Caller,
    Observe,
    Observed,
    check_text,
    check_whole,
)
from budget.ledger.writers import patience
from budget.models import ApiKey, PolicyVersion, Pool, WorkloadClass
from budget.policy.switches import POOL_SWITCHES
from budget.providers.standing import ProviderLimit, Standing
from budget.providers.values import MOST
from budget.rule.terms import TIERS, UNITS
from budget.services.asking import answer_by_slug, existing_pool, submitted

logger = logging.getLogger(__name__)

MAX_AGE_MS = 60_000
MAX_WAIT_SECONDS = 2_592_000
"""Thirty days, after which a day's limit and a month's cap are whole again."""
REFUSALS = ("", "busy", "money")
SPEND_CAP = "The provider says that the account's spend cap is reached."


def observe(
    pool: str, standing: Standing, age_ms: int = 0, caller: Caller = IN_PROCESS
) -> Observed:
    """Take in what a provider said so many milliseconds ago: `budget.providers.standing_of`.

    1. If the account's spend cap is reached, the pool is paused, unless the policy was edited
       since: whoever resumed it knows better.
    2. Limits come down to what is left at the provider; what is missing there and never came
       through us is recorded as a leak.
    3. A busy provider is left alone by the loosest classes first.

    Nobody can check what a caller tells, so a key that is bound to classes can do no more by
    telling than by calling: no class of a tier stricter than its own is put off, limits come down
    no lower than the floors that its strictest class must leave alone, and its spend cap is taken
    for busy, unless one of its classes is interactive. The rest is for other callers to tell.

    Raises Implausible, Forbidden, UnknownPool, LedgerUnavailable. Call it outside of
    transactions: a pause holds once it is committed.
    """
    operation = _operation(pool, standing, age_ms, caller)
    observed = answer_by_slug(submitted(operation), pool, patience())
    assert isinstance(observed, Observed), "the answer to an Observe"
    return observed


def tell(pool: str, standing: Standing) -> None:
    """As `observe`, by code in this process that has other things to do.

    It waits for nothing and raises nothing: if the ledger is away, the next answer tells it.
    """
    if not standing.says_anything:
        return
    pools.forget(pool)
    try:
        submitted(_operation(pool, standing, 0, IN_PROCESS))
    except (BudgetError, DatabaseError) as error:
        logger.warning("What the provider of pool %s said is lost: %s", pool, error)


def _operation(pool: str, standing: Standing, age_ms: int, caller: Caller) -> Observe:
    _check(pool, standing, age_ms)
    if caller.pools is not None and pool not in caller.pools:
        raise Forbidden(f"This key may not use the pool {pool!r}.")
    if standing.refusal == "money" and _may_stop_all(caller):
        # The switch doesn't find a pool that was deleted and made again, as the ledger does.
        _pause(existing_pool(pool), age_ms, caller)
    return Observe(
        id=new_id(pools.pool_id(pool)),
        pool=pool,
        standing=standing,
        age_ms=age_ms,
        key_prefix=caller.key_prefix,
        classes=caller.classes,
    )


def _may_stop_all(caller: Caller) -> bool:
    """Whether nobody is stricter than the caller may be."""
    strictest = WorkloadClass.objects.filter(tier=TIERS[0])
    return caller.classes is None or strictest.filter(slug__in=caller.classes).exists()


def _pause(pool_id: int, age_ms: int, caller: Caller) -> None:
    """Turn the switch that people turn, so that they find out why and can turn it back."""
    said_at = Now() - timedelta(milliseconds=age_ms)
    if PolicyVersion.objects.filter(pool_id=pool_id, changed_at__gt=said_at).exists():
        return
    key = ApiKey.objects.filter(prefix=caller.key_prefix).first()
    teller = f"the API key {key.name}" if key else "the service itself"
    with pghistory.context(username=teller, reason=SPEND_CAP):
        POOL_SWITCHES["pause"].turn(Pool.objects.filter(pk=pool_id))


def _check(pool: str, standing: Standing, age_ms: int) -> None:
    check_text("pool", pool)
    check_whole("age_ms", age_ms, 0, MAX_AGE_MS)
    if standing.refusal not in REFUSALS:
        raise Implausible("refusal", "must be busy, money, or left out.")
    if len(standing.limits) > len(UNITS):
        raise Implausible("limits", f"has more than one of each of {', '.join(UNITS)}.")
    for n, limit in enumerate(standing.limits):
        _check_limit(f"limits[{n}]", limit)
    _check_seconds("retry_after_ms", standing.retry_after_seconds)


def _check_limit(place: str, limit: ProviderLimit) -> None:
    if limit.unit not in UNITS:
        raise Implausible(f"{place}.unit", f"must be one of {', '.join(UNITS)}.")
    for name, amount in (("amount", limit.amount), ("remaining", limit.remaining)):
        if amount is not None:
            check_whole(f"{place}.{name}", amount, 0, MOST)
    _check_seconds(f"{place}.reset_ms", limit.reset_seconds)


def _check_seconds(field: str, seconds: float | None) -> None:
    if seconds is not None and not 0 <= seconds <= MAX_WAIT_SECONDS:
        raise Implausible(field, f"must lie between 0 and {1000 * MAX_WAIT_SECONDS:,}.")
