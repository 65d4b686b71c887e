"""What a provider says of its limits, held against the balances.

**Leaks.** A provider's limit is a token bucket that holds its whole amount; ours may hold less
(its burst) or be a window. But what is *missing* from a bucket doesn't depend on how much it
holds: it falls at the rate of the limit, not below 0, and rises by what each call counts. So
missing amounts are compared, the provider's `amount - remaining` with what is *explained*: what
would be missing if it were drawn on by our own calls alone, and gave nothing back of what they
had estimated. A provider that does give back misses less. One that we ask for less than it
has refills faster and misses less. And a call is explained before it gets there. So whatever is
missing beyond what is explained was taken by calls that never came through us: a leak. Some of
it may be calls whose lease outlived their program; the tolerance is for these, for rounded headers
and for estimates below what the provider counts. A refund within the last period needs no slack of
its own: it explains nothing away.

**Away.** What callers used by themselves while the service was away they report afterwards.
Reported before the provider is asked, it is *excused*: still missing beyond what is explained, but
no leak. It comes back at the provider once everything explained has, and a clamp makes as much of
it explained. Nothing is charged for it. A report says how much was used, not when, so that only a
part may still be missing; no call was decided on by it; and what was observed before it came has
been clamped already. The next observation knows all that, and brings the level down by just what
is missing. What is observed before it is reported is a leak: from here it looks like one. A report
excuses no more than the limit could have given over its time, whatever it says.

Where the provider allows less than the policy does, it refills more slowly than we think. What
is missing then may be the policy's error as well, and no leak is recorded.

Either way the level is clamped: it comes down to what the provider has left, by no more than
what is unexplained, at nobody's expense, as an overrun of a class since removed would do it.
Floors shrink as after any debt. A clamp never raises a level, nor takes it below what is left.

**Age.** What was said some time ago has been refilled since: `remaining + rate × age`, at most
the amount. After `STALE` it tells nothing any more.

**Bound callers.** What is left is known to whoever calls, and nobody can check it. So one who may
call for some classes only can do no more by telling than by calling. As much is taken to be missing
as the strictest of these classes could still use: the level comes down no lower than the floors
that it must leave alone. The rest stays unexplained, for others to tell. And no tier stricter than
theirs is put off.

**Backoff.** A busy provider is left alone by the loosest tier first, for as long as it says. While
that lasts, a report takes in the next stricter tier only if it was said a second or more after
the last one did: what calls are told that had left before comes sooner, so that one incident
reported by many processes widens nothing. Any report may prolong the backoff of the tiers that are
in it; none shortens it; looser ones always wait at least as long as stricter ones.
"""

from collections.abc import Iterable, Mapping
from math import ceil
from typing import NamedTuple

from budget.rule.decide import standing
from budget.rule.decision import Charge
from budget.rule.pool import MINUTE, PoolState
from budget.rule.strategies import splits
from budget.rule.terms import SECOND, LimitTerms, PoolTerms

STALE = 5 * SECOND
"""How old a report may be to tell what is left."""
BACKOFF_SECONDS, LONGEST_BACKOFF_SECONDS = 5.0, 300.0
"""For a provider that doesn't say how long, and at most, whatever it says."""
SHORT_PERIOD = 3600 * SECOND
"""A limit of up to so long is one of a provider's minute; a longer one, of its day."""
ROUNDED = 0.01
"""By which part of the policy's an amount may differ and still be the same."""


class Reading(NamedTuple):
    """What is left of one of the provider's limits."""

    unit: str
    remaining: int
    amount: int | None
    """In a period; None if it isn't said, and is taken to be the policy's."""
    period: int
    """In microseconds: that of a minute or of a day."""


class Correction(NamedTuple):
    """What a reading changed of one limit, in its unit."""

    limit: str
    unexplained: int
    """More than this was missing than is explained."""
    clamped: int
    """By so much the level came down."""
    leaked: int
    """So much of it is a leak: neither excused nor perhaps the policy's error."""


