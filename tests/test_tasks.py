"""What jobs may run, and what a task may say and give back."""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest

from budget import tasks
from budget.tasks import Attempt, BadArguments, BadResult, Task, UnknownTask


def attempt(**changes: datetime) -> Attempt:
    now = datetime.now(UTC)
    moments = {"deadline": now + timedelta(60), "lease_expires": now + timedelta(60)}
    return Attempt(UUID(int=1), UUID(int=2), "claims", "rescore", 1, **(moments | changes))


def double(attempt: Attempt, number: int, times: int = 2) -> int:
    return number * times


@pytest.fixture(autouse=True)
def _registry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tasks, "_registry", {})


def test_a_task_is_known_by_its_module_and_name_or_by_one_of_its_own() -> None:
    assert tasks.task(double) is double
    assert tasks.find("tests.test_tasks.double").function is double

    tasks.task(name="claims.double", batch_model=lambda args: args["model"])(double)
    assert tasks.find("claims.double").model_of({"model": "small"}) == "small"
    assert tasks.find("tests.test_tasks.double").model_of({"model": "small"}) is None


def test_an_unknown_task_is_told_which_there_are() -> None:
    with pytest.raises(UnknownTask, match=r"Known: none\."):
        tasks.find("claims.rescore")
    tasks.task(double)
    with pytest.raises(UnknownTask, match=r"Known: tests\.test_tasks\.double\."):
        tasks.find("claims.rescore")
    for number in range(30):
        tasks.task(name=f"claims.{number}")(double)
    with pytest.raises(UnknownTask, match=r"claims\.26 and 11 more\."):
        tasks.find("claims.rescore")


def test_what_no_job_could_run_is_refused_as_it_is_registered() -> None:
    async def later(attempt: Attempt) -> None:
        """Never awaited."""

    with pytest.raises(TypeError, match="is a coroutine"):
        tasks.task(later)
    with pytest.raises(TypeError, match="must have `attempt`"):
        tasks.task(lambda: None)
    with pytest.raises(TypeError, match="must have `attempt`"):
        tasks.task(lambda claim, attempt: None)


@pytest.mark.parametrize(
    ("args", "fault"),
    [
        (["number"], "must be an object"),
        ({7: 1}, "must be an object"),
        ({"number": object()}, "must hold JSON values only"),
        ({"number": float("inf")}, "must hold JSON values only"),
        ({"number": "\ud800"}, "must hold JSON values only"),
        ({"number": "x" * 300_000}, r"300,\d{3} bytes; at most 262,144"),
        ({}, "missing a required argument: 'number'"),
        ({"number": 1, "by": 3}, "unexpected keyword argument 'by'"),
        ({"number": 1, "attempt": 3}, "multiple values for argument 'attempt'"),
    ],
)
def test_arguments_that_cannot_be_are_refused_with_their_fault(args: Any, fault: str) -> None:
    with pytest.raises(BadArguments, match=fault):
        Task("claims.double", double).encode(args)


def test_a_task_is_called_with_its_arguments_and_its_result_is_json() -> None:
    entry = Task("claims.double", double)
    assert entry.run(attempt(), entry.encode({"number": 21})) == "42"


@pytest.mark.parametrize(
    ("result", "fault"),
    [
        (object(), "is no JSON"),
        ({"score": float("nan")}, "is no JSON"),
        (b"raw", "is no JSON"),
        ({"half": "\ud800"}, "is no JSON"),
        ("x" * 200, "has 202 bytes; at most 100"),
    ],
)
def test_a_result_that_cannot_be_kept_is_told(settings: Any, result: Any, fault: str) -> None:
    settings.BUDGET_MAX_RESULT_BYTES = 100
    with pytest.raises(BadResult, match=fault):
        Task("claims.given", lambda attempt: result).run(attempt(), "{}")


def test_an_endless_result_is_told() -> None:
    endless: list[Any] = []
    endless.append(endless)
    with pytest.raises(BadResult, match="is no JSON"):
        Task("claims.endless", lambda attempt: endless).run(attempt(), "{}")


@pytest.mark.parametrize("used", [(-1, 0), (1.5, 0), (True, 0), ("9", 0), (None, 0)])
def test_what_cannot_have_been_used_is_refused(used: tuple[Any, Any]) -> None:
    with pytest.raises(ValueError, match="whole numbers from 0 on"):
        attempt().used(*used)


def test_the_time_that_remains_ends_with_the_deadline_or_the_lease() -> None:
    soon = datetime.now(UTC) + timedelta(seconds=5)
    assert 4 < attempt(deadline=soon).remaining_seconds <= 5
    assert 4 < attempt(lease_expires=soon).remaining_seconds <= 5
    assert attempt(deadline=soon - timedelta(seconds=9)).remaining_seconds == 0
