"""The database beside an event loop, which keeps it out of its own thread."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Thread
from typing import Any

from django.db import connections


class ClosingExecutor(ThreadPoolExecutor):
    """Threads that keep no connection from one step to the next, nor when they end."""

    def submit(self, step: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        """Run a step, and close what it opened."""

        def closing() -> Any:
            try:
                return step(*args, **kwargs)
            finally:
                connections.close_all()

        return super().submit(closing)


def in_background(step: Callable[[], Any]) -> None:
    """Does something with the database in a thread of its own, and waits until it is done."""

    def work() -> None:
        try:
            step()
        finally:
            connections.close_all()

    thread = Thread(target=work)
    thread.start()
    thread.join()
