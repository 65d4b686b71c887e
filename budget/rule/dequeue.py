"""Which job next: late ones dropped, strictest tier first, fair among peers, newest when deep.

A queue makes work older, and an answer after its deadline is worth nothing. So a job is
dropped as soon as its deadline is nearer than it takes to serve one; and once the oldest
has waited for more than a set part of its time, the newest are served first: some answers
in time instead of all of them late.

- Strictest tier first. Within a tier the class with the least tokens per weight so far. Who
  doesn't compete saves nothing up: a class that was idle starts level with the least of those
  that wait, and one that is paused, yields or has reached its ceiling is kept level.
- Within a class by deadline, or newest first while it is deep. The switch goes on at a part
  of the oldest job's time, and off at half that part, so that it doesn't flutter.
- A class that is paused, or that a provider wants to rest, drops its late jobs all the same.
- The first of a class that the rule refuses waits for its moment, and its class with it.
  Others may go on, but only `MOST_OVERTAKES` of them: then no job of its own or a looser tier
  is taken before it, or small ones would keep a large one out for ever. Of two such in a tier
  the stricter goes first. Only what is short of the pool's capacity is waited for.
- Of the jobs of a class that lost an attempt with whoever ran it, and have only one left, one
  runs at a time: see `runs_alone`.

Moments and spans are microseconds.
"""

from collections.abc import Iterable, Mapping, Sequence

import msgspec
from msgspec import structs

from budget.rule.decision import Reason
from budget.rule.quantile import Quantile
from budget.rule.rate import Rate
from budget.rule.terms import SECOND, ClassTerms, PoolTerms, Tier

MOST_OVERTAKES = 20
"""Jobs taken past one that waits for its moment, before all others wait for it."""
GRACE = 10 * SECOND
"""How long after its moment others wait for a refused job."""
MARGIN_OF_DEADLINE = 0.5
"""The learned service time counts for no more than this part of a class's deadline."""
SHORTEST_WAIT = 20_000
"""How soon a refused class is asked again at the earliest, lest asking be all that is done."""
SHORT_OF_CAPACITY: frozenset[Reason] = frozenset({"pool_exhausted", "floor_protected", "headroom"})
"""Refusals that what others take makes last longer."""


class Queue(msgspec.Struct, kw_only=True, omit_defaults=True):
    """What is remembered of one class's jobs on a pool."""

    depth: int = 0
    """Jobs that wait, resting ones included."""
    tokens: int = 0
    """Their estimates together."""
    running: int = 0
    oldest: int = 0
    """When the oldest of them was enqueued, as of the last look; 0 without any."""
    first_deadline: int = 0
    """Of those that don't rest, as of the last look, or earlier; 0 without any."""
    newest_first: bool = False
    served: float = 0.0
    """Tokens taken per weight, for fairness among peers."""
    blocked_until: int = 0
    """When the job that is refused would fit, or the provider wants to be asked again."""
    blocked_by: Reason | None = None
    """Why the job is refused; None if it isn't the rule that does."""
    alone_until: int = 0
    """Until when at most a job runs that others of its kind stay away from; see `runs_alone`."""
    overtaken: int = 0
    """Jobs taken past the one that waits for capacity."""
    waits_for_capacity: bool = False
    waits_for_end: bool = False
    """Whether it waits for a gauge, which calls free as they end."""
    ready_at: int = 0
    """When the first of its jobs is ready, if none is now; 0 if one may be."""
    paused: bool = False
    """Whether somebody paused the class, or its whole pool."""
    failures: int = 0
    """Times in a row that the provider sent attempts away."""
    failed_at: int = 0
    """When it last did; how attempts end that began before tells nothing new."""
    service: Quantile = msgspec.field(default_factory=lambda: Quantile(0.95))
    """Seconds from taking to finishing a job, 95th percentile."""
    taken: Rate = msgspec.field(default_factory=Rate)
    """Jobs taken per second."""
    pace: Rate = msgspec.field(default_factory=Rate)
    """The same by `clock`: what could be taken, whatever was asked for, paused or sent away."""
    waited: int = 0
    """How long jobs have waited for one another, without the present time."""
    waiting_since: int = 0
    """Since when some do, without a break; 0 if none does."""
    last_wait: tuple[int, int] = (0, 0)
    """From when until when some did, without a break, before that."""

    def enqueue(self, tokens: int, deadline: int, now: int) -> None:
        """One more job waits."""
        if not self.depth:
            self.oldest = now
        self.first_deadline = min(self.first_deadline or deadline, deadline)
        self.depth += 1
        self.tokens += tokens
        self.keep_time(now)

    def leave(self, jobs: int, tokens: int, now: int) -> None:
        """Jobs wait no longer."""
        self.depth = max(0, self.depth - jobs)
        self.tokens = max(0, self.tokens - tokens) if self.depth else 0
        if not self.depth:
            self.oldest = self.first_deadline = self.ready_at = 0
            self.newest_first = False
            self.unblock()
        self.keep_time(now)

    def send_away(self, now: int) -> None:
        """Its provider takes nothing now, until `take_again`."""
        self.failures += 1
        self.failed_at = now
        self.keep_time(now)

    def take_again(self, now: int) -> None:
        """Its provider takes attempts, as far as is known."""
        self.failures = 0
        self.unblock()
        self.keep_time(now)

    def pause(self, paused: bool, now: int) -> None:
        """Take note of whether it is paused from now on."""
        self.paused = paused
        self.keep_time(now)

    def keep_time(self, now: int) -> None:
        """Let the clock run while jobs wait, but not for who paused them or sends them away."""
        runs = self.depth > 0 and not self.failures and not self.paused
        if runs and not self.waiting_since:
            self.waiting_since = now
        elif not runs and self.waiting_since:
            if now > self.waiting_since:
                self.last_wait = self.waiting_since, now
            self.waited, self.waiting_since = self.clock(now), 0

    def clock(self, now: int) -> int:
        """How long jobs have waited for one another so far, all in all."""
        return self.waited + (max(0, now - self.waiting_since) if self.waiting_since else 0)

    def waited_since(self, then: int, now: int) -> int:
        """How far the clock has run since an earlier moment; less if it stood in between."""
        start, end = (self.waiting_since, now) if self.waiting_since else self.last_wait
        return max(0, end - max(then, start))

    def unblock(self) -> None:
        """Nobody of the class waits for its moment any more."""
        self.blocked_until = self.overtaken = 0
        self.blocked_by = None
        self.waits_for_capacity = self.waits_for_end = False

    def reconsider(self, now: int) -> None:
        """Ask again: what its first job waits for may have come earlier than was foreseen."""
        self.blocked_until = min(self.blocked_until, now)

    def resting(self, now: int) -> float:
        """Seconds that its provider is left alone still, having sent attempts away."""
        return max(0, self.blocked_until - now) / SECOND if self.failures else 0.0


