"""The budget for callers without an SDK."""

import asyncio
import os
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from budget.client import AsyncBudget, Budget, Denied, Service, Shed, workload
from budget.client.testing import ScriptedGate
from budget.client.verdict import Admitted, Ask, Ending, Verdict
from budget.providers import Tokens
from tests.client.served import until, well
from tests.client.servers import serving

CALL: dict[str, Any] = {"input_tokens": 100, "output_tokens": 50}


@pytest.fixture
def budget(gate: ScriptedGate) -> Budget:
    return Budget(gate=gate)


def endings(gate: ScriptedGate) -> list[Ending]:
    return [ending for _, ending in gate.endings]


async def admit(budget: AsyncBudget, used: tuple[int, int] | None = None, **fields: Any) -> Any:
    """Makes a call in an event loop."""
    async with budget.admit("claims", **{**CALL, **fields}) as call:
        await asyncio.sleep(0)
        if used is not None:
            call.settle(*used)
        return call


# Asking and settling


def test_a_call_is_asked_for_and_settled_at_what_it_used(
    budget: Budget, gate: ScriptedGate
) -> None:
    with budget.admit("claims", "adjuster", deadline=2.0, tags={"käse": 5}, **CALL) as call:
        assert gate.endings == []
        call.settle(90, 20, cached_input_tokens=10)
    (ask,) = gate.asks
    assert (ask.pool, ask.workload_class, ask.tags) == ("claims", "adjuster", {"käse": "5"})
    assert (ask.input_tokens, ask.output_tokens) == (100, 50)
    assert 1900 < (ask.deadline_ms or 0) <= 2000
    assert "test_budget.py" in ask.source
    assert endings(gate) == [Ending("succeeded", Tokens(90, 20, 10))]


def test_the_same_in_an_event_loop(gate: ScriptedGate) -> None:
    budget = AsyncBudget(gate=gate)
    asyncio.run(admit(budget, (90, 20), workload_class="adjuster", source="intake"))
    (ask,) = gate.asks
    assert (ask.workload_class, ask.source) == ("adjuster", "intake")
    assert endings(gate) == [Ending("succeeded", Tokens(90, 20))]
    asyncio.run(budget.aclose())


def test_the_block_around_says_what_isnt_given(budget: Budget, gate: ScriptedGate) -> None:
    with (
        workload("rescore", deadline=3.0, source="intake", tenant="north"),
        budget.admit("claims", **CALL),
        budget.admit("claims", "adjuster", deadline=9.0, tags={"step": "2"}, **CALL),
    ):
        pass
    outer, inner = gate.asks
    assert (outer.workload_class, outer.source, outer.tags) == (
        "rescore",
        "intake",
        {"tenant": "north"},
    )
    assert inner.workload_class == "adjuster"
    assert inner.tags == {"tenant": "north", "step": "2"}
    assert 2900 < (inner.deadline_ms or 0) <= 3000
    assert outer.key != inner.key
    assert len(gate.endings) == 2


def test_an_untagged_call_is_asked_for_all_the_same(budget: Budget, gate: ScriptedGate) -> None:
    with budget.admit("claims", deadline=2.0, source="intake", tags={"a": 1}, **CALL):
        pass
    (ask,) = gate.asks
    assert (ask.workload_class, ask.source, ask.tags) == (None, "intake", {"a": "1"})
    assert 1900 < (ask.deadline_ms or 0) <= 2000


def test_unless_told_otherwise_the_estimate_stands(budget: Budget, gate: ScriptedGate) -> None:
    with budget.admit("claims", **CALL):
        pass
    assert endings(gate) == [Ending("succeeded", Tokens(100, 50))]


def test_told_twice_the_last_counts_and_it_is_settled_once(
    budget: Budget, gate: ScriptedGate
) -> None:
    with budget.admit("claims", **CALL) as call:
        call.settle(1, 2)
        call.settle(3, 4, outcome="rate_limited")
    assert endings(gate) == [Ending("rate_limited", Tokens(3, 4))]


def test_a_call_that_was_never_made_is_given_back(budget: Budget, gate: ScriptedGate) -> None:
    with budget.admit("claims", **CALL) as call:
        call.cancel()
    assert endings(gate) == [Ending("cancelled", Tokens(0, 0))]


