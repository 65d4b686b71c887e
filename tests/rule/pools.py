"""Small policies and a driver for examples that fit on a few lines."""

from dataclasses import dataclass, field

from budget.rule.admission import offer
from budget.rule.decision import Decision
from budget.rule.pool import Offer, PoolState, advance, fresh, release, settle
from budget.rule.terms import SECOND, ClassTerms, LimitTerms, PoolTerms, strictness

START = 1_780_000_000 * SECOND
DEADLINES = {"interactive": 5, "near_line": 300, "bulk": 28_800}


def limit(amount=600, algorithm="token_bucket", unit="total_tokens", burst=100, per=60):
    return LimitTerms(
        unit=unit, algorithm=algorithm, amount=amount, per_seconds=per, burst_percent=burst
    )


def workload(slug, tier=None, deadline=None, **terms):
    tier = tier or {"adjuster": "interactive", "rescore": "near_line"}.get(slug, "bulk")
    return ClassTerms(
        slug=slug, tier=tier, deadline=(deadline or DEADLINES[tier]) * SECOND, **terms
    )


def pool(limits, *classes, **terms):
    classes = classes or (workload("nightly"),)
    return PoolTerms(
        slug="claims",
        version=1,
        limits=tuple(limits),
        classes=tuple(sorted(classes, key=strictness)),
        **terms,
    )


@dataclass
class Driver:
    """A pool and its state, spoken to in seconds and slugs."""

    terms: PoolTerms
    state: PoolState = field(init=False)
    calls: int = 0

    def __post_init__(self):
        self.state = fresh(self.terms, START)

    @property
    def level(self):
        return self.state.levels[0]

    def wait(self, seconds=0.0, milliseconds=0):
        advance(self.terms, self.state, self.state.at + int(seconds * SECOND) + milliseconds * 1000)
        return self

    def offer(self, slug, *costs, deadline=None, key=None) -> Decision:
        c = None if slug is None else self.terms.class_index[slug]
        self.calls += 1
        span = deadline or (DEADLINES["bulk"] if c is None else None)
        until = span * SECOND if span else self.terms.classes[c].deadline
        call = Offer(
            workload_class=c,
            costs=costs,
            deadline=self.state.at + until,
            key=key or str(self.calls),
        )
        return offer(self.terms, self.state, call)

    def settle(self, slug, decision, used, held=True):
        used = None if used is None else {"requests": 1} | used
        return settle(self.terms, self.state, slug, decision.charges, used, held)

    def release(self, slug, decision):
        release(self.terms, self.state, slug, decision.charges)
