"""Looks at balances without the lock: the newest stored state, moved to the present."""

from typing import Any, NamedTuple

from django.db import connections
from django.db.backends.utils import CursorWrapper

from budget.ledger import queries, store
from budget.ledger.balances import Balances, fresh_balances, restore_balances
from budget.ledger.errors import UnknownPool
from budget.ledger.rounding import rounded
from budget.ledger.rows import StoredCall
from budget.ledger.terms import load_policy, load_revision
from budget.rule.floors import effective_floors
from budget.rule.limits import Level
from budget.rule.pool import advance, release
from budget.rule.split import Split
from budget.rule.strategies import splits
from budget.rule.terms import ClassTerms, PoolTerms


class View(NamedTuple):
    """A pool's policy and balances at the moment of looking."""

    terms: PoolTerms
    balances: Balances


def look(pool_id: int) -> View:
    """The pool now. Changes nothing and waits for nobody. Raises UnknownPool."""
    with connections["default"].cursor() as cursor:
        cursor.execute(queries.READ, {"pool": pool_id, "seq": None, "at": None})
        clock, _, seq, _, document = cursor.fetchone()
        # Read after the state, so the policy is never older than what the state was left under.
        policy = load_policy(cursor, pool_id)
        if policy is None:
            raise UnknownPool("The pool is gone.")
        if seq is None:
            return View(policy.terms, fresh_balances(policy.terms, clock))
        balances = restore_balances(document, policy.terms, clock)
        if balances.version != policy.terms.version:
            old = load_revision(cursor, pool_id, balances.version)
            balances.carry(old, policy.terms, policy.changed_at)
        advance(policy.terms, balances.pool, clock)
        if clock >= balances.next_lapse:
            _release_ended(cursor, pool_id, policy.terms, balances)
    return View(policy.terms, balances)


def _release_ended(
    cursor: CursorWrapper, pool_id: int, terms: PoolTerms, balances: Balances
) -> None:
    """Take out of the gauges what the next batch will: leases that have ended meanwhile."""
    bounds = {"after": balances.lapsed_through, "to": balances.pool.at, "most": store.MOST_LAPSES}
    cursor.execute(queries.LAPSED, {"pool": pool_id, **bounds})
    for row in cursor.fetchall():
        call = StoredCall(*row)
        release(terms, balances.pool, call.workload_class, call.charges)


def picture(view: View) -> dict[str, Any]:
    """A pool as callers see it; see `services.pool_view`."""
    terms, balances = view
    limits = zip(splits(terms, balances.pool), balances.pool.levels, strict=True)
    return {
        "slug": terms.slug,
        "mode": terms.mode,
        "paused": terms.paused,
        "policy_version": terms.version,
        "limits": rounded([_limit(terms, split, level) for split, level in limits]),
        "classes": {member.slug: _class(terms, member) for member in terms.classes},
    }


def _limit(terms: PoolTerms, split: Split, level: Level) -> dict[str, Any]:
    available, unspent = level.available(split), level.unspent(split)
    effective = effective_floors(terms.tiers, unspent, available)
    return {
        "unit": split.terms.unit,
        "algorithm": split.terms.algorithm,
        "amount": split.terms.amount,
        "capacity": split.terms.capacity,
        "available": available,
        "floors": {
            member.slug: {
                "share_percent": 100 * split.shares[c],
                "unspent": unspent[c],
                "effective": effective[c],
            }
            for c, member in enumerate(terms.classes)
        },
    }


def _class(terms: PoolTerms, member: ClassTerms) -> dict[str, Any]:
    return {
        "paused": member.paused,
        "state": "green",
        "depth": 0,
        "oldest_wait_seconds": None,
        "expected_wait_seconds": None,
    }
