"""A job that got no place in its queue: how full the queue was, and what would have helped."""

from typing import NamedTuple

from budget.models import Call
from budget.pages.call import QUEUE, in_time
from budget.rule.decision import Standing


class Bound(NamedTuple):
    """What a class's queue may hold of jobs or of tokens, and what it held."""

    unit: str
    most: int
    waiting: int
    cost: int
    """What the job would have added."""

    @property
    def free(self) -> int:
        """What there was room for; below 0 in a queue over its bound."""
        return self.most - self.waiting

    @property
    def fits(self) -> bool:
        """Whether the job would have kept within it."""
        return self.cost <= self.free

    @property
    def words(self) -> str:
        """Whether it fits, and else by how much it doesn't."""
        over = self.cost - self.free
        return f"{over:,} over the bound." if over > 0 else f"{self.cost:,} fits."


def is_refused_place(call: Call) -> bool:
    """Whether it stands for a job that was refused its place in a queue."""
    return call.job_id is not None and call.state == Call.State.SHED


def bounds(call: Call) -> list[Bound]:
    """The bounds of the queue that refused the job, as far as they were kept."""
    return [_bound(numbers) for numbers in call.standings if numbers.limit.endswith(QUEUE)]


def _bound(numbers: Standing) -> Bound:
    most, free = round(numbers.available), round(numbers.free)
    return Bound(numbers.limit.removesuffix(QUEUE), most, most - free, numbers.cost)


def place_remedies(call: Call) -> list[str]:
    """What would have given the job its place; each ends "It would have got a place …"."""
    if call.reason == "paused":
        return ["had its class not been draining"]
    over = [bound for bound in bounds(call) if not bound.fits]
    if call.reason not in {"queue_full", "never_fits"} or not over:
        return []
    told = [] if call.reason == "never_fits" else [_emptier(over)]
    told += [*_smaller(over), _wider(over)]
    return told if call.retry_after_ms is None else [*told, _later(call.retry_after_ms)]


def _emptier(over: list[Bound]) -> str:
    parts = [f"{b.most - b.cost:,} {b.unit} instead of {b.waiting:,}" for b in over]
    return f"had at most {' and '.join(parts)} waited before it"


def _smaller(over: list[Bound]) -> list[str]:
    """Only a job's tokens can be fewer."""
    (first, *others) = over
    if others or first.unit != "tokens" or first.free < 1:
        return []
    fewer = first.cost - first.free
    return [f"with {fewer:,} fewer tokens: {first.free:,} instead of {first.cost:,}"]


def _wider(over: list[Bound]) -> str:
    parts = [f"{b.waiting + b.cost:,} {b.unit} instead of {b.most:,}" for b in over]
    return f"had the queue held {' and '.join(parts)}"


def _later(milliseconds: int) -> str:
    return (
        f"{in_time(milliseconds)} later, as far as jobs leave the queue as they did of late and no "
        "others come"
    )
