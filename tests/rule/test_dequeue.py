"""Which job next: by tier, by weight, by age, and nobody left out."""

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from budget.rule import dequeue, outlook
from budget.rule.dequeue import GRACE, MOST_OVERTAKES, Queue, turn
from budget.rule.rate import Rate
from budget.rule.terms import SECOND, PoolTerms
from tests.rule.pools import START, limit, pool, workload
from tests.rule.queue_model import chosen, next_slug, to_be_dropped

MEMBERS = (
    ("desk", "near_line", 60),
    ("rescore", "near_line", 300),
    ("letters", "near_line", 900),
    ("nightly", "bulk", 28_800),
    ("archive", "bulk", 86_400),
)
HOUR = 3600 * SECOND
TIER_SETS = ({"near_line"}, {"bulk"}, {"near_line", "bulk"})
MOMENTS = st.sampled_from([0, START - GRACE - 1, START - GRACE, START - 1, START, START + 1]) | (
    st.integers(START - 2 * GRACE, START + 2 * GRACE)
)
QUEUES = st.builds(
    Queue,
    depth=st.integers(0, 2),
    served=st.integers(0, 3).map(float),
    blocked_until=MOMENTS,
    ready_at=MOMENTS,
    first_deadline=MOMENTS,
    overtaken=st.sampled_from([0, MOST_OVERTAKES - 1, MOST_OVERTAKES, MOST_OVERTAKES + 3]),
    waits_for_capacity=st.booleans(),
)


@st.composite
def lines(draw: st.DrawFn) -> tuple[PoolTerms, dict[str, Queue]]:
    """A pool's queues in any state they may get into."""
    members = [
        workload(slug, tier, deadline, paused=draw(st.sampled_from([False, False, True])))
        for slug, tier, deadline in MEMBERS
        if draw(st.booleans())
    ] or [workload("nightly")]
    terms = pool([limit()], *members)
    return terms, {member.slug: draw(QUEUES) for member in members if draw(st.integers(0, 9))}


@given(line=lines(), tiers=st.sampled_from(TIER_SETS))
def test_the_next_is_the_one_whom_nothing_keeps_and_whose_turn_it_is(
    line: tuple[PoolTerms, dict[str, Queue]], tiers: set[str]
) -> None:
    assert chosen(*line, tiers, START) == next_slug(*line, tiers, START)


@given(line=lines(), tiers=st.sampled_from(TIER_SETS), chance=st.randoms(use_true_random=False))
def test_due_is_the_first_moment_at_which_somebody_may_go_or_is_late(
    line: tuple[PoolTerms, dict[str, Queue]], tiers: Any, chance: Any
) -> None:
    """So nothing is kept waiting, nothing waits for ever, and nobody asks in vain."""
    terms, queues = line
    moment = dequeue.due(terms, queues, tiers, START)
    if moment is None:
        wanted = [m for m in terms.classes if m.tier in tiers]
        assert not any(queues[m.slug].depth for m in wanted if m.slug in queues)
        return
    assert next_slug(terms, queues, tiers, moment) or to_be_dropped(*line, tiers, moment)
    earlier = {moment - 1, *(chance.randrange(START, moment + 1) for _ in range(20))}
    for at in earlier - {moment}:
        if at >= START:
            assert next_slug(terms, queues, tiers, at) is None
            assert not to_be_dropped(terms, queues, tiers, at)


@given(
    weights=st.lists(st.integers(1, 10), min_size=2, max_size=5),
    sizes=st.lists(st.integers(1, 5000), min_size=200, max_size=200),
)
def test_a_tiers_backlog_is_served_by_weight(weights: list[int], sizes: list[int]) -> None:
    """At no moment is anybody further behind than one job of each of the two."""
    members = [workload(f"bulk{n}", "bulk", weight=weight) for n, weight in enumerate(weights)]
    terms = pool([limit()], *members)
    queues = {m.slug: Queue(depth=10_000, tokens=10**9) for m in terms.classes}
    got = dict.fromkeys(queues, 0.0)
    largest = max(sizes)
    for tokens in sizes:
        slug = chosen(terms, queues, {"bulk"}, START)
        assert slug is not None
        c = terms.class_index[slug]
        dequeue.take(terms, queues, c, tokens, START)
        got[slug] += tokens / terms.classes[c].weight
        assert max(got.values()) - min(got.values()) <= largest / min(weights)


def test_a_class_that_was_idle_saves_nothing_up() -> None:
    terms, queues = two_peers()
    for _ in range(100):
        serve(terms, queues, "archive")
    enqueue(terms, queues, "nightly", 100)
    turns = [serve(terms, queues) for _ in range(20)]
    assert turns.count("nightly") in (10, 11)


