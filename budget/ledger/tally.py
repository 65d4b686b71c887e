"""Usage of the minute that is still open. A closed minute becomes one row per class.

Tokens are input plus output as callers report them; floor, borrowed and lent amounts are
units of the pool's leading limit.
"""

import msgspec

from budget.ledger.clock import MINUTE
from budget.rule.decision import Decision, Drawn
from budget.rule.terms import SECOND, PoolTerms


class ClassTally(msgspec.Struct, omit_defaults=True):
    """What one class did in one minute; the fields are those of `Usage`."""

    offered: int = 0
    untagged: int = 0
    admitted: int = 0
    shed: dict[str, int] = {}
    would_shed: dict[str, int] = {}
    expired: int = 0
    lease_expired: int = 0
    offered_tokens: int = 0
    estimated_tokens: int = 0
    used_tokens: int = 0
    refunded_tokens: int = 0
    overrun_tokens: int = 0
    corrected_tokens: int = 0
    charged: int = 0
    floor_tokens: float = 0.0
    borrowed_tokens: float = 0.0
    lent_tokens: float = 0.0

    def add(self, other: "ClassTally") -> None:
        """Add up with another of the same class."""
        for name in self.__struct_fields__:
            own, more = getattr(self, name), getattr(other, name)
            if isinstance(own, dict):
                for reason, count in more.items():
                    own[reason] = own.get(reason, 0) + count
            else:
                setattr(self, name, own + more)


class OpenMinute(msgspec.Struct):
    """The tallies since `start`, in microseconds since the epoch."""

    start: int
    classes: dict[str, ClassTally] = {}

    def of(self, workload_class: str) -> ClassTally:
        """The tally of one class; the empty slug stands for untagged calls that were shed."""
        tally = self.classes.get(workload_class)
        if tally is None:
            tally = self.classes[workload_class] = ClassTally()
        return tally

    def count_decision(
        self,
        workload_class: str,
        decision: Decision,
        tokens: int,
        charged: int,
        untagged: bool = False,
    ) -> None:
        """Count a decision on a call of `tokens`, which took `charged` of the leading limit."""
        self.count_offer(workload_class, tokens)
        self.of(workload_class).untagged += untagged
        if not decision.admitted:
            _count(self.of(workload_class).shed, decision.reason or "")
            return
        self._count_admission(workload_class, decision, tokens, charged)

    def count_offer(self, workload_class: str, tokens: int) -> None:
        """Count a call that asks to be admitted, or a job that got its place in the queue."""
        tally = self.of(workload_class)
        tally.offered += 1
        tally.offered_tokens += tokens

    def count_taken(
        self, workload_class: str, decision: Decision, tokens: int, charged: int, again: bool
    ) -> None:
        """Count a job that starts, and was offered as it was enqueued, or starts `again`."""
        if again:
            self.count_offer(workload_class, tokens)
        self._count_admission(workload_class, decision, tokens, charged)

    def count_expired(self, workload_class: str, jobs: int) -> None:
        """Count jobs that were dropped, or done too late."""
        self.of(workload_class).expired += jobs

    def _count_admission(
        self, workload_class: str, decision: Decision, tokens: int, charged: int
    ) -> None:
        tally = self.of(workload_class)
        tally.admitted += 1
        tally.estimated_tokens += tokens
        tally.charged += charged
        if decision.would_be is not None:
            _count(tally.would_shed, decision.would_be)
        if decision.drawn is not None:
            self._count_drawn(tally, decision.drawn)

    def count_settlement(
        self, workload_class: str, estimated: int, used: int, charged: int, lapsed: bool
    ) -> None:
        """Count a settlement, which changed by `charged` what the leading limit gave.

        One of a lapsed lease corrects the estimate that was counted as used before.
        """
        tally = self.of(workload_class)
        tally.used_tokens += used - estimated if lapsed else used
        tally.refunded_tokens += max(0, estimated - used)
        tally.overrun_tokens += max(0, used - estimated)
        tally.corrected_tokens += max(0, estimated - used) if lapsed else 0
        tally.charged += charged

    def count_lapse(self, workload_class: str, estimated: int) -> None:
        """Count a lease that expired and was settled at its estimate."""
        tally = self.of(workload_class)
        tally.lease_expired += 1
        tally.used_tokens += estimated

    def _count_drawn(self, tally: ClassTally, drawn: Drawn) -> None:
        tally.floor_tokens += drawn.floor
        tally.borrowed_tokens += drawn.borrowed
        for owner, amount in drawn.lent.items():
            self.of(owner).lent_tokens += amount


def leading_name(terms: PoolTerms) -> str:
    """Name of the limit that usage is measured on; empty without any."""
    return "" if terms.leading is None else terms.limits[terms.leading].name


def allowance(terms: PoolTerms) -> int:
    """What the leading limit allows the whole pool in a minute; 0 if it is a gauge or missing."""
    if terms.leading is None or terms.limits[terms.leading].algorithm == "gauge":
        return 0
    limit = terms.limits[terms.leading]
    return round(limit.amount * MINUTE / (limit.per_seconds * SECOND))


def _count(counts: dict[str, int], name: str) -> None:
    counts[name] = counts.get(name, 0) + 1
