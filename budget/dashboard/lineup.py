"""The classes that matter on a pool, as its pages list them."""

from typing import NamedTuple
from zlib import crc32

from django.http import Http404

from budget import services
from budget.dashboard.policy_rows import PolicyRows
from budget.models import Pool, Reservation, WorkloadClass
from budget.models.choices import Strategy
from budget.services import ClassHistory, UsageHistory

UNTAGGED = "untagged calls"
"""How pages name them; no slug has a space."""
PLACES_OF_GONE = 7
NO_CLASS = "~untagged"
"""How addresses name the untagged calls; no slug has a tilde."""


class Member(NamedTuple):
    """A class on a pool, or the untagged calls."""

    slug: str
    """Empty for untagged calls."""
    place: int
    """Position from the strictest of all classes there are, which decides how charts draw it."""
    row: WorkloadClass | None
    """None if the class is gone."""
    reservation: Reservation | None

    @property
    def name(self) -> str:
        """As pages write it."""
        return self.slug or UNTAGGED

    @property
    def in_address(self) -> str:
        """As addresses write it."""
        return self.slug or NO_CLASS

    @property
    def queued(self) -> bool:
        """Whether it has a queue."""
        return self.row is not None and self.row.tier != "interactive"


def line_up(policy: PolicyRows, history: UsageHistory, also: str | None = None) -> list[Member]:
    """Strictest first, the classes with a reservation, those that did something, and `also`.

    Deleted ones and the untagged calls come last.
    """
    reservations = {row.workload_class_id: row for row in policy.pool.reservations.all()}
    rows = {row.slug: row for row in policy.classes}
    active = {slug for slug, past in history.classes.items() if _did_something(past)}
    wanted = active if also is None else active | {also}
    shown = [
        Member(slug, place, row, reservations.get(row.pk))
        for place, (slug, row) in enumerate(rows.items())
        if row.pk in reservations or slug in wanted
    ]
    gone = sorted(wanted - rows.keys(), key=lambda slug: (not slug, slug))
    return shown + [Member(slug, len(rows) + _place_of_gone(slug), None, None) for slug in gone]


def _place_of_gone(slug: str) -> int:
    """Among those that aren't classes; by the name alone, whoever else is shown."""
    return 1 + crc32(slug.encode()) % PLACES_OF_GONE if slug else 0


def floor_moves(pool: Pool, row: WorkloadClass) -> bool:
    """Whether its floor follows demand, so that the policy states only the share it begins with."""
    return getattr(pool, f"{row.tier}_strategy") != Strategy.STATIC


def slug_of(policy: PolicyRows, name: str) -> str:
    """The class that an address names. Raises Http404 if there never was one on the pool."""
    if name == NO_CLASS:
        return ""
    if any(row.slug == name for row in policy.classes):
        return name
    if name in services.usage_totals(policy.pool.slug):
        return name
    raise Http404(f"There is no workload class {name!r}, and none of that name ever called.")


def _did_something(past: ClassHistory) -> bool:
    return any(number for column in past.columns.values() for number in column)
