"""What becomes of an attempt, however its task ends."""

from collections.abc import Callable
from threading import Thread
from typing import Any

import pytest
from django.db import connections

from budget import services, tasks
from budget.jobs import attempts
from budget.ledger.job_operations import handed_back
from budget.models import Call, Job, Pool
from budget.tasks import Attempt, GiveUp, Task, TryAgain
from tests.jobs.queueing import enqueue, take_one
from tests.ledger.disturbances import lock_held
from tests.ledger.pools import available, make_classes, make_pool

GIVEN = "tests.given"


@pytest.fixture(autouse=True)
def pool() -> Pool:
    make_classes()
    return make_pool()


def attempt_at(function: Callable[[Attempt], Any], **fields: Any) -> Job:
    """The job after one attempt that runs the function."""
    tasks.register(Task(GIVEN, function))
    enqueue(task=GIVEN, **fields)
    job = take_one()
    attempts.report(attempts.run(job, attempts.attempt_at(job)))
    return Job.objects.get(pk=job.id)


def raising(error: BaseException) -> Callable[[Attempt], Any]:
    def task(attempt: Attempt) -> None:
        attempt.used(300, 40)
        raise error

    return task


def test_a_result_is_kept_and_what_was_used_is_settled() -> None:
    def rescore(attempt: Attempt) -> dict[str, Any]:
        attempt.used(700, 60, 100)
        return {"pool": attempt.pool, "class": attempt.workload_class, "try": attempt.number}

    job = attempt_at(rescore)
    assert (job.state, job.result) == (
        "succeeded",
        '{"pool":"claims","class":"rescore","try":1}',
    )
    call = Call.objects.get()
    assert (call.used_input_tokens, call.used_output_tokens) == (700, 60)
    assert call.used_cached_input_tokens == 100


def test_without_a_word_the_estimate_counts() -> None:
    attempt_at(lambda attempt: None)
    assert Call.objects.get().used_input_tokens == 1000


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (KeyError("claim"), "KeyError: 'claim'"),
        (SystemExit(3), "SystemExit: 3"),
        (KeyboardInterrupt(), "KeyboardInterrupt: "),
        (ValueError("a\0b \ud800"), "ValueError: ab ?"),
        (ValueError("x" * 5000), "ValueError: " + "x" * (1999 - 12) + "…"),
    ],
)
def test_whatever_a_task_raises_fails_the_attempt_and_is_told(
    error: BaseException, told: str
) -> None:
    job = attempt_at(raising(error))
    assert (job.state, job.attempts, job.error) == ("queued", 1, told)
    assert job.not_before is not None
    call = Call.objects.get()
    assert (call.outcome, call.used_input_tokens) == ("failed", 300)


def test_an_error_that_cannot_say_what_is_told_by_its_type() -> None:
    class Mute(Exception):
        def __str__(self) -> str:
            raise RuntimeError

    assert attempt_at(raising(Mute())).error == "Mute: (it cannot say what)"


@pytest.mark.parametrize(
    ("function", "told"),
    [
        (raising(GiveUp("The claim is closed.")), "The claim is closed."),
        (lambda attempt: {1, object()}, "What the task returned is no JSON: "),
        (lambda attempt: "x" * 2_000_000, "What the task returned has 2,000,002 bytes"),
    ],
)
def test_what_would_fail_again_fails_at_once(function: Any, told: str) -> None:
    job = attempt_at(function)
    assert job.state == "failed"
    assert job.error.startswith(told)


def test_a_call_that_was_sent_away_costs_nothing_and_its_queue_rests() -> None:
    before = available()
    job = attempt_at(raising(TryAgain("busy", 20)))
    assert (job.state, job.attempts, job.error) == ("queued", 0, "busy")
    assert Call.objects.get().outcome == "rate_limited"
    assert available() >= before
    (seconds,) = services.due(["near_line"]).values()
    assert 19 < seconds <= 20


@pytest.mark.parametrize("seconds", [0, -5, float("nan"), float("inf"), None])
def test_a_provider_that_asks_for_no_rest_gets_one(seconds: float | None) -> None:
    attempt_at(raising(TryAgain("busy", seconds)))
    (wait,) = services.due(["near_line"]).values()
    assert 0.5 < wait <= 1


def test_a_worker_without_the_task_says_so_and_another_may_try() -> None:
    tasks.register(Task(GIVEN, lambda attempt: None))
    before = available()
    enqueue(task=GIVEN)
    job = take_one()
    del tasks._registry[GIVEN]
    attempts.report(attempts.run(job, attempts.attempt_at(job)))
    told = services.job(job.id)
    assert (told["state"], told["attempts"]) == ("queued", 0)
    assert told["error"] == "This worker has no task tests.given: is it deployed?"
    assert available() >= before
    # It rests, and nobody else with it.
    other = enqueue()
    assert take_one().id == other.id


def test_a_failure_is_logged_up_to_some_length(caplog: pytest.LogCaptureFixture) -> None:
    attempt_at(raising(ValueError("x" * 10_000_000)))
    assert "ValueError: xxx" in caplog.text
    assert len(caplog.text) < 30_000


def reporting() -> Thread:
    """A thread that tells the ledger of a result."""
    tasks.register(Task(GIVEN, lambda attempt: 1))
    enqueue(task=GIVEN)
    job = take_one()
    ending = attempts.run(job, attempts.attempt_at(job))

    def report() -> None:
        try:
            attempts.report(ending)
        finally:
            connections.close_all()

    return Thread(target=report)


def test_a_ledger_that_does_not_answer_is_told_again(pool: Pool, settings: Any) -> None:
    thread = reporting()
    settings.BUDGET_LEDGER_WAIT_SECONDS = 0.1
    with lock_held(pool):
        thread.start()
        thread.join(1)
        assert thread.is_alive(), "it has been told several times by now"
    thread.join(20)
    assert Job.objects.get().state == "succeeded"


def test_a_ledger_that_stays_away_is_given_up_on(
    pool: Pool, settings: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    thread = reporting()
    settings.BUDGET_LEDGER_WAIT_SECONDS = 0.1
    monkeypatch.setattr(attempts, "REPORTING_SECONDS", 0.5)
    with lock_held(pool):
        thread.start()
        thread.join(20)
        assert not thread.is_alive()
        assert Job.objects.get().state == "running"
    assert "got lost" in caplog.text


def test_the_calls_of_running_jobs_are_current_and_no_others() -> None:
    enqueue()
    enqueue()
    kept, cancelled = take_one(), take_one()
    services.cancel_job(cancelled.id)
    assert attempts.running_calls([kept.id, cancelled.id]) == {kept.call_id}
    assert attempts.running_calls([]) == set()
    attempts.report(handed_back(cancelled))
    assert Call.objects.get(job_id=cancelled.id).outcome == "cancelled"
    assert services.job(cancelled.id)["state"] == "cancelled"
