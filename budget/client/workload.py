"""The block that says what work the calls made in it belong to."""

import inspect
import math
import re
import time
from collections.abc import Callable, Mapping
from functools import wraps
from types import TracebackType
from typing import Any, ParamSpec, TypeVar

from budget.client.carried import Workload, become, current
from budget.client.threads import follow

P = ParamSpec("P")
R = TypeVar("R")

MAX_TAGS = 20
MAX_TAG_NAME = 50
MAX_TEXT = 200
"""Characters in a source or a tag's value."""
SLUG = re.compile(r"[-a-zA-Z0-9_]{1,50}")


class workload:  # noqa: N801 - it reads as a statement
    """Tags all calls that are made in a `with` block, or in a decorated function or view.

    `deadline` is in seconds from the block's start. Within another block it can only tighten
    that one's deadline, and its tags are added to that one's. The block is followed by threads
    started in it, by work handed to a ThreadPoolExecutor, and by asyncio tasks.

    Raises ValueError, which names the argument, for what the service would refuse.
    """

    def __init__(
        self, workload_class: str, /, deadline: float | None = None, source: str = "", **tags: Any
    ) -> None:
        self._class = _slug(workload_class)
        self._deadline = _seconds(deadline)
        self._source = _text("source", source)
        self._tags = _few({_tag_name(name): _text(name, str(tags[name])) for name in tags})
        follow()

    @classmethod
    def of(
        cls, workload_class: str, deadline: float | None, source: str, tags: Mapping[str, Any]
    ) -> "workload":
        """As the constructor, for tags whose names are no identifiers, or `deadline`."""
        made = cls(workload_class, deadline, source)
        made._tags = _few({_tag_name(name): _text(name, str(tags[name])) for name in tags})
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
        ending = current()
        become(ending and ending.outer)

    def __call__(self, function: Callable[P, R]) -> Callable[P, R]:
        """A function whose calls are tagged; each call's deadline counts from its own start."""
        if inspect.iscoroutinefunction(function):

            @wraps(function)
            async def tagged_task(*args: P.args, **kwargs: P.kwargs) -> Any:
                with self:
                    return await function(*args, **kwargs)

            return tagged_task  # type: ignore[return-value]

        @wraps(function)
        def tagged(*args: P.args, **kwargs: P.kwargs) -> R:
            with self:
                return function(*args, **kwargs)

        return tagged

    def _within(self, outer: Workload | None) -> Workload:
        ends = None if self._deadline is None else time.monotonic() + self._deadline
        if outer is None:
            return Workload(self._class, ends, self._source, self._tags)
        if outer.ends is not None:
            ends = outer.ends if ends is None else min(ends, outer.ends)
        tags = _few({**outer.tags, **self._tags})
        return Workload(self._class, ends, self._source or outer.source, tags, outer)


def _slug(workload_class: str) -> str:
    if not isinstance(workload_class, str) or not SLUG.fullmatch(workload_class):
        raise ValueError(
            f"workload_class: {workload_class!r} isn't a class's slug: write 1 to 50 ASCII "
            "letters, digits, hyphens and underscores, for example adjuster."
        )
    return workload_class


def _seconds(deadline: float | None) -> float | None:
    if deadline is None:
        return None
    if not isinstance(deadline, int | float) or not 0 < deadline < math.inf:
        raise ValueError(f"deadline: {deadline!r} isn't a number of seconds above 0.")
    return float(deadline)


def _few(tags: dict[str, str]) -> dict[str, str]:
    if len(tags) > MAX_TAGS:
        raise ValueError(f"tags: at most {MAX_TAGS} fit, and there are {len(tags)}.")
    return tags


def _tag_name(name: str) -> str:
    if not 1 <= len(name) <= MAX_TAG_NAME or "\0" in name:
        raise ValueError(f"tags: the name {name!r} doesn't have 1 to {MAX_TAG_NAME} characters.")
    return name


def _text(name: str, text: str) -> str:
    if len(text) > MAX_TEXT or "\0" in text:
        raise ValueError(f"{name}: write up to {MAX_TEXT} characters, and no NUL.")
    return text
