"""The verb that everything admits through: decide, then charge or promise."""

from collections.abc import Sequence

from budget.rule.decide import Obstacle, drawn, obstacle, standings
from budget.rule.decision import Decision, Reason, Standing
from budget.rule.pool import Offer, PoolState, charge, explain
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
    if call.workload_class is not None:
        state.last_offered[call.workload_class] = state.at
    touched = standings(terms, state, call)
    refusal = obstacle(terms, state, call, touched)
    if refusal is None or (terms.mode == "observe" and refusal[0] != "paused"):
        return _admit(terms, state, call, touched, refusal)
    moment = _retry_moment(terms, state, call, refusal[0], touched)
    if moment is None:
        state.promises.pop(call.key, None)
    elif refusal[0] != "paused":
        moment = promise(state, call, moment)
    return _shed(state, call, touched, refusal, moment)


def offer_job(terms: PoolTerms, state: PoolState, call: Offer) -> Decision:
    """Decide one job as it would be taken out of its queue; a refusal changes nothing at all.

    A queued job needs no promise: it is asked again at its moment, one per class at a time.
    """
    touched = standings(terms, state, call)
    refusal = obstacle(terms, state, call, touched)
    if refusal is None or (terms.mode == "observe" and refusal[0] != "paused"):
        assert call.workload_class is not None, "every job has a class"
        state.last_offered[call.workload_class] = state.at
        return _admit(terms, state, call, touched, refusal)
    moment = _retry_moment(terms, state, call, refusal[0], touched)
    return _shed(state, call, touched, refusal, moment)


def _admit(
    terms: PoolTerms,
    state: PoolState,
    call: Offer,
    touched: list[Standing],
    would_be: Obstacle | None,
) -> Decision:
    c = call.workload_class
    state.promises.pop(call.key, None)
    if would_be is not None:
        explain(state, call.costs)
        reason, limit = would_be
        return Decision(
            admitted=True, workload_class=c, would_be=reason, limit=limit, standings=touched
        )
    assert c is not None, "an untagged call always meets an obstacle"
    source = drawn(terms, state, call)
    charges = charge(terms, state, c, call.costs)
    return Decision(
        admitted=True, workload_class=c, standings=touched, charges=charges, drawn=source
    )


def _shed(
    state: PoolState,
    call: Offer,
    touched: list[Standing],
    refusal: Obstacle,
    moment: int | None,
) -> Decision:
    reason, limit = refusal
    return Decision(
        admitted=False,
        workload_class=call.workload_class,
        reason=reason,
        limit=limit,
        retryable=moment is not None,
        retry_after_ms=None if moment is None else (moment - state.at) // 1000,
        standings=touched,
    )


def _retry_moment(
    terms: PoolTerms, state: PoolState, call: Offer, reason: Reason, touched: Sequence[Standing]
) -> int | None:
    """When the call would fit; None if never, or not before its deadline."""
    moment = None
    if reason == "paused":
        moment = spread(call, state.at + PAUSED_RETRY, PAUSED_RETRY)
    elif reason not in NOT_RETRYABLE:
        moment = retry_moment(terms, state, call, touched)
    return None if moment is None or moment >= call.deadline else moment
