"""The gate over HTTP: what a service says is done."""

import asyncio
import gc
import json
import os
from uuid import UUID, uuid4

import pytest

from budget.client.service import Service
from budget.client.shared import service_of
from budget.client.verdict import Admitted, Ending, Refused
from budget.providers import Tokens
from budget.providers.standing import ProviderLimit, Standing
from tests.client.served import ADMISSIONS, SOON, admitted, ask, until, well
from tests.client.servers import Answer, Asked, Server
from tests.client.terms import BODY


def test_it_asks_as_the_contract_says_and_settles_in_the_background(
    server: Server, service: Service
) -> None:
    wanted = ask()
    verdict = service.admit(wanted)
    assert isinstance(verdict, Admitted)
    assert verdict.id is not None
    (asked,) = server.to(ADMISSIONS)
    assert asked.json == {
        "pool": "claims",
        "workload_class": "adjuster",
        "input_tokens": 100,
        "output_tokens": 50,
        "deadline_ms": 2000,
        "source": "claims/ask.py:7",
        "tags": {"a": "b"},
    }
    assert asked.headers["authorization"] == "Api-Key prefix.secret"
    assert asked.headers["idempotency-key"] == wanted.key
    service.settle(verdict, Ending("succeeded", Tokens(90, 20, 5)))
    assert service.flush(SOON)
    (settled,) = server.to("/settle")
    assert settled.path == f"{ADMISSIONS}/{verdict.id}/settle"
    assert settled.json == {
        "outcome": "succeeded",
        "input_tokens": 90,
        "output_tokens": 20,
        "cached_input_tokens": 5,
    }


def test_a_refusal_is_passed_on_as_it_was_said(server: Server, service: Service) -> None:
    said = {
        "id": str(uuid4()),
        "decision": "shed",
        "reason": "headroom",
        "limit": "requests/gauge",
        "retryable": True,
        "retry_after_ms": 1250,
        "detail": "Come back in 1.25 s.",
    }
    server.answer = lambda asked: Answer(429, said, {"Retry-After": "2"})
    verdict = service.admit(ask())
    assert isinstance(verdict, Refused)
    assert (verdict.status, verdict.reason, verdict.retry_after_ms) == (429, "headroom", 1250)
    assert verdict.detail == "Come back in 1.25 s."
    assert verdict.body == said


def test_what_need_not_come_back_is_given_no_moment(server: Server, service: Service) -> None:
    said = {"decision": "shed", "reason": "never_fits", "retryable": False, "retry_after_ms": None}
    server.answer = lambda asked: Answer(422, {**said, "detail": "Too large."})
    verdict = service.admit(ask())
    assert isinstance(verdict, Refused)
    assert (verdict.status, verdict.reason, verdict.retry_after_ms) == (422, "never_fits", None)


@pytest.mark.parametrize("status", [400, 401, 403, 404, 413])
def test_a_wrong_key_or_class_is_said_in_words_and_is_no_outage(
    server: Server, service: Service, status: int
) -> None:
    server.answer = lambda asked: Answer(status, {"status": status, "detail": "Not yours."})
    for _ in range(2):
        verdict = service.admit(ask())
        assert isinstance(verdict, Refused)
        assert (verdict.status, verdict.reason) == (status, "")
        assert verdict.detail == "Token Budget refused to decide: Not yours."
    assert len(server.to(ADMISSIONS)) == 2


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_event_loops_that_nobody_leaves_leave_no_connections(
    server: Server, service: Service
) -> None:
    for _ in range(5):
        asyncio.run(service.admit_async(ask(), service))
        gc.collect()
    assert len(service._link._clients) <= 1

    async def leave() -> None:
        await service.admit_async(ask(), service)
        await service.leave(service)

    asyncio.run(leave())
    gc.collect()  # what is dropped unclosed warns here, and not in another test


def test_a_process_says_farewell_at_its_end(server: Server) -> None:
    service = Service(server.url, "prefix.secret")
    service.admit(ask())
    until(lambda: service._away.knows("claims"))
    service.close()
    first, last = server.to("/callers")
    assert "leaving" not in first.json
    assert last.json["leaving"] is True
    assert last.json["process"] == first.json["process"]


def test_a_service_behind_something_that_takes_its_date_away_has_its_leases_renewed(
    server: Server, service: Service
) -> None:
    server.answer = lambda asked: (
        admitted(asked, lease_expires="2031-05-05T12:02:00Z")
        if asked.path == ADMISSIONS
        else Answer(200, BODY)
    )
    Server.dateless = True
    try:
        verdict = service.admit(ask())
    finally:
        Server.dateless = False
    assert isinstance(verdict, Admitted)
    assert verdict.lease_seconds == 60


def test_more_than_can_be_believed_is_settled_at_the_most_that_can(
    server: Server, service: Service
) -> None:
    verdict = service.admit(ask())
    assert isinstance(verdict, Admitted)

    def curbing(asked: Asked) -> Answer:
        if asked.path.endswith("/settle") and asked.json["input_tokens"] > 200:
            return Answer(400, {"detail": "input_tokens: is more than the call could have used."})
        return well(asked)

    server.answer = curbing
    service.settle(verdict, Ending("succeeded", Tokens(9_000, 20)))
    assert service.flush(SOON)
    assert [asked.json["input_tokens"] for asked in server.to("/settle")] == [9_000, 200]


