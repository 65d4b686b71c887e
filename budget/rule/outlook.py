"""What a queue's producers may expect: how long the next job waits, and whether to send it."""

from budget.rule.dequeue import Queue, is_adrift
from budget.rule.terms import SECOND, ClassTerms, PoolTerms

NOTED_REST = 10 * SECOND
"""From when on a provider's rest is shown in a queue's state."""
SLOWEST_PACE = 1e-3
"""Jobs per second below which nothing is taken, as far as anybody can say."""
AMBER, RED = 0.5, 0.9
"""How full a queue is, as a part of its bounds, when a producer should slow down, and stop."""


def expected_wait(queue: Queue, now: int) -> float | None:
    """Seconds until a job that comes now would be taken; None while nothing is taken."""
    if queue.paused:
        return None
    resting = queue.resting(now)
    if not queue.depth:
        return resting
    rate = queue.pace.now(queue.clock(now))
    return resting + queue.depth / rate if rate > SLOWEST_PACE else None


def wait_to_fear(queue: Queue, now: int) -> float:
    """Seconds that a job that comes now may wait, by what is taken and by who waits already.

    How long the oldest has waited tells nothing while the newest go first, unless nothing is
    taken at all.
    """
    expected = expected_wait(queue, now)
    oldest = max(0, now - queue.oldest) / SECOND if queue.oldest else 0.0
    if expected is None:
        return max(oldest, queue.resting(now))
    return expected if queue.newest_first else max(expected, oldest)


def fullness(member: ClassTerms, queue: Queue) -> float:
    """How full a queue is of its tighter bound, 0 to 1 or a little more."""
    parts = [
        held / bound
        for held, bound in (
            (queue.depth, member.queue_limit),
            (queue.tokens, member.queue_tokens),
        )
        if bound
    ]
    return max(parts, default=0.0)


def state_of(terms: PoolTerms, member: ClassTerms, queue: Queue, now: int) -> str:
    """`green`: send more; `amber`: slow down; `red`: stop, or be refused or come too late.

    Red from 90 % of a bound, or when the wait to fear exceeds the class's deadline, or
    while nothing is taken in or out because somebody paused or drains it, or since its class
    is interactive now. Amber from half of a bound or of the deadline, while the newest go
    first, and once a provider that sent attempts away is left alone for more than `NOTED_REST`,
    but for one that tries, until it takes one.
    """
    if terms.paused or member.paused or member.draining or is_adrift(member, queue):
        return "red"
    wait = wait_to_fear(queue, now) * SECOND / member.deadline
    if fullness(member, queue) >= RED or wait >= 1:
        return "red"
    if fullness(member, queue) >= AMBER or wait >= AMBER or queue.newest_first:
        return "amber"
    if queue.failures and queue.blocked_until - queue.failed_at > NOTED_REST:
        return "amber"
    return "green"
