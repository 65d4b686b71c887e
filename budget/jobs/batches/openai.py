"""OpenAI's batch endpoint: requests and results are files."""

import tempfile
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import Any, ClassVar

import httpx2
import msgspec

from budget.jobs.batches.endpoint import (
    ANSWER_SECONDS,
    CLOCKS_APART,
    CONNECT_SECONDS,
    Request,
    Seen,
    Sending,
    asking,
    lines,
)
from budget.jobs.clients import Client
from budget.providers.answers import Row
from budget.providers.openai import ENDPOINT, batch_line, batch_row, out_of_money

MARK = "budget_batch"
"""Our name for a batch, in the provider's metadata of it."""
ENDED = {"completed", "failed", "expired", "cancelled"}
IN_MEMORY = 8_000_000
"""Bytes of a batch's file from which on it is written to disk."""
TIMEOUT = httpx2.Timeout(ANSWER_SECONDS, connect=CONNECT_SECONDS)
CUSTOM_ID_LENGTH = 64


class OpenAIBatches:
    """See `Endpoint`."""

    frame_bytes: ClassVar[int] = len(batch_line("0" * CUSTOM_ID_LENGTH, ""))

    def __init__(self, client: Client) -> None:
        self._client = client
        self._api = client.api.with_options(timeout=TIMEOUT)

    def upload(self, requests: Iterable[Request]) -> str:
        """A file of one line a request; one that never becomes a batch costs nothing."""
        with tempfile.SpooledTemporaryFile(IN_MEMORY) as file, asking(self._client):
            for request in requests:
                file.write(batch_line(request.custom_id, request.body).encode())
            file.seek(0)
            stored = self._api.files.create(file=("batch.jsonl", file), purpose="batch")
        return str(stored.id)

    def create(self, sending: Sending, requests: Iterable[Request]) -> str:
        """The batch carries our name for it, so that it can be found again."""
        with asking(self._client):
            batch = self._api.batches.create(
                input_file_id=sending.file,
                endpoint=ENDPOINT,
                completion_window="24h",
                metadata={MARK: str(sending.id)},
            )
        return str(batch.id)

    def find(self, sending: Sending) -> str | None:
        """Looks through the provider's list, newest first."""
        oldest = (sending.since - CLOCKS_APART).timestamp()
        with asking(self._client):
            for batch in self._api.batches.list(limit=100):
                if (batch.metadata or {}).get(MARK) == str(sending.id):
                    return str(batch.id)
                if batch.created_at < oldest:
                    break
        return None

    def look(self, name: str) -> Seen:
        """A batch that failed its validation tells the lines at fault."""
        with asking(self._client):
            batch = self._api.batches.retrieve(name)
        errors = list((batch.errors and batch.errors.data) or [])
        rejected = batch.status == "failed"
        return Seen(
            created_at=datetime.fromtimestamp(batch.created_at, UTC),
            ended=batch.status in ENDED,
            complete=batch.status == "completed",
            files=tuple(file for file in (batch.output_file_id, batch.error_file_id) if file),
            fault=_in_words(errors) if rejected else "",
            own_fault=not any(_is_the_accounts(error.code or "") for error in errors),
            faults=self._faults(batch.input_file_id, errors) if rejected else {},
        )

    def cancel(self, name: str) -> None:
        """What is under way may still be run."""
        with asking(self._client):
            self._api.batches.cancel(name)

    def results(self, name: str, seen: Seen) -> Iterator[bytes]:
        """The output file, then the error file, a line feed between them."""
        for file in seen.files:
            yield from self._content(file)
            yield b"\n"

    def row(self, line: dict[str, Any]) -> Row:
        """One line of either file."""
        return batch_row(line)

    def _content(self, file: str) -> Iterator[bytes]:
        with asking(self._client), self._api.files.with_streaming_response.content(file) as answer:
            yield from answer.iter_bytes()

    def _faults(self, input_file: str, errors: list[Any]) -> dict[str, str]:
        """What the provider says of lines, by the custom id in that line of its file."""
        said = {error.line: error.message or str(error.code) for error in errors if error.line}
        if not said:
            return {}
        numbered = enumerate(lines(self._content(input_file)), start=1)
        return {
            msgspec.json.decode(line)["custom_id"]: said[number]
            for number, line in numbered
            if number in said
        }


def _is_the_accounts(code: str) -> bool:
    return "limit_exceeded" in code or out_of_money({"code": code})


def _in_words(errors: list[Any]) -> str:
    said = [error.message or str(error.code) for error in errors]
    return f"openai rejected the batch: {'; '.join(said[:3]) or 'no reason given'}"
