"""What a queue expects of the time ahead is learned from time that tells something."""

from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from budget.rule import dequeue, outlook
from budget.rule.dequeue import Queue
from budget.rule.terms import SECOND
from tests.rule.pace_model import Attempt, History
from tests.rule.pools import START, limit, pool, workload

TERMS = pool([limit()], workload("rescore"))
HOUR = 3600


class Act(NamedTuple):
    """Something that happens, and to which of those that it may happen to."""

    kind: str
    number: int


KINDS = ["wait", "enqueue", "take", "succeed", "send_away", "pause", "resume"]
ACTS = st.builds(Act, st.sampled_from(KINDS), st.integers(0, 90))


class Story:
    """A queue, driven as the ledger drives it, and its history beside it."""

    def __init__(self) -> None:
        self.queue, self.history = Queue(), History()
        self.exact = True
        """Whether no attempt was taken back that had lived through a pause of the clock."""

    @property
    def now(self) -> int:
        """The moment that the queue is told."""
        return START + round(self.history.now * SECOND)

    def wait(self, number: int) -> None:
        self.history.passes(number)

    def enqueue(self, number: int = 0) -> None:
        self.queue.enqueue(1, self.now + HOUR * SECOND, self.now)
        self.history.waiting += 1

    def take(self, number: int = 0) -> None:
        if self.history.waiting and not self.history.paused:
            dequeue.take(TERMS, {"rescore": self.queue}, 0, 1, self.now)
            self.history.take()

    def succeed(self, number: int = 0) -> None:
        if (attempt := self._one(number)) is not None:
            if self.queue.failures and self._moment(attempt) >= self.queue.failed_at:
                self.queue.take_again(self.now)
            self.history.succeed(attempt)

    def send_away(self, number: int = 0) -> None:
        if (attempt := self._one(number)) is not None:
            taken_at = self._moment(attempt)
            dequeue.take_back(self.queue, taken_at, self.now)
            self.queue.enqueue(1, self.now + HOUR * SECOND, self.now)
            if taken_at >= self.queue.failed_at:
                self.queue.send_away(self.now)
            self.exact &= not self.history.stood_and_ran(attempt.taken)
            self.history.send_away(attempt)

    def pause(self, number: int = 0) -> None:
        self.queue.pause(True, self.now)
        self.history.paused = True

    def resume(self, number: int = 0) -> None:
        self.queue.pause(False, self.now)
        self.history.paused = False

    def pace(self) -> float:
        return self.queue.pace.now(self.queue.clock(self.now))

    def _one(self, number: int) -> Attempt | None:
        running = self.history.running
        return running[number % len(running)] if running else None

    def _moment(self, attempt: Attempt) -> int:
        return START + round(attempt.taken * SECOND)


@given(acts=st.lists(ACTS, max_size=60))
def test_a_pace_is_what_is_taken_while_jobs_wait_that_may_be_taken(
    acts: list[Act],
) -> None:
    """A little less, if an attempt sent away lived through a pause: nobody is promised more."""
    story = Story()
    for act in acts:
        getattr(story, act.kind)(act.number)
        assert story.queue.clock(story.now) == pytest.approx(story.history.waited() * SECOND)
        assert story.pace() <= story.history.pace() + 1e-9
        if story.exact:
            assert story.pace() == pytest.approx(story.history.pace(), abs=1e-9)


@pytest.mark.parametrize("before", [0, 50])
def test_a_provider_that_was_left_alone_for_long_says_nothing_about_the_next(before: int) -> None:
    story = Story()
    for _ in range(before):
        story.enqueue(), story.take(), story.succeed(), story.wait(60)
    story.enqueue(), story.take(), story.send_away()
    for _ in range(60):
        story.wait(60)
        story.take(), story.send_away()
    story.wait(60)
    story.take(), story.succeed()
    story.enqueue()
    wait = outlook.expected_wait(story.queue, story.now)
    assert wait is not None
    assert wait <= 1
    assert outlook.state_of(TERMS, TERMS.classes[0], story.queue, story.now) == "green"


def test_what_waited_out_an_outage_is_expected_to_go_as_before_it() -> None:
    """Two a second, then an hour of nothing."""
    story = Story()
    for _ in range(400):
        story.enqueue()
    for _ in range(100):
        story.history.passes(0.5)
        story.take(), story.succeed()
    story.take(), story.send_away()
    story.wait(HOUR)
    story.take(), story.succeed()
    assert outlook.expected_wait(story.queue, story.now) == pytest.approx(150, rel=0.1)


@pytest.mark.parametrize("seconds", [60, HOUR])
def test_what_waited_out_a_pause_is_expected_to_go_as_before_it(seconds: int) -> None:
    """Two a second, then nothing because somebody said so."""
    story = Story()
    for _ in range(400):
        story.enqueue()
    for _ in range(100):
        story.history.passes(0.5)
        story.take(), story.succeed()
    story.pause()
    story.wait(seconds)
    assert outlook.expected_wait(story.queue, story.now) is None, "nobody knows when it is resumed"
    story.resume()
    assert outlook.expected_wait(story.queue, story.now) == pytest.approx(150, rel=0.1)
