"""Reads the service's answers, and writes what is asked of it."""

from datetime import datetime
from email.utils import parsedate_to_datetime
from typing import Any

from budget.client.link import NoAnswer, Reply
from budget.client.verdict import Admitted, Ask, Refused, Verdict

ADMITTED = 201
SHED = (422, 429)
WRONG = range(400, 500)
SOON_SECONDS = 60.0
"""A lease is renewed by then of which it can't be told how long it lasts."""


def body_of(ask: Ask) -> dict[str, Any]:
    """The body of `POST /admissions`."""
    body: dict[str, Any] = {
        "pool": ask.pool,
        "workload_class": ask.workload_class,
        "input_tokens": ask.input_tokens,
        "output_tokens": ask.output_tokens,
        "source": ask.source,
        "tags": dict(ask.tags),
    }
    if ask.deadline_ms is not None:
        body["deadline_ms"] = ask.deadline_ms
    return body


def verdict_of(ask: Ask, reply: Reply) -> Verdict:
    """The decision in an answer to `POST /admissions`. Raises NoAnswer if there is none in it."""
    body = reply.body
    try:
        if reply.status == ADMITTED and body["decision"] == "admitted":
            return Admitted(str(body["id"]), ask, _lease_seconds(reply))
        if reply.status in SHED and body.get("decision") == "shed":
            again = int(body["retry_after_ms"]) if body["retryable"] else None
            return Refused(ask, reply.status, str(body["reason"]), str(body["detail"]), again, body)
    except (KeyError, TypeError, ValueError) as error:
        raise NoAnswer(f"its answer isn't what a Token Budget service says: {error!r}") from None
    if reply.status in WRONG and isinstance(body.get("detail"), str):
        detail = f"Token Budget refused to decide: {body['detail']}"
        return Refused(ask, reply.status, "", detail, body=body)
    raise NoAnswer(f"it answered {reply.status} with something else than a decision")


def _lease_seconds(reply: Reply) -> float | None:
    """How long the lease lasts, by the service's own clock: the caller's may be hours off."""
    expires, date = reply.body.get("lease_expires"), reply.headers.get("date")
    if not expires:
        return None
    try:
        said = datetime.fromisoformat(expires) - parsedate_to_datetime(date or "")
    except (TypeError, ValueError):
        return SOON_SECONDS
    return max(1.0, said.total_seconds())
