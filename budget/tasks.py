"""What jobs may run: functions registered by their dotted name.

    from budget.tasks import Attempt, task

    @task
    def rescore(attempt: Attempt, claim: int) -> dict[str, float]:
        ...
        attempt.used(input_tokens=1200, output_tokens=80)
        return {"score": 0.7}

A job names a task and its arguments as a JSON object. Nothing else can be run by a job, and
modules named `tasks` of all installed apps are imported at start, so that theirs are known
to the processes that enqueue as well as to those that run.
"""

import inspect
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from threading import Event
from typing import Any, TypeVar, overload
from uuid import UUID

import msgspec

from budget import conf

Function = TypeVar("Function", bound=Callable[..., Any])
BatchModel = Callable[[dict[str, Any]], str | None]

NO_JSON = (TypeError, ValueError, RecursionError)
"""What it raises to encode anything else."""
MOST_NAMES = 20
"""Of known tasks, in an error."""


class UnknownTask(LookupError):
    """No task is registered under that name."""


class BadArguments(ValueError):
    """The arguments are no JSON object, too large, or not what the task takes."""


class BadResult(ValueError):
    """What the task returned is no JSON, or too large."""


class TryAgain(Exception):
    """Raised by a task whose call never left or was sent away: the job goes back to its queue.

    The attempt doesn't count and its tokens are given back. The class's queue rests for
    `seconds`, or for longer and longer as long as this goes on if none are given.
    """

    def __init__(self, message: str, seconds: float | None = None) -> None:
        super().__init__(message)
        self.seconds = seconds


class GiveUp(Exception):
    """Raised by a task of which another attempt would fail too: the job fails at once."""


@dataclass
class Attempt:
    """One try at a job, as its task sees it."""

    job_id: UUID
    call_id: UUID
    pool: str
    workload_class: str
    number: int
    """1 for the first."""
    deadline: datetime
    lease_expires: datetime
    """When the job is given to somebody else unless it has ended."""
    usage: tuple[int, int, int] | None = None
    _cancelled: Event = field(default_factory=Event, init=False, repr=False)

    @property
    def is_cancelled(self) -> bool:
        """Whether nobody wants it any more: its job was cancelled, or given to somebody else."""
        return self._cancelled.is_set()

    def cancel(self) -> None:
        """Let its task know that; the worker calls it."""
        self._cancelled.set()

    def wait_until_cancelled(self, seconds: float) -> bool:
        """Wait for that, but no longer than so many seconds; whether it is cancelled."""
        return self._cancelled.wait(seconds)

    def used(self, input_tokens: int, output_tokens: int, cached_input_tokens: int = 0) -> None:
        """Say what the attempt's call used; the estimate counts unless it is said.

        Raises ValueError unless each is a whole number and not negative.
        """
        usage = input_tokens, output_tokens, cached_input_tokens
        if not all(type(tokens) is int and tokens >= 0 for tokens in usage):
            raise ValueError(f"tokens used must be whole numbers from 0 on, not {usage}.")
        self.usage = usage

    @property
    def remaining_seconds(self) -> float:
        """Until the deadline or the end of the lease, whichever is first; never negative."""
        until = min(self.deadline, self.lease_expires)
        return max(0.0, (until - datetime.now(UTC)).total_seconds())


@dataclass(frozen=True)
class Task:
    """A registered function."""

    name: str
    function: Callable[..., Any]
    batch_model: BatchModel | None = None
    """The model its arguments name, if a batch endpoint takes it; None: never."""

    def encode(self, args: Any) -> str:
        """The arguments as JSON text. Raises BadArguments saying what to change."""
        if not isinstance(args, dict) or not all(isinstance(name, str) for name in args):
            raise BadArguments("must be an object with the task's arguments by name.")
        try:
            text = _json(args)
        except NO_JSON as error:
            raise BadArguments(f"must hold JSON values only: {error}.") from None
        if len(text) > (most := conf.max_job_bytes()):
            raise BadArguments(f"has {len(text):,} bytes; at most {most:,} are taken.")
        try:
            inspect.signature(self.function).bind(None, **args)
        except TypeError as error:
            raise BadArguments(f"doesn't suit the task {self.name}: {error!s:.200}.") from None
        return text.decode()

    def run(self, attempt: Attempt, args: str) -> str:
        """Call the function and encode what it returns. Raises what it raises, or BadResult."""
        return _encode_result(self.function(attempt, **msgspec.json.decode(args)))

    def model_of(self, args: dict[str, Any]) -> str | None:
        """The model that a batch endpoint would run it on; None if it can't go there."""
        return None if self.batch_model is None else self.batch_model(args)


_registry: dict[str, Task] = {}


@overload
def task(function: Function, /) -> Function: ...


@overload
def task(
    *, name: str | None = None, batch_model: BatchModel | None = None
) -> Callable[[Function], Function]: ...


def task(
    function: Function | None = None,
    *,
    name: str | None = None,
    batch_model: BatchModel | None = None,
) -> Any:
    """Decorator: let jobs run the function, under its module and name or under another.

    It is called with an `Attempt` and the job's arguments by name, in a thread, outside any
    transaction. What it returns must be JSON; what it raises fails the attempt. A name of its
    own lets jobs that wait survive the move of a function to another module.
    """

    def decorate(decorated: Function) -> Function:
        own = name or f"{decorated.__module__}.{decorated.__qualname__}"
        register(Task(own, decorated, batch_model))
        return decorated

    return decorate if function is None else decorate(function)


def register(entry: Task) -> None:
    """Make a task known under its name. Raises TypeError for what no job could run."""
    if inspect.iscoroutinefunction(entry.function):
        raise TypeError(f"The task {entry.name} is a coroutine; jobs run plain functions.")
    if next(iter(inspect.signature(entry.function).parameters), None) != "attempt":
        raise TypeError(f"The task {entry.name} must have `attempt` as its first parameter.")
    _registry[entry.name] = entry


def find(name: str) -> Task:
    """The task of that name. Raises UnknownTask."""
    try:
        return _registry[name]
    except KeyError:
        known = ", ".join(sorted(_registry)[:MOST_NAMES]) or "none"
        more = f" and {len(_registry) - MOST_NAMES} more" if len(_registry) > MOST_NAMES else ""
        raise UnknownTask(f"names no registered task. Known: {known}{more}.") from None


def _json(value: Any) -> bytes:
    """As JSON, which has neither NaN nor bytes; nothing is turned into what it isn't."""
    return json.dumps(value, allow_nan=False, ensure_ascii=False, separators=(",", ":")).encode()


def _encode_result(result: Any) -> str:
    try:
        text = _json(result)
    except NO_JSON as error:
        raise BadResult(f"What the task returned is no JSON: {error}.") from None
    if len(text) > (most := conf.max_result_bytes()):
        raise BadResult(
            f"What the task returned has {len(text):,} bytes; at most {most:,} are kept."
        )
    return text.decode()
