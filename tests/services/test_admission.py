"""`services.admission`: a call admitted for the length of a block."""

import logging
import time
from contextlib import ExitStack
from typing import Any

import pytest

from budget import services
from budget.models import Call, WorkloadClass
from budget.services import Implausible, KeyReused, LedgerUnavailable, Shed
from tests.ledger.locks import locked
from tests.ledger.pools import TOKENS_A_MINUTE, available, make_pool, request

pytestmark = pytest.mark.usefixtures("classes")

SLOT = {"unit": "requests", "algorithm": "gauge", "amount": 1}
WINDOW = {"unit": "total_tokens", "algorithm": "sliding_window", "amount": 10_000}


def test_what_was_recorded_is_settled_at_the_end() -> None:
    make_pool(WINDOW)
    with services.admission("claims", "adjuster", 3000, 1000, source="views.answer") as call:
        assert call.admission.admitted
        call.settle(2000, 500)
        assert available() == 6000
    assert available() == 7500
    stored = Call.objects.get()
    assert (stored.state, stored.outcome, stored.source) == ("settled", "succeeded", "views.answer")


def test_nothing_recorded_settles_the_estimate() -> None:
    make_pool(WINDOW)
    with services.admission("claims", "adjuster", 3000, 1000):
        pass
    stored = Call.objects.get()
    assert (stored.outcome, stored.used_input_tokens, stored.used_output_tokens) == (
        "succeeded",
        3000,
        1000,
    )


def test_an_exception_settles_the_estimate_as_failed() -> None:
    make_pool(WINDOW)
    with pytest.raises(ZeroDivisionError), services.admission("claims", "adjuster", 3000, 0):
        _ = 1 / 0
    assert Call.objects.get().outcome == "failed"
    assert available() == 7000


def test_an_exception_after_recording_settles_what_was_recorded() -> None:
    make_pool(WINDOW)

    def view() -> None:
        with services.admission("claims", "adjuster", 3000, 0) as call:
            call.settle(10, 0, outcome="rate_limited")
            raise ConnectionError

    with pytest.raises(ConnectionError):
        view()
    assert Call.objects.get().outcome == "rate_limited"
    assert available() == 10_000


def test_a_refusal_raises_with_reason_and_retry_time() -> None:
    make_pool(WINDOW)
    with services.admission("claims", "adjuster", 10_000, 0):
        with pytest.raises(Shed) as refusal, services.admission("claims", "rescore", 5000, 0):
            pytest.fail("a refused call must not run")
        assert refusal.value.reason == "pool_exhausted"
        assert refusal.value.retry_after_ms
        assert "Try again in" in str(refusal.value)


def test_a_call_that_comes_back_with_its_key_keeps_its_place() -> None:
    make_pool(TOKENS_A_MINUTE)
    services.admit(request("adjuster", 60_000))
    told = []
    for _ in range(2):
        with (
            pytest.raises(Shed) as refused,
            services.admission("claims", "adjuster", 20_000, 0, idempotency_key="4711"),
        ):
            pass
        told.append(refused.value.admission)
    with pytest.raises(Shed) as later, services.admission("claims", "adjuster", 20_000, 0):
        pass
    first, again = told
    assert first.id == again.id
    assert (again.retry_after_ms or 0) <= (first.retry_after_ms or 0)
    assert (later.value.admission.retry_after_ms or 0) > 3000, "after the one that waits"


def test_a_key_admits_one_block() -> None:
    make_pool(WINDOW)
    with services.admission("claims", "adjuster", 10, 0, idempotency_key="4711"):
        pass
    with (
        pytest.raises(KeyReused, match="before"),
        services.admission("claims", "adjuster", 10, 0, idempotency_key="4711"),
    ):
        pytest.fail("The block of another admission ran.")
    assert Call.objects.get().outcome == "succeeded"


def test_a_caller_in_a_hurry_waits_no_longer_than_its_deadline() -> None:
    pool = make_pool(WINDOW)
    began = time.monotonic()
    with locked(pool), pytest.raises(LedgerUnavailable):
        services.admit(request(deadline_ms=1200))
    assert 1.1 < time.monotonic() - began < 2.5


