"""A call in words: its decision on each limit, and what became of it."""

from typing import NamedTuple

from budget.jobs.words import span
from budget.ledger.operations import NEVER_LEFT
from budget.models import Call
from budget.pages.limits import Periods, limit_in_words
from budget.rule.decision import TOLERANCE, Standing

OUTCOMES = {"cancelled": "never left", "rate_limited": "sent away by the provider"}
"""Outcomes that their own name doesn't tell."""
GIVEN_BACK = "given back"
QUEUE = "/queue"
"""Ends the names of a queue's bounds, as `budget.ledger.refusing` keeps them."""


class ToldCall(NamedTuple):
    """A call in words."""

    call: Call
    badge: str
    """Style of the pill that shows the state."""
    outcome: str
    used: list[str]
    """Input, output and cached input tokens."""


class Verdict(NamedTuple):
    """One limit's numbers, written out, and what they led to."""

    limit: str
    available: str
    protected: str
    free: str
    headroom: str
    own_floor: str
    cost: str
    fits: bool
    words: str


def told(call: Call) -> ToldCall:
    """How a call ended; one that never left used nothing, whatever it was settled at."""
    outcome = OUTCOMES.get(call.outcome, call.outcome)
    if call.outcome in NEVER_LEFT:
        return ToldCall(call, "given-back", outcome, [GIVEN_BACK] * 3)
    used = (call.used_input_tokens, call.used_output_tokens, call.used_cached_input_tokens)
    return ToldCall(
        call, call.state, outcome, ["–" if tokens is None else f"{tokens:,}" for tokens in used]
    )


def verdicts(call: Call, periods: Periods) -> list[Verdict]:
    """The decision on each touched limit, in words."""
    return [
        _verdict(standing, limit_in_words(standing.limit, periods, call.of_batch))
        for standing in call.standings
        if not standing.limit.endswith(QUEUE)
    ]


def _verdict(standing: Standing, limit: str) -> Verdict:
    fits = standing.within_floor or standing.shortfall <= TOLERANCE
    return Verdict(
        limit=limit,
        available=units(standing.available),
        protected=", ".join(f"{slug} {units(n)}" for slug, n in standing.protected.items()),
        free=units(standing.free),
        headroom=units(standing.headroom),
        own_floor=units(standing.own_floor),
        cost=units(standing.cost),
        fits=fits,
        words=f"{_comparison(standing, fits)} {_ceiling(standing)}".strip(),
    )


def _comparison(standing: Standing, fits: bool) -> str:
    cost, usable = units(standing.cost), units(max(0, standing.free - standing.headroom))
    if standing.within_floor:
        return f"{cost} fits the class's own floor of {units(standing.own_floor)}."
    if fits:
        return f"{cost} fits the {usable} left to it."
    return f"{cost} is more than the {usable} left to it."


def _ceiling(standing: Standing) -> str:
    if standing.ceiling_left is None:
        return ""
    return f"Its ceiling leaves {units(standing.ceiling_left)}."


def units(amount: float) -> str:
    """An amount, whole, but small amounts with a decimal: half a request matters."""
    return f"{amount:,.1f}" if abs(amount) < 100 and amount != round(amount) else f"{amount:,.0f}"


def in_time(milliseconds: int) -> str:
    """A wait, to the millisecond while that says something: `340 ms`, `2.4 s`, `4 min 10 s`."""
    return f"{milliseconds} ms" if milliseconds < 1000 else span(milliseconds / 1000)