def test_an_admission_that_nobody_heard_of_is_taken_back(server: Server, service: Service) -> None:
    service.admit(ask())
    until(lambda: service._away.knows("claims"))
    lost = ask()

    def late(asked: Asked) -> Answer:
        answer = well(asked)
        if asked.path == ADMISSIONS and len(server.to(ADMISSIONS)) == 2:
            answer.after = 1.5
        return answer

    server.answer = late
    service.admit(lost)
    until(lambda: server.to("/settle"))
    again = server.to(ADMISSIONS)[-1]
    assert again.headers["idempotency-key"] == lost.key
    assert server.to("/settle")[0].json == {"outcome": "cancelled"}


def test_a_caller_cancelled_while_it_waits_leaves_no_admission(
    server: Server, service: Service
) -> None:
    waits = ask()

    def slow(asked: Asked) -> Answer:
        answer = well(asked)
        if asked.path == ADMISSIONS and len(server.to(ADMISSIONS)) == 1:
            answer.after = 0.4
        return answer

    server.answer = slow

    async def cancelled() -> None:
        task = asyncio.create_task(service.admit_async(waits, service))
        await asyncio.sleep(0.1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await service.leave(service)

    asyncio.run(cancelled())
    until(lambda: server.to("/settle"))
    assert server.to(ADMISSIONS)[-1].headers["idempotency-key"] == waits.key
    assert server.to("/settle")[0].json == {"outcome": "cancelled"}


def test_event_loops_come_and_go(server: Server, service: Service) -> None:
    async def one() -> bool:
        verdict = await service.admit_async(ask(), service)
        await service.leave(service)
        return isinstance(verdict, Admitted)

    assert all(asyncio.run(one()) for _ in range(3))


def test_the_callers_clock_may_be_an_hour_off(server: Server, service: Service) -> None:
    server.answer = lambda asked: (
        Answer(
            201,
            {
                "id": str(uuid4()),
                "decision": "admitted",
                "lease_expires": "2031-05-05T12:02:00Z",
            },
            {"Date": "Mon, 05 May 2031 12:00:00 GMT"},
        )
        if asked.path == ADMISSIONS
        else Answer(200, BODY)
    )
    verdict = service.admit(ask())
    assert isinstance(verdict, Admitted)
    assert verdict.lease_seconds == 120


def test_what_a_provider_says_is_told_once_a_second_and_a_refusal_always(
    server: Server, service: Service
) -> None:
    left = Standing((ProviderLimit("requests", 60, 12, 1.5),))
    service.observe("claims", left)
    service.observe("claims", left)
    service.observe("claims", Standing(refusal="busy", retry_after_seconds=3.0))
    assert service.flush(SOON)
    first, second = server.to("/observations")
    assert first.json["limits"] == [
        {"unit": "requests", "amount": 60, "remaining": 12, "reset_ms": 1500}
    ]
    assert (second.json["refusal"], second.json["retry_after_ms"]) == ("busy", 3000)
    assert 0 <= first.json["age_ms"] < 5000


def test_a_forked_child_has_connections_errands_and_a_name_of_its_own(
    server: Server, service: Service
) -> None:
    service.admit(ask())
    until(lambda: server.to("/callers"))
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        verdict = service.admit(ask())
        assert isinstance(verdict, Admitted)
        service.settle(verdict, Ending("succeeded", Tokens(7, 7)))
        os.write(writing, json.dumps(service.flush(SOON)).encode())
        service.close()
        os._exit(0)
    os.waitpid(child, 0)
    assert json.loads(os.read(reading, 100)) is True
    os.close(reading)
    os.close(writing)
    assert [asked.json["input_tokens"] for asked in server.to("/settle")] == [7]
    assert isinstance(service.admit(ask()), Admitted)
    until(lambda: len({asked.json["process"] for asked in server.to("/callers")}) == 2)
    assert all(UUID(asked.json["process"]) for asked in server.to("/callers"))


@pytest.mark.parametrize(
    ("url", "key", "field"),
    [
        ("budget.internal", "k", "url"),
        ("ftp://budget.internal", "k", "url"),
        ("http://", "k", "url"),
        ("http://budget.internal", "", "key"),
        ("http://budget.internal", "with\nline", "key"),
    ],
)
def test_what_cant_be_an_address_or_a_key_is_refused_by_name(
    url: str, key: str, field: str
) -> None:
    with pytest.raises(ValueError, match=field):
        Service(url, key)


def test_address_and_key_come_from_the_environment_and_one_gate_is_shared(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TOKEN_BUDGET_URL", "http://127.0.0.1:9")
    with pytest.raises(ValueError, match="TOKEN_BUDGET_KEY"):
        service_of(None, None)
    monkeypatch.setenv("TOKEN_BUDGET_KEY", "prefix.secret")
    assert service_of(None, None) is service_of("http://127.0.0.1:9", "prefix.secret")