def test_a_caller_says_how_long_it_waits_for_the_ledger() -> None:
    pool = make_pool(WINDOW)
    began = time.monotonic()
    with (
        locked(pool),
        pytest.raises(LedgerUnavailable),
        services.admission("claims", "adjuster", 3000, 0, wait_seconds=0.3),
    ):
        pytest.fail("nobody admitted it")
    assert 0.3 <= time.monotonic() - began < 1


def test_the_settlement_is_not_waited_for_any_longer_than_that_and_goes_on(
    caplog: pytest.LogCaptureFixture,
) -> None:
    pool = make_pool(WINDOW)
    began = time.monotonic()
    with ExitStack() as held:
        with services.admission("claims", "adjuster", 3000, 0, wait_seconds=0.5) as call:
            held.enter_context(locked(pool))
            call.settle(1000, 0)
        assert 0.5 <= time.monotonic() - began < 1.2
    assert "was not settled yet" in caplog.text
    services.cancel(services.admit(request()).id)
    assert available() == 9000


@pytest.mark.parametrize("deadline", ["soon", True, -1, 1.5])
def test_a_deadline_that_cannot_be_is_named(deadline: Any) -> None:
    make_pool(WINDOW)
    for ask in (
        lambda: services.admission("claims", "adjuster", 1, 0, deadline_ms=deadline).__enter__(),
        lambda: services.admit(request(deadline_ms=deadline)),
    ):
        with pytest.raises(Implausible) as caught:
            ask()
        assert caught.value.field == "deadline_ms"


def test_numbers_that_cannot_be_are_refused_when_recorded() -> None:
    make_pool(WINDOW)
    with services.admission("claims", "adjuster", 100, 0) as call:
        with pytest.raises(Implausible):
            call.settle(-1, 0)
        call.settle(50, 0)
    assert available() == 9950


@pytest.mark.parametrize(
    ("recorded", "settled"),
    [
        ((5000, 0, 0), (1000, 0, 0)),
        ((600, 5000, 100), (600, 400, 100)),
        ((600, 0, 700), (600, 0, 600)),
    ],
)
def test_more_than_the_call_could_have_used_is_settled_at_the_most_it_could(
    recorded: tuple[int, int, int],
    settled: tuple[int, int, int],
    caplog: pytest.LogCaptureFixture,
) -> None:
    make_pool(WINDOW, SLOT)
    WorkloadClass.objects.update(max_call_tokens=1000)
    with services.admission("claims", "adjuster", 100, 0) as call:
        call.settle(*recorded)
    assert "cannot have used" in caplog.text
    assert caplog.records[-1].levelno == logging.WARNING
    stored = Call.objects.get()
    assert stored.state == "settled"
    assert settled == (
        stored.used_input_tokens,
        stored.used_output_tokens,
        stored.used_cached_input_tokens,
    )
    assert (available(0), available(1)) == (1, 10_000 - settled[0] - settled[1])


def test_a_ledger_that_does_not_answer_settles_later(
    settings: Any, caplog: pytest.LogCaptureFixture
) -> None:
    make_pool(WINDOW)
    with services.admission("claims", "adjuster", 3000, 0) as call:
        call.settle(1000, 0)
        settings.BUDGET_LEDGER_WAIT_SECONDS = 0.0
    assert "was not settled yet" in caplog.text
    settings.BUDGET_LEDGER_WAIT_SECONDS = 5.0
    services.cancel(services.admit(request()).id)
    assert available() == 9000


def test_a_plausible_overrun_is_settled_as_it_was() -> None:
    make_pool(WINDOW)
    with services.admission("claims", "adjuster", 1000, 0) as call:
        call.settle(1900, 100)
    assert available() == 8000


def test_a_single_call_waits_for_the_ledger_as_long_as_it_says_and_then_costs_nothing() -> None:
    pool = make_pool(WINDOW)
    services.admit(request(tokens=1))
    with locked(pool):
        began = time.monotonic()
        with pytest.raises(LedgerUnavailable, match="in time"):
            services.admit(request(deadline_ms=60_000), wait_seconds=0.2)
        assert 0.2 <= time.monotonic() - began < 0.5
    assert services.admit(request(tokens=1), wait_seconds=5.0).admitted
    assert available() == 9998
