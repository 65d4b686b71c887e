"""What the runner needs of a provider's batch endpoint."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any, ClassVar, NamedTuple, Protocol
from uuid import UUID

from budget.jobs.clients import Client
from budget.jobs.trouble import Trouble, trouble_of
from budget.providers.answers import Row

CONNECT_SECONDS, ANSWER_SECONDS = 10.0, 60.0
CLOCKS_APART = timedelta(minutes=1)
"""How far the provider's clock may be off ours when a batch of ours is looked for."""


class Request(NamedTuple):
    """One request of a batch."""

    custom_id: str
    body: str
    """JSON."""


class Sending(NamedTuple):
    """A batch that is being sent, or may have been."""

    id: UUID
    file: str
    """The uploaded requests, where the provider takes a file."""
    requests: int
    since: datetime
    """When it was first about to be sent."""
    taken: frozenset[str]
    """The provider's names of our other batches."""


class Seen(NamedTuple):
    """A batch as the provider shows it."""

    created_at: datetime
    ended: bool
    complete: bool = False
    """After its end: every request has a row in the results."""
    files: tuple[str, ...] = ()
    """Where its results are, if in files."""
    fault: str = ""
    """Why the provider took none of it, in its words."""
    own_fault: bool = True
    """Whether the requests are at fault, and not the account."""
    faults: dict[str, str] = {}
    """By custom id: what is wrong with single requests."""


class EndpointTrouble(Exception):
    """The provider didn't do what was asked; `trouble` says why."""

    def __init__(self, trouble: Trouble, faults: dict[str, str] | None = None) -> None:
        super().__init__(trouble.message)
        self.trouble = trouble
        self.faults = faults or {}
        """By custom id: what is wrong with single requests."""


class Endpoint(Protocol):
    """One provider's batch endpoint; everything may raise EndpointTrouble."""

    frame_bytes: ClassVar[int]
    """What a request takes in a batch besides its own JSON."""

    def __init__(self, client: Client) -> None: ...

    def upload(self, requests: Iterable[Request]) -> str:
        """Store the requests with the provider; empty if it takes them with the batch."""
        ...

    def create(self, sending: Sending, requests: Iterable[Request]) -> str:
        """Start the batch and return the provider's name for it."""
        ...

    def find(self, sending: Sending) -> str | None:
        """The name of a batch that an earlier `create` may have started."""
        ...

    def look(self, name: str) -> Seen:
        """How the batch stands."""
        ...

    def cancel(self, name: str) -> None:
        """Ask the provider to run no more of it."""
        ...

    def results(self, name: str, seen: Seen) -> Iterator[bytes]:
        """What there is of the results, in pieces; httpx2 errors come through."""
        ...

    def row(self, line: dict[str, Any]) -> Row:
        """One line of the results. Raises Unreadable."""
        ...


@contextmanager
def asking(client: Client) -> Iterator[None]:
    """The SDK's errors within the block as the runner knows them."""
    try:
        yield
    except client.sdk.APIError as error:
        raise EndpointTrouble(trouble_of(client.provider, error)) from error


def lines(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """The lines of a text that comes in pieces; the last one may lack its end.

    Only line feeds end a line: JSON may hold every other separator that Unicode has.
    """
    rest: list[bytes] = []
    for piece in pieces:
        *ended, last = piece.split(b"\n")
        for line in ended:
            yield b"".join([*rest, line])
            rest = []
        if last:
            rest.append(last)
    if rest:
        yield b"".join(rest)
