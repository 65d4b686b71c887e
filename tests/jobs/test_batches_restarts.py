"""A worker that dies between any two steps: nothing is sent twice, no result is lost."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from threading import Thread
from typing import Any

import httpx2
import pytest
from django.db import connections
from django.utils import timezone

from budget import services
from budget.jobs.batches import hold, members
from budget.models import JobBatch
from tests.jobs import batch_worker
from tests.jobs.bulk import ask, enqueued_tokens, make_bulk_pool, states, work, work_until_closed
from tests.jobs.idling import wait_until
from tests.jobs.provider import DROP, Provider
from tests.jobs.test_batches_troubles import CREATE

STEPS = 16
"""As many as a batch takes from beginning to end, or more."""


class Died(BaseException):
    """The worker did."""


@contextmanager
def dying(monkeypatch: pytest.MonkeyPatch, step: int, after: bool) -> Iterator[list[str]]:
    """Dies at that write of a batch's row, or at that ending of a job, before or after it."""
    steps: list[str] = []

    def counted(function: Any) -> Any:
        def call(*args: Any, **kwargs: Any) -> Any:
            steps.append(function.__name__)
            mine = len(steps) == step + 1
            if mine and not after:
                raise Died
            answer = function(*args, **kwargs)
            if mine:
                raise Died
            return answer

        return call

    with monkeypatch.context() as patch:
        patch.setattr(hold, "_write", counted(hold._write))
        patch.setattr(services, "collect", counted(services.collect))
        patch.setattr(members, "finish_all", counted(members.finish_all))
        yield steps


def restart() -> None:
    """What the dead worker held is free again."""
    JobBatch.objects.update(held_until=timezone.now() - timedelta(seconds=1))


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("step", range(STEPS))
def test_a_restart_neither_sends_twice_nor_loses_a_result(
    provider: Provider, kind: str, step: int, after: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_bulk_pool(provider, kind)
    ids = [ask(f"ok {number}") for number in range(3)]
    with dying(monkeypatch, step, after) as steps:
        try:
            work_until_closed()
        except Died:
            restart()
    assert len(steps) <= STEPS, f"not every step is tried: {steps}"
    found = work_until_closed()
    assert states(*ids) == ["succeeded"] * 3
    assert dict(provider.runs) == {f"ok {number}": 1 for number in range(3)}
    assert [batch.state for batch in found] == ["done"]
    assert enqueued_tokens() == 0


def test_a_batch_whose_answer_got_lost_is_found_again(provider: Provider, kind: str) -> None:
    make_bulk_pool(provider, kind)
    job_id = ask()
    provider.fail(CREATE[kind], DROP, done=True)
    work_until_closed()
    assert states(job_id) == ["succeeded"]
    assert provider.runs["ok"] == 1


def test_a_batch_of_somebody_else_is_told_apart(provider: Provider) -> None:
    make_bulk_pool(provider, "anthropic")
    job_id = ask("ok mine")
    provider.fail(CREATE["anthropic"], DROP)
    work()
    theirs = {"custom_id": "theirs", "params": {"model": "m", "messages": [{"content": "theirs"}]}}
    other = provider.url + "/v1/messages/batches"
    httpx2.post(other, json={"requests": [theirs]})
    found = work_until_closed()
    assert states(job_id) == ["succeeded"]
    assert dict(provider.runs) == {"theirs": 1, "ok mine": 1}
    assert [batch.provider_id for batch in found] == ["batch_1"]


def test_an_uploaded_file_is_used_again(provider: Provider) -> None:
    make_bulk_pool(provider, "openai")
    ask()
    provider.fail(CREATE["openai"], 429)
    work_until_closed()
    assert provider.calls.count("POST /v1/files") == 1


def test_a_file_that_is_gone_is_uploaded_again(provider: Provider) -> None:
    make_bulk_pool(provider, "openai")
    job_id = ask()
    provider.fail(CREATE["openai"], 429)
    work()
    provider.files.clear()
    work_until_closed()
    assert states(job_id) == ["succeeded"]


def test_a_held_batch_is_nobody_elses(provider: Provider) -> None:
    make_bulk_pool(provider, "openai")
    ask()
    provider.fail(CREATE["openai"], 429)
    work()
    JobBatch.objects.update(held_until=timezone.now() + timedelta(minutes=1))
    calls = len(provider.calls)
    work()
    assert len(provider.calls) == calls


def test_a_worker_that_lost_its_hold_writes_nothing(provider: Provider) -> None:
    batch = JobBatch.objects.create(
        id="0" * 32, pool_id=1, model="m", created_at=timezone.now(), next_look_at=timezone.now()
    )
    mine = hold.take()
    assert mine is not None
    assert hold.take() is None
    restart()
    theirs = hold.take()
    assert theirs is not None
    with pytest.raises(hold.HoldLost):
        hold.keep(mine, error="mine")
    batch.refresh_from_db()
    assert batch.error == ""


def test_a_large_file_on_a_slow_line_is_held_on_to(
    provider: Provider, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_bulk_pool(provider, kind)
    job_id = ask()
    monkeypatch.setattr(hold, "HOLD", timedelta(seconds=2))
    provider.pause_at = CREATE[kind]
    worker = Thread(target=work_and_close)
    worker.start()
    assert provider.paused.wait(20)
    held = JobBatch.objects.get().held_until
    wait_until(lambda: timezone.now() > held + timedelta(seconds=1))
    assert hold.take() is None
    provider.go_on.set()
    worker.join(20)
    assert JobBatch.objects.get().state == "running"
    work_until_closed()
    assert states(job_id) == ["succeeded"]
    assert provider.runs["ok"] == 1


def work_and_close() -> None:
    """In a thread of its own."""
    work()
    connections.close_all()


@pytest.mark.processes
def test_a_worker_killed_while_it_sends_has_sent_only_once(provider: Provider, kind: str) -> None:
    make_bulk_pool(provider, kind)
    job_id = ask()
    provider.pause_at = CREATE[kind]
    with batch_worker.started() as worker:
        assert provider.paused.wait(30)
        worker.kill()
        worker.wait()
    provider.pause_at = ""
    provider.go_on.set()
    restart()
    work_until_closed()
    assert states(job_id) == ["succeeded"]
    assert provider.runs["ok"] == 1


@pytest.mark.processes
def test_two_workers_at_once_send_each_job_once(provider: Provider, kind: str) -> None:
    make_bulk_pool(provider, kind, batch_max_requests=5)
    ids = [ask(f"ok {number}", model=f"model {number % 3}") for number in range(12)]
    with batch_worker.started() as one, batch_worker.started() as other:
        assert one.wait(30) == other.wait(30) == 0
    work_until_closed()
    assert states(*ids) == ["succeeded"] * 12
    assert set(provider.runs.values()) == {1}
    assert JobBatch.objects.count() == 3
