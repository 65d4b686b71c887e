"""The nightly classification: claims that changed, through the provider's batch endpoint.

A batch may take hours. What comes of a job is taken in as it ends, by the process that ends it;
what is missed then, as when that process dies, is taken in by the next run.

An urgent claim can't wait for a batch: it is classified by a call of its own.
"""

import logging
from collections import Counter
from contextlib import suppress
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import F, Q, QuerySet

from budget import services
from budget.jobs import llm
from budget.services import Shed, UnknownJob
from claims_demo.claims import POOL, replies, requests
from claims_demo.models import Claim

CLASS = "nightly"
ENQUEUED = "enqueued"
SOURCE = "claims_demo.claims.nightly.classify"
URGENT_MS = 600_000
"""Within which an urgent claim is to be classified, if it is to be of use."""
MOST_AT_ONCE = 1000
"""Answers taken in together."""
GOES_ON = ("queued", "running")

logger = logging.getLogger(__name__)


def classify(count: int) -> Counter[str]:
    """Enqueue at most so many claims that changed since they were classified.

    Returns how many were `enqueued`, and by reason how many the queue refused; those are
    still due next time. Raises LedgerUnavailable.
    """
    take_in_answers()
    outcomes: Counter[str] = Counter()
    for claim_id in list(due().values_list("pk", flat=True)[:count]):
        if outcome := _classify(claim_id):
            outcomes[outcome] += 1
    return outcomes


def in_words(outcomes: Counter[str]) -> str:
    """What came of a run, for people."""
    if not outcomes:
        return "Nothing is due: no claim has changed since it was classified."
    enqueued, refused = outcomes[ENQUEUED], outcomes.total() - outcomes[ENQUEUED]
    said = f"Enqueued {_claims(enqueued)}; categories appear as the batches end."
    if refused:
        reasons = ", ".join(sorted(set(outcomes) - {ENQUEUED}))
        said += f" {_claims(refused)} refused ({reasons}): due again next time."
    return said


def due() -> "QuerySet[Claim]":
    """Claims to classify, the most urgent first."""
    changed = Q(classified_at=None) | Q(classified_at__lt=F("changed_at"))
    return Claim.objects.filter(changed, classification_job=None)


def take_in_answer(*, job_id: UUID, **_: Any) -> None:
    """Receiver of `budget.signals.ended`: if the job is a classification, take it in."""
    if Claim.objects.filter(classification_job=job_id).exists():
        with suppress(UnknownJob):
            _take_in(services.job(job_id))


def take_in_answers() -> int:
    """Store the categories that jobs have come to and nobody took in; how many.

    A claim whose job failed, or is gone, is due again.
    """
    waiting = Claim.objects.exclude(classification_job=None)
    ids = waiting.values_list("classification_job", flat=True)[:MOST_AT_ONCE]
    awaited = {job_id for job_id in ids if job_id is not None}
    if not awaited:
        return 0
    jobs = services.jobs_by_id(awaited)
    waiting.filter(classification_job__in=awaited - set(jobs)).update(classification_job=None)
    return sum(_take_in(job) for job in jobs.values() if job["state"] not in GOES_ON)


def _take_in(job: dict[str, Any]) -> bool:
    """End a classification; whether it brought a category."""
    learned: dict[str, object] = {}
    if job["state"] == "succeeded":
        try:
            category = replies.category_of(job["result"])
            learned = {"category": category, "classified_at": job["enqueued_at"]}
        except replies.UnreadableReply as error:
            logger.warning("Classification %s: %s", job["id"], error)
    Claim.objects.filter(classification_job=job["id"]).update(classification_job=None, **learned)
    return bool(learned)


def _classify(claim_id: int) -> str | None:
    """One claim; None if somebody else classifies it by now.

    Should this process die in here, a job may be left whose answer nobody takes in.
    """
    with transaction.atomic():
        free = due().select_for_update(skip_locked=True, no_key=True)
        claim = free.filter(pk=claim_id).first()
        if claim is None:
            return None
        request = requests.classification(claim)
        try:
            job = services.enqueue(
                POOL,
                CLASS,
                llm.NAME,
                request.args,
                input_tokens=request.input_tokens,
                output_tokens=request.max_tokens,
                deadline_ms=URGENT_MS if claim.priority == Claim.Priority.URGENT else None,
                source=SOURCE,
                tags={"claim": claim.number},
            )
        except Shed as shed:
            return shed.reason
        claim.classification_job = job.id
        claim.save(update_fields=["classification_job"])
    return ENQUEUED


def _claims(count: int) -> str:
    return "1 claim" if count == 1 else f"{count} claims"