def service_margin(member: ClassTerms, queue: Queue) -> int:
    """How long before its deadline a job must be taken to be done in time."""
    return min(int(queue.service.value * SECOND), int(member.deadline * MARGIN_OF_DEADLINE))


def turn(queue: Queue, waited: float, after: float) -> None:
    """Switch the order of a queue whose oldest job has waited for a part of its time.

    `waited` is that part, 0 without jobs; beyond `after` the newest go first, until it is at
    most half of that.
    """
    if waited > after:
        queue.newest_first = True
    elif waited <= after / 2:
        queue.newest_first = False


def next_class(
    terms: PoolTerms, queues: Mapping[str, Queue], ready: Iterable[int], barred: Sequence[int]
) -> int | None:
    """Whose job is next, of the classes with one that is ready; None if nobody may go.

    `barred` are the classes whose refused job has been overtaken often enough.
    """
    allowed = [c for c in ready if not _owners_ahead(terms, c, barred)]
    if not allowed:
        return None
    strictest = terms.classes[min(allowed)].tier
    peers = [c for c in allowed if terms.classes[c].tier == strictest]
    return min(peers, key=lambda c: (queues[terms.classes[c].slug].served, c))


def barred(terms: PoolTerms, queues: Mapping[str, Queue], now: int) -> list[int]:
    """The classes whose refused job was overtaken as often as it may be.

    Until a little after its moment: if it isn't taken then, nobody works for its class.
    """
    return [
        c
        for c, member in enumerate(terms.classes)
        if (queue := queues.get(member.slug)) is not None
        and queue.waits_for_capacity
        and queue.overtaken >= MOST_OVERTAKES
        and now <= queue.blocked_until + GRACE
        and not member.paused
    ]


def take(terms: PoolTerms, queues: Mapping[str, Queue], c: int, tokens: int, now: int) -> None:
    """Note that a job of class c was taken, past whoever waits."""
    member = terms.classes[c]
    queue = queues[member.slug]
    start = queue.served
    queue.served += tokens / member.weight
    depart(queue, tokens, now)
    queue.unblock()
    for owner, other in enumerate(terms.classes):
        waiting = queues.get(other.slug)
        if waiting is None or not _waits_for(terms, c, owner):
            continue
        if waiting.waits_for_capacity:
            waiting.overtaken += 1
        elif other.tier == member.tier and (other.paused or waiting.blocked_until > now):
            waiting.served = max(waiting.served, start)