def reconcile(
    terms: PoolTerms,
    state: PoolState,
    readings: Iterable[Reading],
    age: int,
    tolerance: float,
    strictest: int | None = None,
) -> list[Correction]:
    """Bring limits down to what was left at the provider `age` microseconds before the state.

    `tolerance` is the part of a limit's amount that may be missing for no reason. `strictest` is
    the strictest class of a caller that is bound to classes. Nothing is corrected in observe mode,
    where balances aren't meant to say what is left.
    """
    if age > STALE or terms.mode == "observe":
        return []
    return [
        correction
        for reading in readings
        for d, limit in enumerate(terms.limits)
        if _concerns(reading, limit)
        and (correction := _correct(terms, state, d, reading, age, tolerance, strictest))
    ]


def excuse(
    terms: PoolTerms, state: PoolState, used: Mapping[str, int], first_at: int, last_at: int
) -> None:
    """Take in what callers used by themselves in that time, by unit, while the service was away.

    What is longer ago than a period of the provider's has come back there. No more is excused than
    a limit that was whole could have given.
    """
    for d, limit in enumerate(terms.limits):
        period = max(limit.period, MINUTE)
        if state.at - last_at < period:
            whole = max(limit.capacity, limit.rate * period)
            most = int(whole + limit.rate * (last_at - first_at))
            state.excused[d] += min(used[limit.unit], most)


def back_off(
    terms: PoolTerms,
    state: PoolState,
    seconds: float | None,
    said_at: int,
    strictest: int | None = None,
) -> dict[str, int]:
    """Leave a provider alone that said it was busy, for so many seconds from then.

    `strictest` is the strictest class of a caller that is bound to classes. Returns until when
    each class is put off that wasn't so long before, by slug: whole seconds, so that what many are
    told at once changes it once.
    """
    wait = min(BACKOFF_SECONDS if seconds is None else seconds, LONGEST_BACKOFF_SECONDS)
    until = ceil((said_at + wait * SECOND) / SECOND) * SECOND
    reach, bound = _reach(terms, state), 0 if strictest is None else _tier(terms, strictest)
    if until <= state.at:
        return {}
    anew = reach == len(terms.tiers)
    if reach > bound and (anew or said_at >= state.backoff_widened_at + SECOND):
        reach -= 1
        state.backoff_widened_at = state.at
    put_off = {}
    for c in (c for tier in terms.tiers[max(reach, bound) :] for c in tier):
        if state.backoff_until[c] < until:
            state.backoff_until[c] = put_off[terms.classes[c].slug] = until
    return put_off


def _reach(terms: PoolTerms, state: PoolState) -> int:
    """Position of the strictest tier in backoff; that after the last if there is none."""
    for position, tier in enumerate(terms.tiers):
        if any(state.backoff_until[c] > state.at for c in tier):
            return position
    return len(terms.tiers)


def _tier(terms: PoolTerms, c: int) -> int:
    """Position of a class's tier."""
    return next(position for position, tier in enumerate(terms.tiers) if c in tier)


def _concerns(reading: Reading, limit: LimitTerms) -> bool:
    if limit.unit != reading.unit or limit.algorithm == "gauge":
        return False
    return (limit.period <= SHORT_PERIOD) == (reading.period <= SHORT_PERIOD)


def _correct(
    terms: PoolTerms,
    state: PoolState,
    d: int,
    reading: Reading,
    age: int,
    tolerance: float,
    strictest: int | None,
) -> Correction | None:
    split, level = splits(terms, state)[d], state.levels[d]
    ours = split.rate * reading.period
    amount = ours if reading.amount is None else reading.amount
    remaining = min(amount, reading.remaining + amount / reading.period * age)
    unexplained = amount - remaining - state.explained[d]
    most_tolerated = tolerance * ours
    if int(unexplained) <= most_tolerated:
        return None
    is_leak = int(unexplained - state.excused[d]) > most_tolerated
    if strictest is not None:
        unexplained = min(unexplained, standing(terms, strictest, split, level, 0, False).free)
        if unexplained < 1:
            return None
    leaked = max(0, int(unexplained - state.excused[d]))
    if not is_leak or amount < ours * (1 - ROUNDED):
        leaked = 0
    clamped = max(0, min(int(unexplained), int(level.available(split) - remaining)))
    nobodys = Charge(split.terms.name, 0, state.at, 0.0)
    level.overrun(split, None, nobodys, clamped, state.at)
    state.explained[d] += int(unexplained)
    state.excused[d] = max(0.0, state.excused[d] - int(unexplained))
    return Correction(split.terms.name, int(unexplained), clamped, leaked)