def test_a_class_that_worked_alone_has_nothing_to_pay_off() -> None:
    terms, queues = two_peers()
    for _ in range(100):
        serve(terms, queues, "archive")
    queues["archive"].leave(queues["archive"].depth, queues["archive"].tokens, START)
    enqueue(terms, queues, "nightly", 100)
    enqueue(terms, queues, "archive", 100)
    turns = [serve(terms, queues) for _ in range(20)]
    assert turns.count("nightly") in (9, 10, 11)


@pytest.mark.parametrize("reason", ["paused", "ceiling", "yielding", None])
def test_a_class_that_may_not_compete_saves_nothing_up(reason: Any) -> None:
    paused = workload("nightly", paused=reason == "paused")
    terms = pool([limit()], paused, workload("archive", deadline=86_400))
    queues = {slug: Queue() for slug in terms.class_index}
    for slug in queues:
        enqueue(terms, queues, slug, 1000)
    if reason != "paused":
        dequeue.block(queues["nightly"], reason, START + 60 * SECOND)
    for _ in range(100):
        serve(terms, queues, "archive")
    resumed = pool([limit()], workload("nightly"), workload("archive", deadline=86_400))
    queues["nightly"].unblock()
    turns = [serve(resumed, queues) for _ in range(20)]
    assert turns.count("nightly") in (10, 11)


def test_who_waits_for_capacity_keeps_its_claim() -> None:
    terms, queues = two_peers()
    enqueue(terms, queues, "nightly", 100)
    dequeue.block(queues["nightly"], "pool_exhausted", START + SECOND)
    for _ in range(5):
        serve(terms, queues, "archive")
    assert queues["nightly"].overtaken == 5
    assert [serve(terms, queues, now=START + SECOND) for _ in range(5)] == ["nightly"] * 5


@pytest.mark.parametrize("reason", ["ceiling", "yielding", "provider_backoff", None])
def test_who_waits_for_something_of_its_own_bars_nobody(reason: Any) -> None:
    terms, queues = two_peers()
    enqueue(terms, queues, "nightly", 100)
    dequeue.block(queues["nightly"], reason, START + 60 * SECOND)
    for _ in range(3 * MOST_OVERTAKES):
        assert serve(terms, queues) == "archive"


def test_a_job_that_waits_for_capacity_is_overtaken_so_often_and_no_more() -> None:
    terms, queues = two_peers()
    enqueue(terms, queues, "nightly", 1)
    dequeue.block(queues["nightly"], "pool_exhausted", START + 60 * SECOND)
    turns = [serve(terms, queues) for _ in range(MOST_OVERTAKES + 1)]
    assert turns == ["archive"] * MOST_OVERTAKES + [None]
    assert dequeue.due(terms, queues, ["bulk"], START) == START + 60 * SECOND
    assert serve(terms, queues, now=START + 60 * SECOND) == "nightly"
    assert serve(terms, queues, now=START + 60 * SECOND) == "archive"


def test_stricter_work_goes_past_a_job_that_waits() -> None:
    terms = pool([limit()], workload("rescore"), workload("nightly"))
    queues = {"rescore": Queue(), "nightly": Queue(depth=1, tokens=1)}
    dequeue.block(queues["nightly"], "pool_exhausted", START + 60 * SECOND)
    enqueue(terms, queues, "rescore", 100)
    for _ in range(2 * MOST_OVERTAKES):
        assert serve(terms, queues) == "rescore"
    assert queues["nightly"].overtaken == 0


def test_two_that_wait_for_capacity_do_not_wait_for_each_other() -> None:
    members = [workload(slug, "bulk", deadline) for slug, _, deadline in MEMBERS[:3]]
    terms = pool([limit()], *members)
    queues = {m.slug: Queue(depth=50, tokens=50) for m in members}
    dequeue.block(queues["desk"], "pool_exhausted", START + 2 * SECOND)
    dequeue.block(queues["rescore"], "pool_exhausted", START + SECOND)
    for _ in range(MOST_OVERTAKES):
        assert serve(terms, queues) == "letters"
    assert serve(terms, queues) is None
    assert dequeue.due(terms, queues, ["bulk"], START) == START + 2 * SECOND
    turns = [serve(terms, queues, now=START + 2 * SECOND) for _ in range(3)]
    assert turns == ["desk", "rescore", "desk"]


