"""Sheds as CSV."""

from collections.abc import Iterator
from datetime import datetime
from uuid import UUID

from budget.dashboard.sheds.entries import Place, behind
from budget.dashboard.sheds.filters import Filters
from budget.dashboard.sheds.queries import EXPORTED, Window, export_sql, in_order_of_time

AT_ONCE = 2_000
"""Lines per statement, so that none takes long."""


def lines(window: Window, filters: Filters) -> Iterator[bytes]:
    """A heading, then a line for each shed, newest first, AT_ONCE lines at a time.

    Where older sheds were not looked at, a last line says so in its first column, and has
    nothing in the others: readers of CSV, people and spreadsheets can all make out what it is.
    """
    yield ",".join(EXPORTED).encode() + b"\n"
    place: Place | None = None
    while rows := _portion(window, filters, place):
        yield b"".join(rows)
        if len(rows) < AT_ONCE:
            break
        place = _place_of(rows[-1])
    if not window.whole:
        left_out = f"sheds before {window.since:%Y-%m-%dT%H:%M:%S.%fZ} are left out"
        yield left_out.encode() + b"," * (len(EXPORTED) - 1) + b"\n"


def _portion(window: Window, filters: Filters, place: Place | None) -> list[bytes]:
    condition = behind(window, filters, place)
    params = {**condition.params, "most": AT_ONCE}
    with in_order_of_time() as cursor, cursor.copy(export_sql(condition.sql), params) as copy:
        return [bytes(row) for row in copy]


def _place_of(row: bytes) -> Place:
    """Where a line stands, which its first two columns say."""
    call_id, at, _ = row.split(b",", 2)
    return Place(datetime.fromisoformat(at.decode()), UUID(call_id.decode()))


def file_name(slug: str, window: Window) -> str:
    """Names the pool and the time: `sheds-claims-20260131T1200Z-20260131T1300Z.csv`."""
    start, end = (f"{at:%Y%m%dT%H%MZ}" for at in (window.since, window.until))
    return f"sheds-{slug}-{start}-{end}.csv"
