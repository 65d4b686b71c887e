"""Much at a time, but not all at once."""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TypeVar

T = TypeVar("T")


def chunks(items: Iterable[T], most: int) -> Iterator[list[T]]:
    """The same in lists of up to so many."""
    rest = iter(items)
    while chunk := list(islice(rest, most)):
        yield chunk