def test_others_stop_waiting_for_a_job_that_nobody_comes_for() -> None:
    terms = pool([limit()], workload("rescore"), workload("nightly"))
    queues = {slug: Queue(depth=50, tokens=50) for slug in terms.class_index}
    dequeue.block(queues["rescore"], "pool_exhausted", START + SECOND)
    for _ in range(MOST_OVERTAKES):
        assert serve(terms, queues, tiers={"bulk"}) == "nightly"
    assert serve(terms, queues, tiers={"bulk"}) is None
    over = START + SECOND + GRACE + 1
    assert dequeue.due(terms, queues, ["bulk"], START) == over
    assert serve(terms, queues, tiers={"bulk"}, now=over) == "nightly"


@given(parts=st.lists(st.floats(0, 2), max_size=50), after=st.floats(0.1, 0.9))
def test_the_order_turns_with_hysteresis(parts: list[float], after: float) -> None:
    queue, orders = Queue(depth=1), []
    for part in parts:
        turn(queue, part, after)
        orders.append(queue.newest_first)
        if part > after:
            assert queue.newest_first
        if part <= after / 2:
            assert not queue.newest_first
    for (before, now), part in zip(pairwise(orders), parts[1:], strict=True):
        if after / 2 < part <= after:
            assert before == now


def test_an_empty_queue_is_not_deep() -> None:
    queue = Queue(depth=1, tokens=5, newest_first=True)
    queue.leave(1, 5, START)
    assert not queue.newest_first


def test_jobs_of_classes_that_are_gone_are_due_to_be_dropped() -> None:
    terms = pool([limit()], workload("adjuster"))
    queues = {"gone": Queue(depth=1, ready_at=START + SECOND), "adjuster": Queue(depth=1)}
    assert dequeue.adrift(terms, queues) == ["gone", "adjuster"]
    assert dequeue.due(terms, queues, ["bulk"], START) == START
    queues["adjuster"].leave(1, 0, START)
    assert dequeue.due(terms, queues, ["bulk"], START) == START + SECOND


@pytest.mark.parametrize(
    ("fields", "queue", "state"),
    [
        ({}, Queue(), "green"),
        ({"queue_limit": 10}, Queue(depth=4), "green"),
        ({"queue_limit": 10}, Queue(depth=5), "amber"),
        ({"queue_limit": 10}, Queue(depth=9), "red"),
        ({"queue_tokens": 100}, Queue(depth=1, tokens=50), "amber"),
        ({"queue_tokens": 100}, Queue(depth=1, tokens=90), "red"),
        ({}, Queue(depth=1, newest_first=True), "amber"),
        ({"paused": True}, Queue(), "red"),
        ({"draining": True}, Queue(), "red"),
        ({}, Queue(depth=149, waited=HOUR, pace=Rate(1.0, HOUR)), "green"),
        ({}, Queue(depth=151, waited=HOUR, pace=Rate(1.0, HOUR)), "amber"),
        ({}, Queue(depth=301, waited=HOUR, pace=Rate(1.0, HOUR)), "red"),
        # Nobody takes any, or hardly any: how long the oldest has waited tells.
        ({}, Queue(depth=1, oldest=START - 149 * SECOND), "green"),
        ({}, Queue(depth=1, oldest=START - 150 * SECOND), "amber"),
        ({}, Queue(depth=1, oldest=START - 300 * SECOND), "red"),
        (
            {},
            Queue(depth=1, oldest=START - 290 * SECOND, waited=HOUR, pace=Rate(1.0, HOUR)),
            "amber",
        ),
        ({}, Queue(depth=9, oldest=START - 999 * SECOND, newest_first=True), "red"),
        (
            {},
            Queue(
                depth=9,
                oldest=START - 999 * SECOND,
                newest_first=True,
                waited=HOUR,
                pace=Rate(1.0, HOUR),
            ),
            "amber",
        ),
    ],
)
def test_a_queue_says_when_to_slow_down(fields: Any, queue: Queue, state: str) -> None:
    member = workload("rescore", **fields)
    assert outlook.state_of(pool([limit()], member), member, queue, START) == state


