"""The storm's arithmetic."""

from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from budget import services
from budget.models import Call, Pool
from budget.services import AdmissionRequest
from claims_demo.claims import POOL
from claims_demo.claims.nightly import classify
from claims_demo.models.storm import StormControl, StormSecond
from claims_demo.storm.books import Books
from claims_demo.storm.endpoint import at_provider
from claims_demo.storm.finding import finding
from claims_demo.storm.free import free_percent
from claims_demo.storm.pace import Pace
from claims_demo.storm.seconds import chosen_strength, record
from claims_demo.storm.span import Span, quantile
from claims_demo.storm.stage import Sheet
from claims_demo.storm.tally import Tally
from claims_demo.storm.weather import Weather
from claims_demo.storm.words import in_percent
from tests.claims_demo.world import make_claim
from tests.jobs.bulk import work, work_until_closed
from tests.jobs.queueing import take_one
from tests.policies import claims_pool

WEATHER = Weather(first_calm=4, storm=30, calm=20)


@pytest.mark.parametrize(
    ("elapsed", "strength"),
    [(0, 1), (3.9, 1), (4, 10), (33.9, 10), (34, 1), (53.9, 1), (54, 10), (1000, 1)],
)
def test_storms_alternate_with_calms(elapsed: float, strength: int) -> None:
    assert WEATHER.strength(elapsed) == strength


def test_work_falls_due_by_the_strength_and_nothing_is_lost_to_rounding() -> None:
    pace = Pace(per_second=0.3)
    assert sum(pace.due(1, 0.1) for _ in range(1000)) in {29, 30}
    assert sum(pace.due(10, 0.1) for _ in range(1000)) in {299, 300, 301}


def test_no_more_falls_due_than_there_are_people_to_ask() -> None:
    assert Pace(per_second=2, most_per_second=5).due(10, 1) == 5


def test_whoever_lags_behind_owes_a_second_of_work_at_most() -> None:
    pace = Pace(per_second=3)
    assert pace.due(10, 60) == 30
    assert pace.due(1, 1) == 3, "a calm is calm"


def test_tallies_add_up_and_differ_field_by_field() -> None:
    one = Tally(asked=2, shed={"headroom": 1, "queue_full": 2})
    both = one.plus(Tally(asked=1, shed={"headroom": 3}, expired=4))
    assert both == Tally(asked=3, shed={"headroom": 4, "queue_full": 2}, expired=4)
    assert both.since(one) == Tally(asked=1, shed={"headroom": 3}, expired=4)


def test_what_nobody_asked_for_has_no_percentage() -> None:
    assert Tally().in_time_percent is None
    assert Tally().shed_percent is None
    assert Tally(in_time=3, late=1).in_time_percent == 75
    assert Tally(in_time=3, late=2, gave_up=1, failed=1, unasked=1).in_time_percent == 50
    assert Tally(offered=10, shed={"headroom": 4}).shed_percent == 40


@pytest.mark.parametrize(
    ("percent", "text"), [(None, "–"), (0, "0 %"), (0.2, "1 %"), (99.9, "99 %"), (100, "100 %")]
)
def test_a_few_are_never_none_and_nearly_all_never_all(percent: float | None, text: str) -> None:
    assert in_percent(percent) == text


def test_a_quantile_is_the_smallest_value_that_so_many_do_not_exceed() -> None:
    assert quantile([], 0.95) is None
    assert quantile([7], 0.5) == 7
    assert quantile([*range(1, 101)], 0.95) == 95
    assert quantile([30, 10, 20], 0.5) == 20


def seconds(*waits: list[int], strength: int = 10, **tallies: Tally) -> list[StormSecond]:
    """Seconds on end, each with the same tallies."""
    start = datetime(2026, 1, 1, tzinfo=UTC)
    return [
        StormSecond(
            at=start + timedelta(seconds=number),
            strength=strength,
            waits_ms=waits_ms,
            counts=msgspec.to_builtins(tallies),
        )
        for number, waits_ms in enumerate(waits)
    ]


def test_a_span_of_seconds_sums_them_up() -> None:
    span = Span(seconds([300, 900], [], [500], rescore=Tally(shed={"headroom": 2}, expired=1)))
    assert span.wait_ms(0.5) == 500
    assert span.tally("rescore") == Tally(shed={"headroom": 6}, expired=3)
    assert span.per_second(9) == 3
    assert span.tally("nightly") == Tally()
    assert Span([]).per_second(0) is None


def test_rates_are_by_time_however_few_seconds_were_accounted_for() -> None:
    first, *_, last = seconds([], [], [], [], [])
    assert Span([first, last]).per_second(10) == 2


