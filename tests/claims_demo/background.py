"""The database beside an event loop, which keeps it out of its own thread."""

from collections.abc import Callable
from threading import Thread
from typing import Any

from django.db import connection


def in_background(step: Callable[[], Any]) -> None:
    """Does something with the database in a thread of its own, and waits until it is done."""

    def work() -> None:
        step()
        connection.close()

    thread = Thread(target=work)
    thread.start()
    thread.join()
