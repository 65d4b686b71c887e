"""Shed calls one by one, newest first."""

import re
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from budget.dashboard.sheds.filters import BadFilter, Filters
from budget.dashboard.sheds.queries import ENTRIES, MOMENT, Where, Window, where
from budget.ledger.clock import micros, moment
from budget.models import Call

PER_PAGE = 50
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


def page_of(window: Window, filters: Filters, before: Place | None) -> Page:
    """The newest entries, or those behind a place. Within `in_order_of_time`."""
    condition = behind(window, filters, before)
    sql = ENTRIES.format(where=condition.sql)
    found = list(Call.objects.raw(sql, {**condition.params, "most": PER_PAGE + 1}))
    shown = found[:PER_PAGE]
    more = len(found) > PER_PAGE
    return Page(shown, Place(shown[-1].offered_at, shown[-1].id) if more else None)


def behind(window: Window, filters: Filters, place: Place | None) -> Where:
    """The condition for the entries behind a place, or all; with the place's parameters."""
    at, call_id = place or Place(window.until, LAST_ID)
    condition = where(window._replace(until=min(window.until, at + MOMENT)), filters)
    return condition._replace(params={**condition.params, "at": at, "id": call_id})