def test_who_waits_for_too_long_already_counts_with_that() -> None:
    found = seconds([300], [400])
    found[0].late_ms = [99_000]
    found[1].late_ms = [5_000, 61_000]
    assert Span(found).wait_ms(0.95) == 61_000
    assert Span(found).wait_ms(0.5) == 400


def in_plain_spaces(text: str) -> str:
    return text.replace("\N{NO-BREAK SPACE}", " ")


def test_the_finding_says_who_was_served_and_who_went_short() -> None:
    storm = Span(
        seconds(
            [400, 800],
            adjuster=Tally(in_time=199, late=1),
            rescore=Tally(offered=10, shed={"queue_full": 4}),
            nightly=Tally(offered=10, shed={"headroom": 9}, expired=3, held={"headroom": 1}),
        )
    )
    assert in_plain_spaces(finding(storm)) == (
        "Claims come in at 10 times their usual pace. In the last minute 99 % of the adjusters' "
        "questions were answered within 2 seconds, and 95 % waited at most 0.8 s. Of the others 1 "
        "waited longer. Meanwhile of re-score 40 % was refused, and of nightly classification 90 % "
        "was refused and 3 jobs expired. Kept waiting for room: nightly classification for 1 s."
    )


def test_the_finding_of_a_calm_is_calm() -> None:
    calm = Span(seconds([400], strength=1, adjuster=Tally(in_time=1)))
    assert in_plain_spaces(finding(calm)) == (
        "Claims come in at their usual pace. In the last minute 100 % of the adjusters' questions "
        "were answered within 2 seconds, and 95 % waited at most 0.4 s. No other work was "
        "turned away."
    )
    assert "No adjuster asked anything" in finding(Span(seconds([], strength=1)))


def test_the_finding_says_what_became_of_those_who_were_not_served() -> None:
    asked = Tally(in_time=1, late=9, gave_up=3, failed=2, unasked=5)
    assert "Of the others 4 waited longer, 3 gave up, 2 met an error, 5 found everybody" in finding(
        Span(seconds([400], adjuster=asked))
    )


@pytest.mark.django_db
def test_seconds_are_kept_once_and_for_an_hour() -> None:
    start = datetime(2026, 1, 1, tzinfo=UTC)
    record(start + timedelta(seconds=1), 4, Sheet(waits_ms=[500]))
    record(start + timedelta(seconds=1), 10, Sheet())
    record(start + timedelta(minutes=60), 1, Sheet())
    assert [second.strength for second in StormSecond.objects.order_by("at")] == [4, 1]
    record(start + timedelta(minutes=61), 1, Sheet())
    assert [second.strength for second in StormSecond.objects.order_by("at")] == [1, 1]


@pytest.mark.django_db
def test_the_weather_decides_until_a_person_does() -> None:
    assert chosen_strength() is None
    control = StormControl.objects.create(strength=4, chosen_by="ada")
    assert chosen_strength() == 4
    control.strength = None
    control.save()
    assert chosen_strength() is None


def test_the_books_tell_what_the_ledger_counted_since_the_last_look(committed: None) -> None:
    claims_pool()
    books = Books()
    for size in (1000, 80_000):
        services.admit(
            AdmissionRequest(
                pool=POOL, workload_class="nightly", input_tokens=size, output_tokens=0
            )
        )
    seen = books.turn()["nightly"]
    assert (seen.offered, seen.admitted, seen.shed_total) == (2, 1, 1)
    assert books.turn()["nightly"] == Tally()
    claims_pool().delete()
    assert books.turn() == {}


@pytest.mark.usefixtures("platform")
def test_what_goes_in_batches_is_counted_apart_and_draws_nothing_on_the_pool() -> None:
    Pool.objects.update(batch_collect_seconds=0)
    for priority in (1, 2, 2):
        make_claim(priority=priority)
    books = Books()
    classify(3)
    urgent = take_one("bulk")
    work()
    seen = books.turn()["nightly"]
    assert (seen.offered, seen.admitted, seen.batched) == (3, 1, 2)
    call = Call.objects.get(pk=urgent.call_id)
    assert seen.drawn == call.input_tokens + call.output_tokens
    assert at_provider() == 2
    work_until_closed()
    assert at_provider() == 0
    assert books.turn()["nightly"] == Tally()


@pytest.mark.usefixtures("platform")
def test_what_is_free_is_what_nobody_is_promised() -> None:
    assert free_percent() == pytest.approx(100)
    services.admit(
        AdmissionRequest(pool=POOL, workload_class="nightly", input_tokens=15_000, output_tokens=0)
    )
    assert 50 <= (free_percent() or 0) < 60
    Pool.objects.all().delete()
    assert free_percent() is None
