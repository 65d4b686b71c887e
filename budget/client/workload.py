"""The block that says what work the calls made in it belong to."""

import inspect
import time
from collections.abc import Callable, Coroutine, Mapping
from functools import wraps
from types import TracebackType
from typing import Any, ParamSpec, TypeVar

from budget.client import checked
from budget.client.carried import Workload, become, current
from budget.client.threads import follow

P = ParamSpec("P")
R = TypeVar("R")


class workload:  # noqa: N801 - it reads as a statement
    """Tags all calls that are made in a `with` block, or in a decorated function or view.

    `deadline` is in seconds from the block's start. Within another block it can only tighten
    that one's deadline, and its tags are added to that one's. The block is followed by threads
    started in it, by work handed to a ThreadPoolExecutor, and by asyncio tasks. In a generator it
    should not reach over a `yield`: whoever takes its items would go on as that work.

    Raises ValueError, which names the argument, for what the service would refuse.
    """

    def __init__(
        self, workload_class: str, /, deadline: float | None = None, source: str = "", **tags: Any
    ) -> None:
        self._class = checked.slug("workload_class", workload_class, "adjuster")
        self._deadline = checked.seconds("deadline", deadline)
        self._source = checked.text("source", source)
        self._tags = checked.tags(tags)
        follow()

    @classmethod
    def of(
        cls, workload_class: str, deadline: float | None, source: str, tags: Mapping[str, Any]
    ) -> "workload":
        """As the constructor, for tags whose names are no identifiers, or `deadline`."""
        made = cls(workload_class, deadline, source)
        made._tags = checked.tags(tags)
        return made

    def __enter__(self) -> Workload:
        entered = self._within(current())
        become(entered)
        return entered

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        # In a generator that stopped in the middle of a block of its own, another may have ended
        # before: the nearest that this block began is the one that ends.
        ending = current()
        while ending is not None and ending.block is not self:
            ending = ending.outer
        if ending is not None:
            become(ending.outer)

    def __call__(self, function: Callable[P, R]) -> Callable[P, R]:
        """A function whose calls are tagged; each call's deadline counts from its own start.

        Raises TypeError for a generator, which runs only once the call is over.
        """
        if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
            raise TypeError(
                f"workload: {function.__name__} is a generator: tag its calls, one by one."
            )
        if inspect.iscoroutinefunction(function):

            @wraps(function)
            async def tagged_task(*args: P.args, **kwargs: P.kwargs) -> Any:
                with self:
                    return await function(*args, **kwargs)

            return tagged_task  # type: ignore[return-value]

        @wraps(function)
        def tagged(*args: P.args, **kwargs: P.kwargs) -> R:
            with self:
                made = function(*args, **kwargs)
            # As Django's class-based views give it.
            return self._awaited(made) if inspect.iscoroutine(made) else made  # type: ignore[return-value]

        return tagged

    async def _awaited(self, made: Coroutine[Any, Any, R]) -> R:
        with self:
            return await made

    def _within(self, outer: Workload | None) -> Workload:
        ends = None if self._deadline is None else time.monotonic() + self._deadline
        if outer is None:
            return Workload(self._class, ends, self._source, self._tags, None, self)
        if outer.ends is not None:
            ends = outer.ends if ends is None else min(ends, outer.ends)
        tags = checked.tags({**outer.tags, **self._tags})
        return Workload(self._class, ends, self._source or outer.source, tags, outer, self)
