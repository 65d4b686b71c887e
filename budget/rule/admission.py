"""The verb that everything admits through: decide, then charge or promise."""

from collections.abc import Sequence

from budget.rule.decide import drawn, obstacle, standings
from budget.rule.decision import Decision, Reason, Standing
from budget.rule.pool import Offer, PoolState, charge
from budget.rule.retry_after import promise, retry_moment, spread
from budget.rule.terms import SECOND, PoolTerms

PAUSED_RETRY = 30 * SECOND
"""When to ask again while somebody has paused the class: nobody knows how long.

Callers are spread over as long again, so that they don't all come back together.
"""

NOT_RETRYABLE: frozenset[Reason] = frozenset({"untagged", "never_fits", "deadline_unmeetable"})


def offer(terms: PoolTerms, state: PoolState, call: Offer) -> Decision:
    """Decide one call at the state's moment; charge it if admitted, else promise a moment.

    The state must have been advanced to the call's moment. A refusal changes no balance:
    it only notes that the class was offered work and that this caller was given a moment.
    In observe mode a call that would be shed is admitted without being charged, so that
    the balances stay what enforcement would have made them; only a pause sheds there too,
    since somebody pressed it to stop calls.
    """
    c = call.workload_class
    if c is not None:
        state.last_offered[c] = state.at
    touched = standings(terms, state, call)
    refusal = obstacle(terms, state, call, touched)
    if refusal is None:
        assert c is not None, "an untagged call always meets an obstacle"
        state.promises.pop(call.key, None)
        source = drawn(terms, state, call)
        charges = charge(terms, state, c, call.costs)
        return Decision(
            admitted=True, workload_class=c, standings=touched, charges=charges, drawn=source
        )
    reason, limit = refusal
    if terms.mode == "observe" and reason != "paused":
        state.promises.pop(call.key, None)
        return Decision(
            admitted=True, workload_class=c, would_be=reason, limit=limit, standings=touched
        )
    retry_after_ms = _retry_after_ms(terms, state, call, reason, touched)
    return Decision(
        admitted=False,
        workload_class=c,
        reason=reason,
        limit=limit,
        retryable=retry_after_ms is not None,
        retry_after_ms=retry_after_ms,
        standings=touched,
    )


def _retry_after_ms(
    terms: PoolTerms, state: PoolState, call: Offer, reason: Reason, touched: Sequence[Standing]
) -> int | None:
    """Milliseconds until the call would fit; None if never, or not before its deadline."""
    moment = None
    if reason == "paused":
        moment = spread(call, state.at + PAUSED_RETRY, PAUSED_RETRY)
    elif reason not in NOT_RETRYABLE:
        moment = retry_moment(terms, state, call, touched)
    if moment is None or moment >= call.deadline:
        state.promises.pop(call.key, None)
        return None
    if reason != "paused":
        moment = promise(state, call, moment)
    return (moment - state.at) // 1000
