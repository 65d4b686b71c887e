"""Reads the results of a batch that has ended, and ends its jobs."""

import logging
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any
from uuid import UUID

import httpx2
import msgspec

from budget import conf
from budget.jobs.batches import hold, members
from budget.jobs.batches.endpoint import CLOCKS_APART, Endpoint, EndpointTrouble, Seen, lines
from budget.jobs.batches.endpoints import endpoint_of
from budget.jobs.chunks import chunks
from budget.jobs.trouble import READERS
from budget.ledger.job_operations import Finish
from budget.models import Call, Job, JobBatch, Pool
from budget.providers.answers import Row, Unreadable

logger = logging.getLogger(__name__)

MOST_READS = 5
"""How often results that are not whole are fetched again."""
REST_SECONDS = 300.0
"""How long jobs rest whose batch the account had no room for."""


@dataclass
class Reading:
    """What one reading of the results has shown."""

    batch: JobBatch
    provider: str
    rows: int = 0
    """Those that could be read."""
    ours: int = 0
    fault: str = ""
    """Why some of it could not be read."""
    endings: list[Finish] = field(default_factory=list)


def read(batch: JobBatch, pool: Pool, until: float) -> None:
    """End each job as its row says, in whichever order they come.

    1. Rows told before are passed over, so that a reading that was broken off goes on.
    2. Results that are not whole are fetched again a few times.
    3. If no row is ours, another batch was taken for it: it is looked for, or sent, anew.
    4. Jobs without a row are failed if the provider found fault with them, else sent back.
    """
    endpoint = endpoint_of(pool)
    seen = endpoint.look(batch.provider_id)
    reading = Reading(batch, pool.provider)
    if not _read_rows(reading, endpoint, seen, until):
        hold.let_go(batch)
        return
    left = members.running(batch).exists()
    if left and reading.rows and not reading.ours and not reading.fault:
        _disown(batch, seen)
        return
    if left and seen.complete and not reading.fault:
        reading.fault = f"{pool.provider}'s results lack some of the requests."
    if left and reading.fault and batch.looks < MOST_READS:
        hold.rest(batch, error=reading.fault)
        return
    error = seen.fault or reading.fault
    members.finish_all(_unanswered(job, seen, error) for job in list(members.running(batch)))
    state = JobBatch.State.DONE if reading.rows else JobBatch.State.FAILED
    members.close(batch, state, error)


def _read_rows(reading: Reading, endpoint: Endpoint, seen: Seen, until: float) -> bool:
    """Tell the ledger what the rows say; False if time was over before the last one."""
    for chunk in chunks(_lines(reading, endpoint, seen), members.CHUNK):
        told = members.finish_all(_endings(reading, endpoint, chunk))
        hold.keep(reading.batch)
        if told and time.monotonic() > until:
            return False
    return True


def _lines(reading: Reading, endpoint: Endpoint, seen: Seen) -> Iterator[bytes]:
    """Whole lines, up to where the results break off."""
    batch = reading.batch
    try:
        yield from lines(endpoint.results(batch.provider_id, seen))
    except httpx2.HTTPError as error:
        reading.fault = f"{reading.provider}'s results broke off: {error}"
    except EndpointTrouble as error:
        if error.trouble.kind not in ("missing", "refused"):
            # However often that happens: the results are there, only not now.
            batch.looks = min(batch.looks, MOST_READS - 2)
            raise
        reading.fault = str(error)


def _endings(reading: Reading, endpoint: Endpoint, chunk: list[bytes]) -> list[Finish]:
    """The endings that rows tell for the first time."""
    rows: dict[UUID, tuple[UUID, Row]] = {}
    for row in _rows(reading, endpoint, chunk):
        named = members.named_by(row.custom_id)
        if named is None:
            logger.warning("Batch %s: no custom id of ours: %.80s", reading.batch.pk, row.custom_id)
        else:
            rows[named[1]] = (named[0], row)
    calls = Call.objects.filter(pk__in=list(rows)).values_list("pk", "job_id", "settled_at")
    known = {call: settled for call, job, settled in calls if rows[call][0] == job}
    jobs = Job.objects.filter(pk__in=[rows[call][0] for call in known])
    reading.ours += jobs.filter(batch_id=reading.batch.pk).count()
    for call in set(rows) - set(known):
        logger.warning("Batch %s: no attempt %s of ours.", reading.batch.pk, call)
    return [
        _ending(reading.provider, rows[call][0], call, rows[call][1])
        for call, settled in known.items()
        if settled is None
    ]


def _rows(reading: Reading, endpoint: Endpoint, chunk: Iterable[bytes]) -> Iterator[Row]:
    for line in chunk:
        if not line.strip():
            continue
        try:
            row = endpoint.row(msgspec.json.decode(line, type=dict[str, Any]))
        except (msgspec.MsgspecError, UnicodeDecodeError, Unreadable) as error:
            reading.fault = f"{reading.provider}'s results are not readable: {error}"
            logger.warning("Batch %s: %s", reading.batch.pk, reading.fault)
        else:
            reading.rows += 1
            yield row


def _ending(provider: str, job_id: UUID, call_id: UUID, row: Row) -> Finish:
    ending = Finish(
        id=job_id,
        call_id=call_id,
        ending=row.ending,
        outcome="cancelled" if row.ending == "sent_away" else row.ending,
        error=row.error,
        final=row.final,
    )
    if row.ending == "failed":
        # Neither provider bills what it rejects.
        ending.input_tokens = ending.output_tokens = 0
    if row.body is not None:
        _take_in(ending, provider, row.body)
    return ending


def _take_in(ending: Finish, provider: str, body: dict[str, Any]) -> None:
    """What a call used, and its answer."""
    try:
        used = READERS[provider].usage(body)
    except Unreadable as error:
        logger.warning("Job %s: %s", ending.id, error)
        used = None
    if used is not None:
        ending.input_tokens, ending.output_tokens, ending.cached_input_tokens = used
    result = msgspec.json.encode(body).decode()
    if len(result.encode()) > (most := conf.max_result_bytes()):
        ending.ending, ending.final = "failed", True
        ending.error = f"Its result is larger than the {most:,} bytes that are kept."
    else:
        ending.result = result


def _disown(batch: JobBatch, seen: Seen) -> None:
    """Look further: only at batches made after the one that wasn't ours."""
    hold.rest(
        batch,
        state=JobBatch.State.SUBMITTING,
        provider_id="",
        submitted_at=seen.created_at + CLOCKS_APART + timedelta(microseconds=1),
        looks=1,
        error=f"{batch.provider_id} turned out to be another batch.",
    )


def _unanswered(job: Job, seen: Seen, error: str) -> Finish:
    """The ending of a job that no row tells of."""
    if seen.fault and not seen.own_fault:
        return members.sent_back(job, seen.fault, REST_SECONDS)
    if seen.fault:
        return members.faulted(job, seen.faults, seen.fault)
    return members.sent_back(job, error or "The provider ended its batch without running it.")
