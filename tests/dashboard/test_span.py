"""The stretch of time that an address names."""

from datetime import UTC, datetime, timedelta
from urllib.parse import parse_qsl

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from budget.dashboard.span import EPOCH, FIRST, LAST, LONGEST, RANGES, STEPS, BadSpan, Span, span_of

NOW = datetime(2026, 3, 1, 12, 34, 56, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


def span(**query: str) -> Span:
    return span_of(query, NOW)


@pytest.mark.parametrize("name", RANGES)
def test_a_range_ends_now_and_holds_all_of_its_length(name: str) -> None:
    found = span(range=name)
    assert found.live
    assert found.end - found.step < NOW <= found.end
    assert found.start <= NOW - RANGES[name][1]
    assert found.end - found.start <= RANGES[name][1] + 2 * found.step


@pytest.mark.parametrize("name", RANGES)
def test_steps_lie_on_whole_steps_and_are_few(name: str) -> None:
    found = span(range=name)
    assert (found.start - EPOCH) % found.step == timedelta(0)
    assert (found.end - found.start) % found.step == timedelta(0)
    assert (found.end - found.start) // found.step <= 200


def test_an_hour_unless_it_is_said() -> None:
    assert span().name == "1h"
    assert span(range="").name == "1h"


def test_any_time_can_be_named_in_any_zone() -> None:
    found = span(**{"from": "2026-02-01T10:00:30+01:00", "to": "2026-02-01T12:00:00Z"})
    assert found.start == datetime(2026, 2, 1, 9, 0, tzinfo=UTC)
    assert found.end == datetime(2026, 2, 1, 12, 0, tzinfo=UTC)
    assert (found.name, found.live, found.label) == ("custom", False, "")


def test_a_plus_that_became_a_space_is_forgiven() -> None:
    found = span(**{"from": "2026-02-01T10:00:00 01:00", "to": "2026-02-01T12:00:00Z"})
    assert found.start.hour == 9


def test_it_lasts_until_now_unless_it_is_said() -> None:
    assert span(**{"from": "2026-03-01T12:00:00Z"}).end == NOW.replace(minute=35, second=0)


@pytest.mark.parametrize("length", [min(longest, LONGEST) for longest, _ in STEPS])
def test_all_lengths_have_a_step(length: timedelta) -> None:
    found = span(**{"from": (NOW - length).isoformat(), "to": NOW.isoformat()})
    assert (found.end - found.start) // found.step <= 250


@pytest.mark.parametrize(
    ("query", "fault"),
    [
        ({"range": "2h"}, "range: use one of live, 15m, 1h, 24h, 7d, 30d"),
        ({"from": "yesterday"}, "from: write it as RFC 3339"),
        ({"from": "2026-02-01T10:00:00"}, "from: write it as RFC 3339"),
        ({"from": "2026-02-31T10:00:00Z"}, "from: write it as RFC 3339"),
        ({"to": "2026-02-01T10:00:00Z"}, "from: say where the time begins"),
        ({"from": "2026-02-01T10:00:00Z", "to": "soon"}, "to: write it as RFC 3339"),
        ({"from": "2026-02-01T10:00:00Z", "to": "2026-02-01T10:00:00Z"}, "from: must lie before"),
        ({"from": "2025-01-01T00:00:00Z"}, "from: must lie at most 92 days before"),
        ({"from": "1066-10-14T00:00:00Z"}, "from: must lie between 2000 and 9000"),
        ({"from": "2026-01-01T00:00:00Z", "to": "9999-01-01T00:00:00Z"}, "to: must lie between"),
    ],
)
def test_what_is_no_time_is_refused_with_the_parameter_and_the_fix(
    query: dict[str, str], fault: str
) -> None:
    with pytest.raises(BadSpan) as refused:
        span(**query)
    assert str(refused.value).startswith(fault)


@given(
    start=st.datetimes(FIRST.replace(tzinfo=None), LAST.replace(tzinfo=None) - MINUTE),
    length=st.timedeltas(timedelta(microseconds=1), LONGEST),
)
@example(datetime(2026, 3, 1, 0, 19), timedelta(hours=26, minutes=12))
@example(datetime(2026, 3, 1, 0, 0, 1), LONGEST)
@example(datetime(8999, 12, 31, 23, 59, 0), timedelta(seconds=59))
def test_any_two_ends_are_widened_to_whole_steps_and_found_again_by_their_address(
    start: datetime, length: timedelta
) -> None:
    first = start.replace(tzinfo=UTC)
    last = min(first + length, LAST)
    found = span(**{"from": first.isoformat(), "to": last.isoformat()})
    assert found.start <= first
    assert last <= found.end
    assert found.end - found.start < last - first + 2 * found.step
    for moment in (found.start, found.end):
        assert (moment - EPOCH) % found.step == timedelta(0)
    assert span(**dict(parse_qsl(found.query))) == found


def test_its_address_shows_the_same() -> None:
    for found in (span(range="24h"), span(**{"from": "2026-02-01T10:00:00Z"})):
        assert span(**dict(parse_qsl(found.query))) == found


def test_its_fixed_address_shows_this_very_time_also_later() -> None:
    found = span(range="24h")
    later = span_of(dict(parse_qsl(found.fixed_query)), NOW + timedelta(days=3))
    assert (later.start, later.end, later.step) == (found.start, found.end, found.step)
