"""What the service is told without anybody waiting for it."""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from budget.client.link import Link, Reply
from budget.client.reading import ADMITTED, body_of
from budget.client.verdict import Admitted, Ask, Ending
from budget.providers.standing import Standing

logger = logging.getLogger("budget.client")

TOO_MUCH = 400
OLDEST_MS = 60_000
DONE = frozenset({404, 409})
"""Statuses that say that somebody else has ended the call, or that its record is gone."""


@dataclass(frozen=True, slots=True)
class Settle:
    """How a call ended."""

    admitted: Admitted
    ending: Ending

    def run(self, link: Link) -> None:
        """Raises NoAnswer."""
        path, ending = f"admissions/{self.admitted.id}/settle", self.ending
        reply = link.post(path, _settlement(ending.outcome, *ending.used))
        if reply.status == TOO_MUCH:
            # More than the call can be believed to have used: as much as can.
            ask = self.admitted.ask
            most = (2 * ask.input_tokens, 2 * ask.output_tokens)
            reply = link.post(path, _settlement(ending.outcome, *most, 0))
            logger.warning("Call %s said it used %s: settled at %s.", path, ending.used, most)
        _check(reply, path)


@dataclass(frozen=True, slots=True)
class Renew:
    """A call that takes longer."""

    id: str
    seconds: float

    def run(self, link: Link) -> None:
        """Raises NoAnswer."""
        path = f"admissions/{self.id}/renew"
        _check(link.post(path, {"extend_ms": max(1, round(1000 * self.seconds))}), path)


@dataclass(frozen=True, slots=True)
class Undo:
    """Takes back an admission whose answer nobody heard."""

    ask: Ask

    def run(self, link: Link) -> None:
        """Raises NoAnswer."""
        reply = link.post("admissions", body_of(self.ask), self.ask.key)
        if reply.status == ADMITTED:
            path = f"admissions/{reply.body['id']}/settle"
            _check(link.post(path, {"outcome": "cancelled"}), path)


@dataclass(frozen=True, slots=True)
class Observe:
    """What the provider said of its limits."""

    pool: str
    standing: Standing
    at: float
    """When, by `clock`."""
    clock: Callable[[], float]

    def run(self, link: Link) -> None:
        """Raises NoAnswer. What is too old to say anything isn't told."""
        standing, age_ms = self.standing, round(1000 * (self.clock() - self.at))
        if age_ms > OLDEST_MS:
            return
        body: dict[str, Any] = {
            "pool": self.pool,
            "age_ms": age_ms,
            "limits": [
                {
                    "unit": limit.unit,
                    "amount": limit.amount,
                    "remaining": limit.remaining,
                    "reset_ms": _ms(limit.reset_seconds),
                }
                for limit in standing.limits
            ],
        }
        if standing.refusal:
            body |= {"refusal": standing.refusal}
            if standing.retry_after_seconds is not None:
                body |= {"retry_after_ms": _ms(standing.retry_after_seconds)}
        _check(link.post("observations", body), "observations")


Errand = Settle | Renew | Undo | Observe


def _settlement(outcome: str, input_tokens: int, output_tokens: int, cached: int) -> dict[str, Any]:
    return {
        "outcome": outcome,
        "input_tokens": input_tokens,
        "output_tokens": output_tokens,
        "cached_input_tokens": cached,
    }


def _ms(seconds: float | None) -> int | None:
    return None if seconds is None else max(1, round(1000 * seconds))


def _check(reply: Reply, path: str) -> None:
    """Log what the service refused; sent again, it would refuse it again."""
    if reply.status >= 400 and reply.status not in DONE:
        logger.warning("%s was answered %s: %s", path, reply.status, reply.body.get("detail"))
