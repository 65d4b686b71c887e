"""Looks at balances without the lock: the newest stored state, moved to the present."""

from functools import lru_cache
from typing import Any, NamedTuple

import msgspec
from django.db import connections
from django.db.backends.utils import CursorWrapper

from budget import conf
from budget.ledger import queries, store
from budget.ledger.balances import Balances, fresh_balances, restore_balances
from budget.ledger.clock import moment
from budget.ledger.errors import UnknownPool
from budget.ledger.job_operations import QueueView
from budget.ledger.rounding import rounded
from budget.ledger.rows import StoredCall
from budget.ledger.terms import Policy, load_policy, load_revision
from budget.rule.dequeue import Queue, as_looked_at, is_adrift
from budget.rule.floors import effective_floors
from budget.rule.limits import Level
from budget.rule.outlook import expected_wait, state_of
from budget.rule.pool import release
from budget.rule.split import Split
from budget.rule.strategies import splits
from budget.rule.terms import SECOND, ClassTerms, PoolTerms

SENT_AWAY = "attempts were sent away"
GONE = "The pool is gone."
KEPT_POLICIES = 64


class View(NamedTuple):
    """A pool's policy and balances at the moment of looking."""

    policy: Policy
    balances: Balances
    lapsed: bool = False
    """Whether leases have ended with which no batch has dealt."""

    @property
    def terms(self) -> PoolTerms:
        """What the rule reads of the policy."""
        return self.policy.terms


def look(pool_id: int) -> View:
    """The pool now. Changes nothing and waits for nobody. Raises UnknownPool."""
    with connections["default"].cursor() as cursor:
        cursor.execute(queries.READ, {"pool": pool_id, "seq": None, "at": None})
        clock, version, seq, _, document = cursor.fetchone()
        if version is None:
            raise UnknownPool(GONE)
        policy = _policy(pool_id, version)
        if seq is None:
            return View(policy, fresh_balances(policy.terms, clock))
        balances = restore_balances(document, policy.terms, clock)
        if balances.version != policy.terms.version:
            old = load_revision(cursor, pool_id, balances.version)
            balances.carry(old, policy.terms, policy.changed_at)
        balances.advance(policy.terms, clock)
        lapsed = clock >= balances.next_lapse and _release_ended(
            cursor, pool_id, policy.terms, balances
        )
    return View(policy, balances, lapsed)


@lru_cache(maxsize=KEPT_POLICIES)
def _policy(pool_id: int, version: int) -> Policy:
    """The policy as of a version, or one that followed this very moment. Raises UnknownPool.

    Read once: no version ever names another policy. The version was read with the state, so
    the policy is never older than what the state was left under.
    """
    with connections["default"].cursor() as cursor:
        policy = load_policy(cursor, pool_id)
    if policy is None:
        raise UnknownPool(GONE)
    return policy


def _release_ended(
    cursor: CursorWrapper, pool_id: int, terms: PoolTerms, balances: Balances
) -> bool:
    """Take out of the gauges what the next batch will: leases that have ended, if any."""
    bounds = {"after": balances.lapsed_through, "to": balances.pool.at, "most": store.MOST_LAPSES}
    cursor.execute(queries.LAPSED, {"pool": pool_id, **bounds})
    ended = [StoredCall(*row) for row in cursor.fetchall()]
    for call in ended:
        if drawn := balances.drawn_on(terms, call.of_batch):
            release(*drawn, call.workload_class, call.charges)
    return bool(ended)


def picture(view: View) -> dict[str, Any]:
    """A pool as callers see it; see `services.pool_view`."""
    terms, balances = view.terms, view.balances
    limits = zip(splits(terms, balances.pool), balances.pool.levels, strict=True)
    return {
        "slug": terms.slug,
        "mode": terms.mode,
        "paused": terms.paused,
        "spend_cap_reached": terms.paused and balances.spend_cap_reached,
        "policy_version": terms.version,
        "limits": rounded([_limit(terms, split, level) for split, level in limits]),
        "batch_limits": rounded(_batch_limits(view)),
        "classes": {member.slug: _class(view, member) for member in terms.classes},
    }


def queue_views(view: View) -> dict[str, QueueView]:
    """The queue of each class that has one, at the moment of looking.

    Also of one that is interactive now, while jobs of before wait.
    """
    queues = view.balances.queues or {}
    return {
        member.slug: queue_view(view.terms, view.balances, member)
        for member in view.terms.classes
        if member.tier != "interactive" or is_adrift(member, queues.get(member.slug) or Queue())
    }


def queue_view(terms: PoolTerms, balances: Balances, member: ClassTerms) -> QueueView:
    """One class's queue at the moment of the balances."""
    now = balances.pool.at
    queue = (balances.queues or {}).get(member.slug) or Queue(paused=terms.is_paused(member.slug))
    queue = as_looked_at(member, queue, conf.newest_first_after(), now)
    return QueueView(
        paused=terms.paused or member.paused,
        draining=member.draining,
        state=state_of(terms, member, queue, now),
        order="newest_first" if queue.newest_first else "earliest_deadline",
        depth=queue.depth,
        tokens=queue.tokens,
        running=queue.running,
        oldest_wait_seconds=max(0, now - queue.oldest) / SECOND if queue.oldest else None,
        expected_wait_seconds=expected_wait(queue, now),
        taken_per_minute=60 * queue.taken.now(now),
        waits_for=_waits_for(queue, now),
    )


def _waits_for(queue: Queue, now: int) -> str | None:
    if not queue.depth or queue.blocked_until <= now:
        return None
    return SENT_AWAY if queue.failures else queue.blocked_by


def _batch_limits(view: View) -> list[dict[str, Any]]:
    terms, state = view.terms, view.balances.endpoint
    if state is None:
        return []
    limits = zip(splits(terms.at_endpoint, state), state.levels, strict=True)
    return [
        {
            "unit": split.terms.unit,
            "algorithm": split.terms.algorithm,
            "amount": split.terms.amount,
            "capacity": split.terms.capacity,
            "available": level.available(split),
        }
        for split, level in limits
    ]


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


def _class(view: View, member: ClassTerms) -> dict[str, Any]:
    queue = msgspec.structs.asdict(queue_view(view.terms, view.balances, member))
    until = view.balances.pool.backoff_until[view.terms.class_index[member.slug]]
    backoff = moment(until) if until > view.balances.pool.at else None
    # Whether the whole pool is paused stands above.
    return rounded({**queue, "paused": member.paused, "backoff_until": backoff})
