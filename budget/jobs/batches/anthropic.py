"""Anthropic's batch endpoint: requests go with the batch, results come as one stream."""

import re
from collections.abc import Iterable, Iterator
from contextlib import closing
from typing import Any, ClassVar

import httpx2
import msgspec

from budget.jobs.batches.endpoint import (
    ANSWER_SECONDS,
    CLOCKS_APART,
    CONNECT_SECONDS,
    EndpointTrouble,
    Request,
    Seen,
    Sending,
    asking,
)
from budget.jobs.clients import Client
from budget.providers.answers import Row
from budget.providers.anthropic import batch_row

TIMEOUT = httpx2.Timeout(ANSWER_SECONDS, connect=CONNECT_SECONDS)
CUSTOM_ID_LENGTH = 64
FRAME = '{{"custom_id":"{}","params":{}}},'
PLACE = re.compile(r"\brequests\.(\d+)\b")
"""How it names a request that is at fault."""


class AnthropicBatches:
    """See `Endpoint`."""

    frame_bytes: ClassVar[int] = len(FRAME.format("0" * CUSTOM_ID_LENGTH, ""))

    def __init__(self, client: Client) -> None:
        self._client = client
        self._api = client.api.with_options(timeout=TIMEOUT)

    def upload(self, requests: Iterable[Request]) -> str:
        """Nothing is stored beforehand."""
        return ""

    def create(self, sending: Sending, requests: Iterable[Request]) -> str:
        """All requests at once; a rejection may name those at fault."""
        bodies = [
            {"custom_id": request.custom_id, "params": msgspec.json.decode(request.body)}
            for request in requests
        ]
        try:
            with asking(self._client):
                return str(self._api.messages.batches.create(requests=bodies).id)
        except EndpointTrouble as error:
            places = [int(place) for place in PLACE.findall(str(error))]
            error.faults = {
                bodies[place]["custom_id"]: str(error) for place in places if place < len(bodies)
            }
            raise

    def find(self, sending: Sending) -> str | None:
        """The oldest batch that may be it: it carries no name of ours.

        It is one if it was made since ours was about to be, has as many requests, and is none
        of our others. Its results will tell whether it is ours.
        """
        oldest, found = sending.since - CLOCKS_APART, None
        with asking(self._client):
            for batch in self._api.messages.batches.list(limit=100):
                if batch.created_at < oldest:
                    break
                counts = batch.request_counts.to_dict().values()
                if sum(counts) == sending.requests and batch.id not in sending.taken:
                    found = str(batch.id)
        return found

    def look(self, name: str) -> Seen:
        """Every request of an ended batch has a row, also one that was not run."""
        with asking(self._client):
            batch = self._api.messages.batches.retrieve(name)
        ended = batch.processing_status == "ended"
        return Seen(created_at=batch.created_at, ended=ended, complete=ended)

    def cancel(self, name: str) -> None:
        """What is under way may still be run."""
        with asking(self._client):
            self._api.messages.batches.cancel(name)

    def results(self, name: str, seen: Seen) -> Iterator[bytes]:
        """From the pool's own address, not the one in `results_url`: that would go around a
        gateway, and take the key with it."""
        with asking(self._client):
            answer = self._api.get(
                f"/v1/messages/batches/{name}/results",
                cast_to=httpx2.Response,
                stream=True,
                stream_cls=self._client.sdk.Stream[object],
            )
        with closing(answer):
            yield from answer.iter_bytes()

    def row(self, line: dict[str, Any]) -> Row:
        """One line of the results."""
        return batch_row(line)
