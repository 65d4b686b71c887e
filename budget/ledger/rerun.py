"""Decides stored calls once more, to show that the record explains itself.

From a kept state and the stored sequence of operations the rule must come to the same
decisions. A difference means that a row was changed, or that the rule was.
"""

from collections.abc import Iterator
from operator import attrgetter
from typing import NamedTuple

import msgspec
from django.db.models import Q

from budget.ledger.balances import decode_balances
from budget.ledger.batch import amounts
from budget.ledger.clock import micros
from budget.ledger.excusing import used_alone
from budget.ledger.observing import puts_off
from budget.ledger.operations import NEVER_LEFT
from budget.models import AwayReport, Call, Observation, PolicyRevision, PoolState
from budget.providers import Tokens
from budget.rule.admission import offer
from budget.rule.decision import Decision
from budget.rule.observe import Reading, back_off, excuse, reconcile
from budget.rule.pool import Offer, release, settle
from budget.rule.pool import PoolState as Levels
from budget.rule.terms import PoolTerms


class Difference(NamedTuple):
    """A decision that comes out otherwise the second time."""

    call: Call
    again: Decision


class Rerun(NamedTuple):
    """What came of a re-run."""

    decisions: int
    differences: list[Difference]
    balances: Levels
    """What the pool's balances are at the end; equal to the newest state's if all is well."""


class _Event(NamedTuple):
    """Something that changed balances; sorts into the order in which it did.

    No two batches have the same moment, so it comes first.
    """

    at: int
    stage: int
    """Within a batch an edit comes first, then lapses, then operations."""
    seq: int
    position: int
    call: Call | None = None
    observation: Observation | None = None
    report: AwayReport | None = None
    revision: PolicyRevision | None = None


EDIT, LAPSE, OPERATION = range(3)
ORDER = attrgetter("at", "stage", "position")


def rerun(pool_id: int, seq: int) -> Rerun:
    """Everything after the kept state `seq`, once more.

    Raises PoolState.DoesNotExist when that state is not stored, UnreadableBalances when
    another version of the rule left it.
    """
    kept = PoolState.objects.get(pool_id=pool_id, seq=seq)
    balances = decode_balances(bytes(kept.state))
    terms = _terms(PolicyRevision.objects.get(pool_id=pool_id, version=balances.version))
    decisions, differences = 0, []
    for event in sorted(_events(kept), key=ORDER):
        if event.revision is not None:
            new = _terms(event.revision)
            balances.carry(terms, new, micros(event.revision.changed_at))
            terms = new
        balances.advance(terms, event.at)
        if event.observation is not None:
            _observe_again(terms, balances.pool, event.observation)
        if event.report is not None:
            _excuse_again(terms, balances.pool, event.report)
        drawn = None if event.call is None else balances.drawn_on(terms, event.call.of_batch)
        if event.call is None or drawn is None or _refused_at_door(event.call):
            continue
        if event.stage == LAPSE:
            release(*drawn, event.call.workload_class, event.call.charged)
        elif event.seq == event.call.seq and event.position == event.call.position:
            decisions += 1
            again = _offer_again(*drawn, event.call)
            if not _same(event.call, again):
                differences.append(Difference(event.call, again))
        else:
            _settle_again(*drawn, event.call)
    return Rerun(decisions, differences, balances.pool)


def _events(kept: PoolState) -> Iterator[_Event]:
    of_pool = Call.objects.filter(pool_id=kept.pool_id)
    edits = PolicyRevision.objects.filter(pool_id=kept.pool_id, read_at__gt=kept.at)
    for revision in edits:
        yield _Event(micros(revision.read_at), EDIT, 0, revision.version, revision=revision)
    for seen in Observation.objects.filter(pool_id=kept.pool_id, seq__gt=kept.seq):
        yield _Event(micros(seen.at), OPERATION, seen.seq, seen.position, observation=seen)
    for told in AwayReport.objects.filter(pool_id=kept.pool_id, seq__gt=kept.seq):
        if told.at is not None:
            yield _Event(micros(told.at), OPERATION, told.seq or 0, told.position or 0, report=told)
    lapsed = of_pool.filter(lapsed_at__gt=kept.at).order_by("lease_expires", "id")
    for n, call in enumerate(lapsed):
        if call.lapsed_at is not None:
            yield _Event(micros(call.lapsed_at), LAPSE, 0, n, call)
    for call in of_pool.filter(Q(seq__gt=kept.seq) | Q(settled_seq__gt=kept.seq)):
        if call.seq > kept.seq:
            yield _Event(micros(call.offered_at), OPERATION, call.seq, call.position, call)
        if call.settled_at is not None and (call.settled_seq or 0) > kept.seq:
            place = call.settled_seq or 0, call.settled_position or 0
            yield _Event(micros(call.settled_at), OPERATION, *place, call)


def _refused_at_door(call: Call) -> bool:
    """Whether it stands for a job that got no place, and never came before the rule."""
    return call.job_id is not None and call.state == Call.State.SHED


def _offer_again(terms: PoolTerms, state: Levels, call: Call) -> Decision:
    size = amounts(terms, Tokens(call.input_tokens, call.output_tokens))
    return offer(
        terms,
        state,
        Offer(
            workload_class=terms.class_index.get(call.workload_class),
            costs=tuple(size[limit.unit] for limit in terms.limits),
            deadline=micros(call.deadline),
            key=str(call.retried_as or call.id),
        ),
    )


def _settle_again(terms: PoolTerms, state: Levels, call: Call) -> None:
    used = None
    if call.outcome not in NEVER_LEFT:
        used = amounts(
            terms,
            Tokens(
                call.used_input_tokens or 0,
                call.used_output_tokens or 0,
                call.used_cached_input_tokens or 0,
            ),
        )
    held = call.lapsed_at is None
    settle(terms, state, call.workload_class, call.charged, used, held)


def _observe_again(terms: PoolTerms, state: Levels, seen: Observation) -> None:
    said_at = micros(seen.said_at)
    readings = [Reading(*reading) for reading in seen.readings]
    strictest = terms.class_index[seen.strictest] if seen.strictest else None
    reconcile(terms, state, readings, state.at - said_at, seen.tolerance, strictest)
    if puts_off(seen.refusal, strictest):
        back_off(terms, state, seen.wait_seconds, said_at, strictest)


def _excuse_again(terms: PoolTerms, state: Levels, told: AwayReport) -> None:
    tokens = Tokens(
        max(told.input_tokens, told.estimated_input_tokens),
        max(told.output_tokens, told.estimated_output_tokens),
    )
    used = used_alone(terms, told.admitted, tokens)
    excuse(terms, state, used, micros(told.first_at), micros(told.last_at))


def _same(call: Call, again: Decision) -> bool:
    return (
        (call.state != Call.State.SHED) == again.admitted
        and call.reason == (again.reason or again.would_be or "")
        and call.limit == (again.limit or "")
        and call.retry_after_ms == again.retry_after_ms
        and call.standings == again.standings
        and call.charged == again.charges
    )


def _terms(revision: PolicyRevision) -> PoolTerms:
    return msgspec.convert(revision.terms, PoolTerms)