@pytest.mark.parametrize("used", [None, (9, 3)])
@pytest.mark.parametrize("error", [ZeroDivisionError, KeyboardInterrupt, GeneratorExit])
def test_an_error_in_the_block_passes_through_and_the_call_has_failed(
    budget: Budget, gate: ScriptedGate, error: type[BaseException], used: Any
) -> None:
    def fail() -> None:
        with budget.admit("claims", **CALL) as call:
            if used:
                call.settle(*used, outcome="failed")
            raise error

    with pytest.raises(error):
        fail()
    assert endings(gate) == [Ending("failed", Tokens(*(used or (100, 50))))]


def test_a_generator_that_is_dropped_has_failed(budget: Budget, gate: ScriptedGate) -> None:
    def words() -> Iterator[str]:
        with budget.admit("claims", **CALL) as call:
            yield "word"
            call.settle(1, 1)

    next(words())
    assert endings(gate) == [Ending("failed", Tokens(100, 50))]


def test_a_cancelled_task_has_failed(gate: ScriptedGate) -> None:
    async def cancelled() -> None:
        async with AsyncBudget(gate=gate).admit("claims", **CALL):
            await asyncio.sleep(30)

    async def cancel() -> None:
        task = asyncio.create_task(cancelled())
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancel())
    assert [ending.outcome for ending in endings(gate)] == ["failed"]


def test_after_the_block_nothing_more_can_be_told(budget: Budget, gate: ScriptedGate) -> None:
    with budget.admit("claims", **CALL) as call:
        pass
    with pytest.raises(RuntimeError, match="block ended"):
        call.settle(1, 1)
    with pytest.raises(RuntimeError, match="block ended"):
        call.cancel()
    assert endings(gate) == [Ending("succeeded", Tokens(100, 50))]


# What can't be


WRONG: list[dict[str, Any]] = [
    {"pool": "no slug"},
    {"pool": None},
    {"workload_class": "no slug"},
    {"input_tokens": -1},
    {"input_tokens": 1.5},
    {"input_tokens": True},
    {"output_tokens": 1_000_000_001},
    {"output_tokens": "50"},
    {"deadline": float("nan")},
    {"source": "x" * 201},
    {"source": 7},
    {"tags": {"": "x"}},
    {"tags": {f"tag{n}": n for n in range(21)}},
]


@pytest.mark.parametrize("workload_class", ["adjuster", None])
@pytest.mark.parametrize("wrong", WRONG, ids=str)
def test_what_the_service_would_refuse_is_refused_by_name_and_at_once(
    gate: ScriptedGate, wrong: dict[str, Any], workload_class: str | None
) -> None:
    fields = {"pool": "claims", "workload_class": workload_class, **CALL, **wrong}
    (name,) = wrong
    with pytest.raises(ValueError, match=f"^{name}: "), Budget(gate=gate).admit(**fields):
        raise AssertionError("not admitted")

    async def admit() -> None:
        async with AsyncBudget(gate=gate).admit(**fields):
            raise AssertionError("not admitted")

    with pytest.raises(ValueError, match=f"^{name}: "):
        asyncio.run(admit())
    assert gate.asks == []


@pytest.mark.parametrize(
    ("name", "used"),
    [
        ("input_tokens", (-1, 0)),
        ("output_tokens", (0, 2.5)),
        ("output_tokens", (0, 10**12)),
        ("cached_input_tokens", (5, 0, -1)),
        ("cached_input_tokens", (5, 0, 6)),
        ("outcome", (5, 0, 0, "done")),
    ],
)
def test_usage_that_cant_be_is_refused_by_name_and_the_call_goes_on(
    budget: Budget, gate: ScriptedGate, name: str, used: tuple[Any, ...]
) -> None:
    with budget.admit("claims", **CALL) as call:
        with pytest.raises(ValueError, match=f"^{name}: "):
            call.settle(*used)
        call.settle(5, 1)
    assert endings(gate) == [Ending("succeeded", Tokens(5, 1))]


def test_without_an_address_nothing_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TOKEN_BUDGET_URL", raising=False)
    with pytest.raises(ValueError, match=r"^url: "):
        Budget()
    with pytest.raises(ValueError, match=r"^key: "):
        AsyncBudget("http://127.0.0.1:9")


# Refusals


