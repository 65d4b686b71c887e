"""Running a command and keeping what it printed."""

from collections.abc import Callable
from io import StringIO

import pytest
from django.core.management import call_command

Run = Callable[..., list[str]]


@pytest.fixture
def run() -> Run:
    """Calls a command; the lines it printed."""

    def call(*args: str, **options: object) -> list[str]:
        out = StringIO()
        call_command(*args, stdout=out, **options)
        return out.getvalue().splitlines()

    return call