@pytest.mark.parametrize("every", [1, 60, 1800])
def test_a_job_that_comes_after_a_quiet_time_is_not_expected_to_wait(every: int) -> None:
    """However seldom jobs come: free workers take each at once, and nothing fades meanwhile."""
    terms = pool([limit()], workload("rescore"))
    queue, now = Queue(), START
    for _ in range(20):
        queue.enqueue(1, now + HOUR, now)
        dequeue.take(terms, {"rescore": queue}, 0, 1, now + SECOND // 50)
        now += every * SECOND
    now += HOUR
    queue.enqueue(1, now + HOUR, now)
    assert outlook.expected_wait(queue, now) == pytest.approx(0, abs=1)
    assert outlook.state_of(terms, terms.classes[0], queue, now) == "green"


def test_a_backlog_is_expected_to_wait_as_long_as_it_does() -> None:
    """Two are taken per second; the pauses between three backlogs count for nothing."""
    terms = pool([limit()], workload("rescore"))
    queue, now = Queue(), START
    for _ in range(3):
        for _ in range(100):
            queue.enqueue(1, now + HOUR, now)
        while queue.depth:
            if 20 < queue.depth < 60:
                wait = outlook.expected_wait(queue, now)
                assert wait == pytest.approx(queue.depth / 2, rel=0.1)
            now += SECOND // 2
            dequeue.take(terms, {"rescore": queue}, 0, 1, now)
        now += HOUR


def test_what_was_sent_away_does_not_count_as_taken() -> None:
    terms = pool([limit()], workload("rescore"))
    queue, now = Queue(depth=1000), START
    queue.keep_time(now)
    for _ in range(100):
        now += SECOND
        dequeue.take(terms, {"rescore": queue}, 0, 1, now)
        dequeue.take_back(queue, now, now + SECOND // 2)
    assert queue.taken.now(now) < 0.02
    assert queue.pace.now(queue.clock(now)) < 0.02


def test_what_is_left_of_an_attempt_sent_away_makes_no_queue_red() -> None:
    """The clock stood while the only job ran, so not quite all of it is taken back."""
    terms = pool([limit()], workload("rescore"))
    queue, now = Queue(), START
    queue.enqueue(1, now + HOUR, now)
    now += SECOND // 50
    dequeue.take(terms, {"rescore": queue}, 0, 1, now)
    dequeue.take_back(queue, now, now + SECOND // 100)
    queue.enqueue(1, now + HOUR, now + SECOND // 100)
    assert outlook.expected_wait(queue, now + SECOND) is None
    assert outlook.state_of(terms, terms.classes[0], queue, now + SECOND) == "green"


@pytest.mark.parametrize(("rest", "state"), [(10, "green"), (11, "amber")])
def test_a_providers_rest_is_counted_and_shown(rest: int, state: str) -> None:
    queue = Queue(depth=30, waited=HOUR, pace=Rate(1.0, HOUR), failures=1, failed_at=START)
    dequeue.block(queue, None, START + rest * SECOND)
    assert outlook.expected_wait(queue, START) == pytest.approx(rest + 30)
    member = workload("rescore")
    terms = pool([limit()], member)
    assert outlook.state_of(terms, member, queue, START) == state
    assert outlook.state_of(terms, member, queue, START + rest * SECOND) == state, (
        "until it is over"
    )


def test_a_rest_longer_than_a_deadline_is_feared_though_nothing_was_ever_taken() -> None:
    queue = Queue(depth=1, oldest=START, failures=1, failed_at=START)
    dequeue.block(queue, None, START + 300 * SECOND)
    member = workload("rescore")
    assert outlook.state_of(pool([limit()], member), member, queue, START) == "red"


@pytest.mark.parametrize(("seconds", "newest_first"), [(149, False), (151, True)])
def test_the_order_is_shown_as_the_next_look_will_find_it(seconds: int, newest_first: bool) -> None:
    queue = Queue(depth=1, oldest=START - seconds * SECOND)
    shown = dequeue.as_looked_at(workload("rescore"), queue, 0.5, START)
    assert (shown.newest_first, queue.newest_first) == (newest_first, False)


def test_an_order_switched_for_a_shorter_deadline_is_shown() -> None:
    queue = Queue(depth=1, oldest=START - SECOND, newest_first=True)
    assert dequeue.as_looked_at(workload("rescore"), queue, 0.5, START).newest_first


def two_peers() -> tuple[PoolTerms, dict[str, Queue]]:
    """Two bulk classes, of which the second has work without end."""
    terms = pool([limit()], workload("nightly"), workload("archive", deadline=86_400))
    queues = {"nightly": Queue(), "archive": Queue()}
    enqueue(terms, queues, "archive", 1000)
    return terms, queues


def enqueue(terms: PoolTerms, queues: dict[str, Queue], slug: str, jobs: int) -> None:
    """Jobs of one token."""
    dequeue.catch_up(terms, queues, slug)
    for _ in range(jobs):
        queues[slug].enqueue(1, START + 3600 * SECOND, START)


def serve(
    terms: PoolTerms,
    queues: dict[str, Queue],
    slug: str | None = None,
    tiers: Any = frozenset({"near_line", "bulk"}),
    now: int = START,
) -> str | None:
    """Take one job of one token, of the class whose turn it is unless it is said."""
    slug = slug or chosen(terms, queues, tiers, now)
    if slug is not None:
        dequeue.take(terms, queues, terms.class_index[slug], 1, now)
    return slug
