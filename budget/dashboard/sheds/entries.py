"""Shed calls one by one, newest first."""

import re
from collections.abc import Iterator
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from budget.dashboard.sheds.filters import BadFilter, Filters
from budget.dashboard.sheds.queries import ENTRIES, MOMENT, Window, in_order_of_time, where
from budget.ledger.clock import micros, moment
from budget.models import Call

PER_PAGE = 50
AT_ONCE = 1_000
"""Rows that an export holds in memory."""
LAST_ID = UUID(int=2**128 - 1)


class Place(NamedTuple):
    """A place in the list, behind one entry; new entries don't move it."""

    at: datetime
    id: UUID

    def __str__(self) -> str:
        """As an address has it."""
        return f"{micros(self.at)}-{self.id.hex}"


class Page(NamedTuple):
    """A stretch of the list."""

    calls: list[Call]
    next: Place | None
    """Where the next one begins, if there is one."""


def place_of(text: str | None) -> Place | None:
    """The place that an address names, if it does. Raises BadFilter."""
    if not text:
        return None
    if not re.fullmatch(r"[0-9]{1,17}-[0-9a-f]{32}", text, re.ASCII):
        raise BadFilter("before: leave it out to see the newest, then follow the link to older.")
    at, _, call_id = text.partition("-")
    return Place(moment(int(at)), UUID(call_id))


def page_of(window: Window, filters: Filters, before: Place | None, most: int = PER_PAGE) -> Page:
    """The newest entries, or those behind a place. Within `in_order_of_time`."""
    before = before or Place(window.until, LAST_ID)
    condition = where(window._replace(until=min(window.until, before.at + MOMENT)), filters)
    found = list(
        Call.objects.raw(
            ENTRIES.format(where=condition.sql),
            {**condition.params, "at": before.at, "id": before.id, "most": most + 1},
        )
    )
    shown = found[:most]
    more = len(found) > most
    return Page(shown, Place(shown[-1].offered_at, shown[-1].id) if more else None)


def all_of(window: Window, filters: Filters) -> Iterator[Call]:
    """Every entry, newest first, a bounded number of them in memory."""
    place: Place | None = None
    while True:
        with in_order_of_time():
            page = page_of(window, filters, place, AT_ONCE)
        yield from page.calls
        if page.next is None:
            return
        place = page.next
