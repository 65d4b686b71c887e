"""The end of a call: settled, cancelled, renewed, or forgotten by its caller."""

import time
from datetime import timedelta
from uuid import uuid4

import pytest

from budget import services
from budget.ledger.errors import AlreadySettled, CallWasShed, Implausible, UnknownCall
from budget.ledger.ids import new_id
from budget.ledger.operations import Caller
from budget.models import Call, WorkloadClass
from tests.ledger.pools import admit, available, make_pool, request, settle

pytestmark = pytest.mark.usefixtures("classes")

SLOT = {"unit": "requests", "algorithm": "gauge", "amount": 1}
WINDOW = {"unit": "total_tokens", "algorithm": "sliding_window", "amount": 16_000}


def test_settling_gives_back_what_was_not_used() -> None:
    make_pool(WINDOW)
    call = admit(tokens=10_000)
    settled = services.settle(call.id, "succeeded", input_tokens=3000, output_tokens=1000)
    assert settled.charged == {"total_tokens": 4000}
    assert settled.refunded == {"total_tokens": 6000}
    assert settled.overrun == {}
    assert available() == 12_000


def test_an_overrun_is_charged() -> None:
    make_pool(WINDOW)
    call = admit(tokens=1000)
    settled = services.settle(call.id, "succeeded", input_tokens=1500)
    assert (settled.charged, settled.overrun) == ({"total_tokens": 1500}, {"total_tokens": 500})
    assert available() == 14_500


@pytest.mark.parametrize("outcome", ["cancelled", "rate_limited"])
def test_a_call_that_never_left_gives_back_everything(outcome: str) -> None:
    make_pool(WINDOW, SLOT, {**SLOT, "algorithm": "sliding_window"})
    call = admit(tokens=1000)
    settled = services.settle(call.id, outcome)
    assert settled.refunded == {"requests": 1, "total_tokens": 1000}
    assert settled.charged == {"requests": 0, "total_tokens": 0}
    assert [available(limit) for limit in range(3)] == [1, 1, 16_000]


def test_the_provider_decides_what_counts() -> None:
    make_pool(WINDOW, provider="anthropic")
    call = admit(tokens=1000)
    settled = services.settle(call.id, "succeeded", 1000, 0, cached_input_tokens=400)
    assert settled.charged == {"total_tokens": 600}


def test_the_same_settlement_again_changes_nothing() -> None:
    make_pool(WINDOW)
    call = admit(tokens=1000)
    first = services.settle(call.id, "succeeded", 400, 100)
    assert services.settle(call.id, "succeeded", 400, 100) == first
    assert available() == 15_500


def test_another_settlement_is_refused() -> None:
    make_pool(WINDOW)
    call = admit(tokens=1000)
    settle(call.id, 400)
    for outcome, tokens in (("succeeded", 401), ("failed", 400)):
        with pytest.raises(AlreadySettled):
            services.settle(call.id, outcome, tokens)
    assert available() == 15_600


def test_a_shed_call_cannot_be_settled_or_renewed() -> None:
    make_pool(WINDOW)
    admit(tokens=16_000)
    refusal = admit(tokens=16_000)
    with pytest.raises(CallWasShed):
        settle(refusal.id, 1)
    with pytest.raises(CallWasShed):
        services.renew(refusal.id, 1000)


def test_unknown_calls_and_those_of_other_keys_are_not_found() -> None:
    pool = make_pool()
    call = services.admit(request(), Caller("mine"))
    for unknown in (uuid4(), new_id(pool.pk)):
        with pytest.raises(UnknownCall):
            settle(unknown, 1)
    with pytest.raises(UnknownCall):
        services.settle(call.id, "succeeded", 1, caller=Caller("theirs"))
    assert services.settle(call.id, "succeeded", 1, caller=Caller("mine"))


@pytest.mark.parametrize(
    ("used", "field"),
    [
        ((20_001, 0, 0), "input_tokens"),
        ((20_000, 1, 0), "output_tokens"),
        ((100, 0, 101), "cached_input_tokens"),
        ((-1, 0, 0), "input_tokens"),
        ((0, 2.5, 0), "output_tokens"),
    ],
)
def test_more_than_the_call_could_have_used_is_refused(
    used: tuple[int, int, int], field: str
) -> None:
    make_pool()
    call = admit(tokens=10_000)
    with pytest.raises(Implausible) as refusal:
        services.settle(call.id, "succeeded", *used)
    assert refusal.value.field == field
    assert Call.objects.get().state == "open"


def test_a_slot_comes_back_with_its_settlement() -> None:
    make_pool(SLOT)
    call = admit()
    assert not admit().admitted
    settle(call.id, 1)
    assert admit().admitted


def test_a_forgotten_calls_slot_comes_back_after_its_lease_and_not_before() -> None:
    WorkloadClass.objects.update(max_call_seconds=1)
    make_pool(SLOT)
    forgotten = admit()
    time.sleep(0.5)
    assert not admit().admitted
    time.sleep(0.6)
    assert admit().admitted
    assert Call.objects.get(pk=forgotten.id).state == "lease_expired"


def test_a_renewed_calls_slot_stays() -> None:
    WorkloadClass.objects.update(max_call_seconds=1)
    make_pool(SLOT)
    call = admit()
    renewed = services.renew(call.id, 60_000)
    assert renewed.lease_expires - call.lease_expires == timedelta(seconds=60)
    time.sleep(1.1)
    assert not admit().admitted
    assert Call.objects.get(pk=call.id).lease_expires == renewed.lease_expires


def test_a_lease_that_is_over_cannot_be_renewed() -> None:
    WorkloadClass.objects.update(max_call_seconds=1)
    make_pool(SLOT)
    call = admit()
    time.sleep(1.1)
    with pytest.raises(AlreadySettled):
        services.renew(call.id, 1000)


@pytest.mark.parametrize("extend_ms", [0, -1, 86_400_001, 1.5])
def test_an_extension_must_be_a_plausible_span(extend_ms: int) -> None:
    with pytest.raises(Implausible, match="extend_ms"):
        services.renew(uuid4(), extend_ms)


def test_a_late_settlement_corrects_the_tokens_once_and_leaves_the_slot() -> None:
    WorkloadClass.objects.update(max_call_seconds=1)
    make_pool(WINDOW, SLOT)
    late = admit(tokens=1000)
    time.sleep(1.1)
    current = admit(tokens=100)
    settled = services.settle(late.id, "succeeded", 400)
    assert settled.refunded == {"total_tokens": 600}
    assert services.settle(late.id, "succeeded", 400) == settled
    assert not admit(tokens=100).admitted, "the slot is the current call's"
    assert available(1) == 16_000 - 100 - 400
    settle(current.id, 100)
    assert available(0) == 1


@pytest.mark.parametrize("used", [100, 1900])
def test_a_settlement_after_its_window_changes_nothing_in_the_new_one(used: int) -> None:
    make_pool({**WINDOW, "amount": 2000, "per_seconds": 1}, SLOT)
    WorkloadClass.objects.update(max_call_tokens=1900)
    late = admit(tokens=1000)
    time.sleep(1.1)
    assert available(1) == 2000
    settle(late.id, used)
    assert available(1) == 2000
