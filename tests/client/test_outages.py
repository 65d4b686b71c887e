"""A service that is away, slow or wrong costs its callers little and loses nothing."""

import asyncio
import logging
import os
import time
from dataclasses import replace

import pytest

from budget.client.asking import asked as asked_in_the_end
from budget.client.service import Service
from budget.client.verdict import Admitted, Ending, Refused
from budget.providers import Tokens
from tests.client.served import ADMISSIONS, SOON, ask, until, well
from tests.client.servers import Answer, Asked, Server

FAULTS = {
    "500": Answer(500, {"detail": "Something went wrong."}),
    "503": Answer(503, {"detail": "The ledger is away."}, {"Retry-After": "1"}),
    "html": Answer(200, b"<html>Welcome</html>", {"Content-Type": "text/html"}),
    "html 429": Answer(429, b"<html>Slow down</html>", {"Content-Type": "text/html"}),
    "redirect": Answer(302, b"", {"Location": "https://login.example.com/"}),
    "other json": Answer(201, {"hello": "world"}),
    "no id": Answer(201, {"decision": "admitted"}),
    "a list": Answer(201, []),
    "hang up": Answer(hang_up=True),
    "slow": Answer(201, {}, after=1.5),
}


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
def test_whatever_isnt_the_service_is_an_outage_in_which_the_policy_decides(
    server: Server, service: Service, fault: Answer
) -> None:
    assert isinstance(service.admit(ask()), Admitted)
    until(lambda: server.to("/callers") and service._away.knows("claims"))
    server.answer = lambda asked: fault
    alone = service.admit(ask())
    assert isinstance(alone, Admitted)
    assert (alone.id, alone.away) == (None, "local")
    shed = service.admit(ask("rescore"))
    assert isinstance(shed, Refused)
    assert shed.reason == "away"


def test_a_service_that_just_came_up_may_take_longer_for_its_first_answer(
    server: Server, service: Service
) -> None:
    def cold(asked: Asked) -> Answer:
        answer = well(asked)
        answer.after = 0.7
        return answer

    server.answer = cold
    assert isinstance(service.admit(ask()), Admitted)


def test_an_outage_costs_a_call_next_to_nothing_once_it_is_known(
    server: Server, service: Service
) -> None:
    service.admit(ask())
    until(lambda: service._away.knows("claims"))
    server.answer = lambda asked: Answer(201, {}, after=1.5)
    began = time.perf_counter()
    service.admit(ask())
    assert time.perf_counter() - began < 0.9
    costs = []
    for _ in range(50):
        began = time.perf_counter()
        service.admit(ask("rescore"))
        costs.append(time.perf_counter() - began)
    assert sorted(costs)[25] < 0.005


