"""How a workload travels between services: as headers of our own, its time as what is left.

A remaining time, since two machines' clocks differ by more than a deadline is long.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from urllib.parse import parse_qsl, urlencode

from budget.client import checked
from budget.client.carried import Workload, current
from budget.client.workload import workload

CLASS = "Budget-Workload-Class"
REMAINING = "Budget-Remaining-Ms"
SOURCE = "Budget-Source"
TAGS = "Budget-Tags"
LONGEST = 8_000
"""Characters of a header that are read."""


def outgoing(begun: Workload | None = None) -> dict[str, str]:
    """The headers that tell another service about a workload, the present one unless named."""
    begun = begun or current()
    if begun is None:
        return {}
    headers = {CLASS: begun.workload_class}
    if begun.remaining_seconds is not None:
        headers[REMAINING] = str(max(1, round(begun.remaining_seconds * 1000)))
    if begun.source:
        headers[SOURCE] = urlencode({"at": begun.source})[3:]
    if begun.tags:
        headers[TAGS] = urlencode(begun.tags)
    return headers


def incoming(headers: Mapping[str, str]) -> workload | None:
    """The block to work in for a request with these headers; None if they name no workload.

    Raises ValueError, which names the header. Only for requests of services one trusts.
    """
    name = headers.get(CLASS)
    if not name:
        return None
    for header in (CLASS, REMAINING, SOURCE, TAGS):
        if len(headers.get(header, "")) > LONGEST:
            raise ValueError(f"{header}: longer than {LONGEST:,} characters.")
    remaining = _remaining(headers.get(REMAINING))
    source = dict(parse_qsl("at=" + headers.get(SOURCE, ""))).get("at", "")
    with _naming(CLASS):
        checked.slug("workload_class", name, "adjuster")
    with _naming(SOURCE):
        checked.text("source", source)
    with _naming(TAGS):
        tags = checked.tags(dict(parse_qsl(headers.get(TAGS, ""), keep_blank_values=True)))
    return workload.of(name, remaining, source, tags)


@contextmanager
def _naming(header: str) -> Iterator[None]:
    try:
        yield
    except ValueError as error:
        raise ValueError(f"{header}: {error}") from None


def _remaining(text: str | None) -> float | None:
    if text is None:
        return None
    if not (text.isascii() and text.isdigit() and len(text) <= 12):
        raise ValueError(f"{REMAINING}: write whole milliseconds, for example 1500.")
    return max(1, int(text)) / 1000