def depart(queue: Queue, tokens: int, now: int) -> None:
    """Note that a job of a queue starts, on whichever allowance."""
    queue.taken.count(now)
    queue.pace.count(queue.clock(now))
    queue.leave(1, tokens, now)
    queue.running += 1


def take_back(queue: Queue, taken_at: int, now: int) -> None:
    """Note that a job that was taken was sent away: that is no sign of how fast others go."""
    queue.taken.take_back(now, taken_at)
    clock = queue.clock(now)
    queue.pace.take_back(clock, clock - queue.waited_since(taken_at, now))


def runs_alone(lost: bool, attempts: int, most_attempts: int) -> bool:
    """Whether a job may bring down who runs it, and has the last of its attempts before it.

    `lost` if an attempt of it never reported back. Of such jobs one runs at a time per queue:
    so the one that is to blame uses its attempts up without the last ones of its neighbours.
    """
    return lost and attempts >= most_attempts - 1


def block(queue: Queue, reason: Reason | None, moment: int, limit: str | None = None) -> None:
    """Note that the first job of a class has to wait until a moment, because of a limit or not."""
    queue.blocked_until = moment
    queue.blocked_by = reason
    queue.waits_for_capacity = reason in SHORT_OF_CAPACITY
    queue.waits_for_end = limit is not None and limit.endswith("/gauge")


def catch_up(terms: PoolTerms, queues: Mapping[str, Queue], slug: str) -> None:
    """Level a class that had no jobs waiting with its peers, before one is enqueued.

    With the least of those that have; without any, with the most that any peer was served,
    so that none of them comes back to pay off what it was served alone.
    """
    tier = terms.classes[terms.class_index[slug]].tier
    peers = [
        queues[member.slug]
        for member in terms.classes
        if member.tier == tier and member.slug != slug and member.slug in queues
    ]
    waiting = [peer.served for peer in peers if peer.depth]
    level = min(waiting) if waiting else max([peer.served for peer in peers], default=0.0)
    queues[slug].served = max(queues[slug].served, level)


def adrift(terms: PoolTerms, queues: Mapping[str, Queue]) -> list[str]:
    """Classes whose jobs nobody takes any more, since they are gone or interactive now."""
    return [
        slug
        for slug, queue in queues.items()
        if queue.depth
        and ((c := terms.class_index.get(slug)) is None or is_adrift(terms.classes[c], queue))
    ]


def is_adrift(member: ClassTerms, queue: Queue) -> bool:
    """Whether jobs wait for a class that is interactive now."""
    return member.tier == "interactive" and queue.depth > 0


def as_looked_at(member: ClassTerms, queue: Queue, after: float, now: int) -> Queue:
    """The queue with the order that the next look will find, as far as it is known.

    Only the oldest job is: of jobs with shorter deadlines the order may have been switched.
    """
    looked_at = structs.replace(queue)
    waited = max(0, now - queue.oldest) / member.deadline if queue.oldest else 0.0
    if waited > after:
        turn(looked_at, waited, after)
    return looked_at


def due(
    terms: PoolTerms, queues: Mapping[str, Queue], tiers: Iterable[Tier], now: int
) -> int | None:
    """When there may next be a job to take in these tiers: now, later, or None for none.

    Or one to drop: also those that nobody takes, now or any more, are dropped when it is time.
    """
    moments = [max(now, queues[slug].ready_at) for slug in adrift(terms, queues)]
    wanted = frozenset(tiers)
    stopped = barred(terms, queues, now)
    for c, member in enumerate(terms.classes):
        queue = queues.get(member.slug)
        if queue is None or member.tier not in wanted or not queue.depth:
            continue
        if queue.first_deadline:
            moments.append(max(now, queue.first_deadline))
        if terms.paused or member.paused:
            # Those that rest are lined up after it, so that their deadlines are known, too.
            moments += [] if queue.first_deadline else [max(now, queue.ready_at)]
            continue
        # Once such a job is taken it is asked anew; this is for those that nobody comes for.
        given_up = [
            queues[terms.classes[owner].slug].blocked_until + GRACE + 1
            for owner in _owners_ahead(terms, c, stopped)
        ]
        moments.append(max([now, queue.blocked_until, queue.ready_at, *given_up]))
    return min(moments, default=None)


def _owners_ahead(terms: PoolTerms, c: int, barred: Sequence[int]) -> list[int]:
    """Whose refused jobs are to be taken before any of class c."""
    if c in barred:
        return [owner for owner in barred if owner < c]
    return [owner for owner in barred if _waits_for(terms, c, owner)]


def _waits_for(terms: PoolTerms, c: int, owner: int) -> bool:
    """Whether a job of class c goes after the refused one of another class."""
    return c != owner and (owner < c or terms.classes[owner].tier == terms.classes[c].tier)
