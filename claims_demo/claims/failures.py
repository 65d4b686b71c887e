"""Why a question has no answer, for people; the log has the rest."""

import logging
import math
from collections.abc import Mapping
from http import HTTPStatus
from typing import NamedTuple

from budget.api.refusals import retry_headers
from budget.services import BudgetError, KeyReused, LedgerUnavailable, Shed
from claims_demo.claims.assistant import ProviderBusy, ProviderTrouble, TooSlow
from claims_demo.models import Claim

STILL_HERE = "Your question is still here"
TOO_SLOW = f"The assistant took longer than two seconds. {STILL_HERE}: try again."
TOO_LARGE = f"This claim is more than the assistant can read. {STILL_HERE}."
UNREACHED = f"The assistant can't be reached just now. {STILL_HERE}: try again."
PAUSED = f"The assistant is paused. {STILL_HERE}."
NO_ROOM_SOON = f"Try again shortly: there is no room in the next few seconds. {STILL_HERE}."
NO_ROOM = f"Try again shortly: there is no room just now. {STILL_HERE}; send it in {{}} s."
BUSY = f"Try again shortly: the provider is busy. {STILL_HERE}."
BUSY_UNTIL = f"The provider is busy; try again in {{}} s. {STILL_HERE}."
ASKED_BEFORE = "This question was answered or is being answered: reload the page to see."

PROVIDER_BUSY = "provider_busy"
"""The `reason` by which a script knows it."""

logger = logging.getLogger(__name__)


class Failure(NamedTuple):
    """Why there is no answer, for people."""

    status: HTTPStatus
    detail: str
    headers: Mapping[str, str] = {}
    members: Mapping[str, str] = {}
    """Further members of the body that a script gets."""


def wrong(field: str, detail: str) -> Failure:
    """What was sent cannot be taken."""
    return Failure(HTTPStatus.BAD_REQUEST, detail, members={"field": field})


def shed_failure(shed: Shed) -> Failure:
    """A refusal, with the moment to come back if there is one."""
    if shed.reason == "never_fits":
        return Failure(HTTPStatus.UNPROCESSABLE_ENTITY, TOO_LARGE)
    headers = retry_headers(shed.admission)
    if headers:
        detail = NO_ROOM.format(headers["Retry-After"])
    else:
        detail = PAUSED if shed.reason == "paused" else NO_ROOM_SOON
    return Failure(HTTPStatus.TOO_MANY_REQUESTS, detail, headers)


def failure_of(claim: Claim, error: TooSlow | ProviderTrouble | BudgetError) -> Failure:
    """Anything else that went wrong; what only the operator can mend goes to the log."""
    if isinstance(error, TooSlow):
        return Failure(HTTPStatus.GATEWAY_TIMEOUT, TOO_SLOW)
    if isinstance(error, KeyReused):
        return Failure(HTTPStatus.CONFLICT, ASKED_BEFORE)
    logger.warning("No answer about %s: %s", claim, error)
    if isinstance(error, ProviderBusy):
        return _busy(error.seconds)
    if isinstance(error, ProviderTrouble):
        return Failure(HTTPStatus.BAD_GATEWAY, UNREACHED)
    again = {}
    if isinstance(error, LedgerUnavailable):
        again = {"Retry-After": str(error.retry_after_seconds)}
    return Failure(HTTPStatus.SERVICE_UNAVAILABLE, UNREACHED, again)


def _busy(seconds: float | None) -> Failure:
    members = {"reason": PROVIDER_BUSY}
    if seconds is None:
        return Failure(HTTPStatus.SERVICE_UNAVAILABLE, BUSY, members=members)
    whole = max(1, math.ceil(seconds))
    headers = {"Retry-After": str(whole)}
    return Failure(HTTPStatus.SERVICE_UNAVAILABLE, BUSY_UNTIL.format(whole), headers, members)