def test_it_comes_back_by_itself_and_tells_what_was_decided_meanwhile(
    server: Server, service: Service, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    service.admit(ask())
    until(lambda: service._away.knows("claims"))
    server.answer = lambda asked: Answer(503, {"detail": "Away."})
    alone = service.admit(ask())
    assert isinstance(alone, Admitted)
    service.settle(alone, Ending("succeeded", Tokens(90, 20)))
    service.admit(ask("rescore"))
    server.answer = well
    until(lambda: not service._breaker.is_open)
    assert isinstance(service.admit(ask()), Admitted)
    rows = [row for asked in server.to("/callers") for row in asked.json["away"]]
    told = {(row["workload_class"], row["choice"]): row for row in rows}
    assert (told["adjuster", "local"]["admitted"], told["rescore", "shed"]["shed"]) == (1, 1)
    assert (told["adjuster", "local"]["input_tokens"]) == 90
    assert "is away" in caplog.text
    assert "is back" in caplog.text


def test_one_refused_report_neither_takes_others_with_it_nor_is_told_for_ever(
    server: Server, service: Service
) -> None:
    service.admit(ask())
    until(lambda: service._away.knows("claims"))
    server.answer = lambda asked: Answer(503, {"detail": "Away."})
    service.admit(ask("rescore"))
    service.admit(ask("adjuster"))
    told = []

    def refusing(asked: Asked) -> Answer:
        if asked.path.endswith("/callers"):
            classes = [row["workload_class"] for row in asked.json["away"]]
            if "rescore" in classes:
                return Answer(403, {"detail": "This key may not use the class."})
            told.extend(classes)
        return well(asked)

    server.answer = refusing
    until(lambda: not service._breaker.is_open)
    until(lambda: not service._away.book.pools)
    until(lambda: server.to("/callers")[-1].json["away"] == [])
    assert told == ["adjuster"]
    assert isinstance(service.admit(ask()), Admitted)


def test_slow_errands_are_waited_for_and_no_outage(server: Server, service: Service) -> None:
    def slow(asked: Asked) -> Answer:
        answer = well(asked)
        answer.after = 0.0 if asked.path == ADMISSIONS else 0.8
        return answer

    server.answer = slow
    verdict = service.admit(ask())
    assert isinstance(verdict, Admitted)
    service.settle(verdict, Ending("succeeded", Tokens(1, 2)))
    assert service.flush(SOON)
    assert not service._breaker.is_open
    assert isinstance(service.admit(ask("rescore")), Admitted)


def test_an_errand_that_is_never_answered_keeps_no_other_from_its_turn(
    server: Server, service: Service
) -> None:
    first, second = service.admit(ask()), service.admit(ask())
    assert isinstance(first, Admitted)
    assert isinstance(second, Admitted)

    def blocking(asked: Asked) -> Answer:
        if asked.path.endswith(f"{first.id}/settle"):
            return Answer(502, b"<html>Blocked</html>", {"Content-Type": "text/html"})
        return well(asked)

    server.answer = blocking
    service.settle(first, Ending("succeeded", Tokens(1, 2)))
    service.settle(second, Ending("succeeded", Tokens(1, 2)))
    until(lambda: [asked for asked in server.to("/settle") if str(second.id) in asked.path])
    assert not service._breaker.is_open
    assert isinstance(service.admit(ask("rescore")), Admitted)


def test_many_callers_at_once_are_no_outage(server: Server) -> None:
    service = Service(server.url, "prefix.secret", connect_seconds=10.0, read_seconds=10.0)

    def slow(asked: Asked) -> Answer:
        answer = well(asked)
        answer.after = 0.1
        return answer

    server.answer = slow

    async def all_at_once() -> list[bool]:
        verdicts = await asyncio.gather(*(service.admit_async(ask(), service) for _ in range(150)))
        await service.leave(service)
        return [isinstance(verdict, Admitted) and verdict.away is None for verdict in verdicts]

    admitted_ones = asyncio.run(all_at_once())
    assert all(admitted_ones)
    service.close()


def test_a_call_whose_admission_is_taken_back_asks_anew_and_counts_once(
    server: Server, service: Service
) -> None:
    service.admit(ask())
    until(lambda: service._away.knows("claims"))
    server.answer = lambda asked: Answer(201, {}, after=1.0)
    began = time.monotonic()
    verdict = asked_in_the_end(service, replace(ask("rescore"), deadline_ms=4000), wait=True)
    assert isinstance(verdict, Refused)
    assert verdict.reason == "away"
    # It isn't tried again and again, which would be counted each time.
    assert time.monotonic() - began < 1.5
    (row,) = service._away.book.rows("claims")
    assert row["shed"] == 1


def test_the_end_of_a_process_waits_no_longer_than_said_and_not_at_all_in_an_outage(
    server: Server,
) -> None:
    service = Service(server.url, "prefix.secret")
    verdict = service.admit(ask())
    assert isinstance(verdict, Admitted)
    server.answer = lambda asked: Answer(201, {}, after=3.0)
    service.settle(verdict, Ending("succeeded", Tokens(1, 2)))
    began = time.monotonic()
    service.close(0.5)
    assert time.monotonic() - began < 0.9
    service._breaker.trip()
    began = time.monotonic()
    service.close(2.0)
    assert time.monotonic() - began < 2.5


def test_a_child_forked_in_an_outage_knows_the_policy(server: Server, service: Service) -> None:
    service.admit(ask())
    until(lambda: service._away.knows("claims"))
    server.answer = lambda asked: Answer(503, {"detail": "Away."})
    service.admit(ask())
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        verdict = service.admit(ask())
        os.write(writing, b"1" if isinstance(verdict, Admitted) else b"0")
        os._exit(0)
    os.waitpid(child, 0)
    assert os.read(reading, 1) == b"1"
    os.close(reading)
    os.close(writing)


def test_settlements_outlast_an_outage(server: Server, service: Service) -> None:
    verdict = service.admit(ask())
    assert isinstance(verdict, Admitted)
    until(lambda: service._away.knows("claims"))
    server.answer = lambda asked: Answer(503, {"detail": "Away."})
    service.settle(verdict, Ending("succeeded", Tokens(1, 2)))
    until(lambda: server.to("/settle"))
    server.answer = well
    until(lambda: len(server.to("/settle")) >= 2)
    assert service.flush(SOON)