def test_a_shed_call_says_why_and_when(budget: Budget, gate: ScriptedGate) -> None:
    gate.shed("floor_protected", retry_after=7.25)
    with pytest.raises(Shed, match="floor_protected") as shed, budget.admit("claims", **CALL):
        raise AssertionError("not admitted")
    assert (shed.value.reason, shed.value.retry_after_seconds) == ("floor_protected", 7.25)
    assert shed.value.refused.status == 429
    assert gate.endings == []


def test_a_denied_call_says_why(gate: ScriptedGate) -> None:
    gate.deny("This key may not use the pool.")
    with pytest.raises(Denied, match="may not use the pool") as denied:
        asyncio.run(admit(AsyncBudget(gate=gate)))
    assert denied.value.refused.status == 403


@pytest.mark.parametrize("times", [1, 3])
def test_whoever_is_told_a_moment_before_the_deadline_waits_for_it(
    budget: Budget, gate: ScriptedGate, times: int
) -> None:
    gate.shed(retry_after=0.05, times=2 * times)
    began = time.monotonic()
    with budget.admit("claims", deadline=2.0, **CALL):
        assert 0.05 * 2 * times <= time.monotonic() - began < 1.0
    assert len({ask.key for ask in gate.asks}) == 1
    gate.shed(retry_after=0.05, times=times)
    asyncio.run(admit(AsyncBudget(gate=gate), deadline=2.0))
    assert len(gate.asks) == 3 * times + 2


@pytest.mark.parametrize(("deadline", "wait"), [(0.2, True), (None, True), (30.0, False)], ids=str)
def test_nobody_waits_beyond_the_deadline_without_one_or_against_their_will(
    gate: ScriptedGate, deadline: float | None, wait: bool
) -> None:
    gate.shed(retry_after=0.5, times=2)
    began = time.monotonic()
    with (
        pytest.raises(Shed),
        Budget(gate=gate, wait=wait).admit("claims", deadline=deadline, **CALL),
    ):
        raise AssertionError("not admitted")
    with pytest.raises(Shed):
        asyncio.run(admit(AsyncBudget(gate=gate, wait=wait), deadline=deadline))
    assert time.monotonic() - began < 0.2


def test_one_who_waits_gives_up_at_the_deadline(budget: Budget, gate: ScriptedGate) -> None:
    gate.shed(retry_after=0.15, times=10)
    began = time.monotonic()
    with pytest.raises(Shed), budget.admit("claims", deadline=0.5, **CALL):
        raise AssertionError("not admitted")
    assert time.monotonic() - began < 0.5
    assert len(gate.asks) == 4


# Long, many, and elsewhere


class Leasing(ScriptedGate):
    """Gives leases that are soon over, and counts their renewals."""

    renewed = 0

    def admit(self, ask: Ask) -> Verdict:
        super().admit(ask)
        return Admitted("1", ask, lease_seconds=0.5)

    def renew(self, admitted: Admitted, seconds: float) -> None:
        assert seconds == 0.25
        self.renewed += 1


def test_the_lease_of_a_long_block_is_renewed_and_not_after_it() -> None:
    gate = Leasing()
    with Budget(gate=gate).admit("claims", **CALL):
        until(lambda: gate.renewed == 2)
    renewed = gate.renewed
    time.sleep(1.2)
    assert gate.renewed == renewed


def test_many_threads_share_one_budget(budget: Budget, gate: ScriptedGate) -> None:
    together = threading.Barrier(8)

    def call(n: int) -> None:
        with budget.admit("claims", **CALL) as call:
            together.wait(5)
            call.settle(n, 0)

    with ThreadPoolExecutor(8) as threads, workload("rescore"):
        list(threads.map(call, range(8)))
    assert {ask.workload_class for ask in gate.asks} == {"rescore"}
    assert sorted(ending.used.input for ending in endings(gate)) == list(range(8))


def test_a_forked_child_uses_its_parents_budget() -> None:
    with serving() as server:
        server.answer = well
        gate = Service(server.url, "prefix.secret")
        budget = Budget(gate=gate)

        def call(used: int) -> None:
            with budget.admit("claims", "adjuster", **CALL) as call:
                call.settle(used, 0)

        call(1)
        child = os.fork()
        if child == 0:
            try:
                call(2)
                gate.close()
                os._exit(0)
            finally:
                os._exit(1)
        assert os.waitpid(child, 0)[1] == 0
        call(3)
        gate.close()
        used = {asked.json["input_tokens"] for asked in server.to("/settle")}
    assert used == {1, 2, 3}
