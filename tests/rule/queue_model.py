"""Whose job is next, said once more, slowly: every class is asked why it may not go."""

from budget.rule import dequeue
from budget.rule.dequeue import Queue
from budget.rule.terms import TIERS, ClassTerms, PoolTerms


def waits_its_turn_over(terms: PoolTerms, queues: dict[str, Queue], now: int) -> list[ClassTerms]:
    """Classes whose refused job is not to be overtaken any more."""
    tired = []
    for member in terms.classes:
        queue = queues.get(member.slug)
        if queue is None or member.paused:
            continue
        overtaken_enough = queue.waits_for_capacity and queue.overtaken >= 20
        somebody_comes = now <= queue.blocked_until + 10_000_000
        if overtaken_enough and somebody_comes:
            tired.append(member)
    return tired


def may_go(terms: PoolTerms, queues: dict[str, Queue], slug: str, now: int) -> bool:
    """Whether nothing but the rule's admission keeps the class's first job."""
    member = next(m for m in terms.classes if m.slug == slug)
    queue = queues.get(slug)
    if queue is None or not queue.depth or terms.paused or member.paused:
        return False
    if queue.ready_at > now or queue.blocked_until > now:
        return False
    tired = waits_its_turn_over(terms, queues, now)
    for owner in tired:
        if owner is member or TIERS.index(owner.tier) > TIERS.index(member.tier):
            continue
        if owner.tier != member.tier:
            return False
        stricter = terms.classes.index(owner) < terms.classes.index(member)
        if stricter or member not in tired:
            return False
    return True


def to_be_dropped(
    terms: PoolTerms, queues: dict[str, Queue], tiers: set[str], now: int
) -> list[ClassTerms]:
    """Classes in which it is time to look for late jobs."""
    classes = []
    for member in terms.classes:
        queue = queues.get(member.slug)
        if queue is None or not queue.depth or member.tier not in tiers:
            continue
        late = 0 < queue.first_deadline <= now
        unknown = not queue.first_deadline and (terms.paused or member.paused)
        if late or (unknown and queue.ready_at <= now):
            classes.append(member)
    return classes


def next_slug(terms: PoolTerms, queues: dict[str, Queue], tiers: set[str], now: int) -> str | None:
    """The class whose turn it is."""
    for tier in TIERS:
        able = [
            (queues[m.slug].served, position, m.slug)
            for position, m in enumerate(terms.classes)
            if m.tier == tier and m.tier in tiers and may_go(terms, queues, m.slug, now)
        ]
        if able:
            return min(able)[2]
    return None


def chosen(terms: PoolTerms, queues: dict[str, Queue], tiers: set[str], now: int) -> str | None:
    """The rule's choice, asked as the ledger asks it."""
    if terms.paused:
        return None
    able = [
        c
        for c, member in enumerate(terms.classes)
        if member.tier in tiers
        and not member.paused
        and (queue := queues.get(member.slug)) is not None
        and queue.depth
        and queue.ready_at <= now
        and queue.blocked_until <= now
    ]
    c = dequeue.next_class(terms, queues, able, dequeue.barred(terms, queues, now))
    return None if c is None else terms.classes[c].slug
