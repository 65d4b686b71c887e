"""Commands whose output goes into a pipe."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from django.core.management.base import OutputWrapper


@contextmanager
def piped(stdout: OutputWrapper) -> Iterator[None]:
    """Ends quietly once nobody reads on, as after `| head`."""
    try:
        yield
        stdout.flush()
    except BrokenPipeError:
        # What is still buffered would fail again as the interpreter ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
