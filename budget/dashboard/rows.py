"""The table of a pool's classes: what each did in the time shown, and how it stands now."""

from collections.abc import Mapping
from itertools import groupby
from typing import Any, NamedTuple

from budget.dashboard.lineup import Member
from budget.dashboard.past import Past
from budget.dashboard.reasons import in_words
from budget.jobs import words
from budget.pages.percents import percent

NONE = "–"
NO_QUEUE = "no queue"
BACKOFF = "provider backoff"
SIZES = ((1_000, "k"), (1_000_000, "M"), (1_000_000_000, "G"))


class Column(NamedTuple):
    """A column of numbers, below the heading of its group."""

    group: str
    heading: str
    alone: str
    """The heading where it stands without its group."""
    help: str


FLOORS = "Out of floors, as estimated"
OWN_FLOOR = (
    "What it took out of its own floor as it was admitted, before refunds: more than the floor "
    "holds, for a floor fills again all the time"
)
COLUMNS = (
    Column("Limit", "Use", "Use of the limit", "Taken of the leading limit, net of refunds"),
    Column("Calls and jobs", "Offered", "Offered", "Calls that asked, and jobs that came"),
    Column(
        "Calls and jobs", "Admitted", "Admitted", "Calls let through, and attempts of jobs begun"
    ),
    Column(
        "Calls and jobs", "Shed", "Shed", "Calls refused, and jobs refused a place in the queue"
    ),
    Column("Calls and jobs", "Shed rate", "Shed rate", "The part of the offered that was shed"),
    Column("Given up", "Expired", "Expired", "Jobs dropped because of their deadline, or too late"),
    Column("Given up", "Leases", "Leases expired", "Calls that never reported back"),
    Column("Queue now", "Waiting", "Jobs waiting", "Jobs that wait now"),
    Column("Queue now", "Oldest", "Oldest wait", "How long the oldest of them has waited"),
    Column("Tokens", "Estimated", "Tokens estimated", "Input and output, as callers announced"),
    Column("Tokens", "Used", "Tokens used", "Input and output, as callers settled"),
    Column("Tokens", "Ratio", "Used of estimated", "Used tokens in percent of the estimated"),
    Column(FLOORS, "Own", "From its own floor, as estimated", OWN_FLOOR),
    Column(
        FLOORS,
        "Borrowed",
        "Borrowed, as estimated",
        "The same, out of floors that looser classes lend",
    ),
    Column(FLOORS, "Lent", "Lent, as estimated", "The same, by stricter classes out of its floor"),
)
GROUPS = [(group, len(list(found))) for group, found in groupby(c.group for c in COLUMNS)]
"""Headings above those of the columns, each with how many it spans."""


class Cell(NamedTuple):
    """One number in words, with what it is."""

    column: Column
    text: str


class Reason(NamedTuple):
    """How many calls were shed for one reason, or would be if the pool enforced."""

    reason: str
    calls: int
    would_be: bool = False

    @property
    def decision(self) -> str:
        """As addresses of sheds write it."""
        return "would_be" if self.would_be else "shed"

    @property
    def words(self) -> str:
        """`floor protected`, `would be: floor protected`."""
        return f"{'would be: ' if self.would_be else ''}{in_words(self.reason)}"


class Row(NamedTuple):
    """One class."""

    member: Member
    states: list[str]
    texts: list[str]
    """By column."""
    reasons: list[Reason]
    """What would be shed comes last."""

    @property
    def cells(self) -> list[Cell]:
        """Each text with its column."""
        return [Cell(column, text) for column, text in zip(COLUMNS, self.texts, strict=True)]

    def as_json(self) -> list[Any]:
        """What changes while a page stands open."""
        told = [
            [(r.reason, r.calls) for r in self.reasons if r.would_be is would]
            for would in (False, True)
        ]
        return [self.states, self.texts, *told]


def row_of(member: Member, past: Past, allowed: int, now: Mapping[str, Any] | None) -> Row:
    """A class by its past, and by how the ledger sees it `now`; None if it doesn't."""
    shed, offered = past.shed.total, past.total("offered")
    estimated, used = past.total("estimated_tokens"), past.total("used_tokens")
    return Row(
        member,
        [] if now is None else states_of(now, member.queued),
        [
            _rate(past.used, allowed),
            *[_count(past, name) for name in ("offered", "admitted")],
            f"{shed:,}" if past.knows("offered") else NONE,
            _rate(shed, offered),
            *[_count(past, name) for name in ("expired", "lease_expired")],
            *_queue(member, now),
            *[_amount(past, f"{name}_tokens") for name in ("estimated", "used")],
            _rate(used, estimated),
            *[_amount(past, f"{name}_tokens") for name in ("floor", "borrowed", "lent")],
        ],
        [Reason(reason, calls) for reason, calls in past.shed.counts.items()]
        + [Reason(reason, calls, True) for reason, calls in past.would_shed.counts.items()],
    )


def _count(past: Past, name: str) -> str:
    return f"{past.total(name):,}" if past.knows(name) else NONE


def _amount(past: Past, name: str) -> str:
    return short(past.total(name)) if past.knows(name) else NONE


def short(amount: int) -> str:
    """`9,876`, `98.8 k`, `12.3 M`, as the axes of figures write them."""
    if abs(amount) < 10_000:
        return f"{amount:,}"
    size, letter = next((s for s in SIZES if abs(amount) < 999.95 * s[0]), SIZES[-1])
    return f"{amount / size:,.1f}".removesuffix(".0") + f" {letter}"


def pool_states(view: Mapping[str, Any]) -> list[str]:
    """Paused, and because of what if not by hand; its mode."""
    paused = [state for state in ("paused", "spend_cap_reached") if view[state]]
    return [state.replace("_", " ") for state in (*paused, view["mode"])]


def states_of(now: Mapping[str, Any], queued: bool) -> list[str]:
    """Paused, draining or in backoff, and how full its queue is if it has one."""
    switched = [state for state in ("paused", "draining") if now[state]]
    if now["backoff_until"]:
        switched.append(BACKOFF)
    if queued or now["depth"]:
        return [*switched, now["state"]]
    return switched or [NO_QUEUE]


def _queue(member: Member, now: Mapping[str, Any] | None) -> tuple[str, str]:
    if now is None or not (member.queued or now["depth"]):
        return NONE, NONE
    wait = now["oldest_wait_seconds"]
    return f"{now['depth']:,}", NONE if wait is None else words.span(wait)


def _rate(part: int, whole: int) -> str:
    return percent(100 * part / whole) if whole else NONE
