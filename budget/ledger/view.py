"""Looks at balances without the lock: the newest stored state, moved to the present."""

from typing import NamedTuple

from django.db import connections

from budget.ledger import store
from budget.ledger.balances import Balances, decode_balances
from budget.ledger.batch import fresh_balances
from budget.ledger.errors import UnknownPool
from budget.ledger.terms import load_policy, load_revision
from budget.rule.adopt import adopt
from budget.rule.pool import advance
from budget.rule.terms import PoolTerms


class View(NamedTuple):
    """A pool's policy and balances at the moment of looking."""

    terms: PoolTerms
    balances: Balances


def look(pool_id: int) -> View:
    """The pool now. Changes nothing and waits for nobody. Raises UnknownPool."""
    with connections["default"].cursor() as cursor:
        cursor.execute(store.READ, {"pool": pool_id, "seq": None, "at": None})
        clock, _, seq, _, document = cursor.fetchone()
        # Read after the state, so the policy is never older than what the state was left under.
        policy = load_policy(cursor, pool_id)
        if policy is None:
            raise UnknownPool("The pool is gone.")
        if seq is None:
            return View(policy.terms, fresh_balances(policy.terms, clock))
        balances = decode_balances(document)
        if balances.version != policy.terms.version:
            old = load_revision(cursor, pool_id, balances.version)
            if old is not None:
                balances.pool = adopt(old, balances.pool, policy.terms, policy.changed_at)
    advance(policy.terms, balances.pool, clock)
    return View(policy.terms, balances)
