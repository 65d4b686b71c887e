"""The document a pool's state is stored as, and how it comes back."""

import logging
from contextlib import suppress

import msgspec

from budget.ledger.clock import minute_of
from budget.ledger.errors import LedgerUnavailable
from budget.ledger.tally import OpenMinute
from budget.rule.adopt import adopt
from budget.rule.dequeue import Queue
from budget.rule.pool import PoolState, advance, fresh
from budget.rule.terms import PoolTerms

logger = logging.getLogger(__name__)

FORMAT = 1
"""The layout of stored balances.

A struct may gain fields with defaults and lose fields, and the number stays. Those that are
stored as arrays (`array_like`, and the NamedTuples within calls) may only gain them at their
end, and lose none. Any other change raises the number.
"""


class Balances(msgspec.Struct, kw_only=True):
    """Everything that is charged, held, promised and counted on one pool."""

    version: int
    """The policy version it was left under; 0 for balances that start afresh."""
    pool: PoolState
    minute: OpenMinute
    lapsed_through: int
    """Every lease that ended by then is dealt with, in microseconds since the epoch."""
    next_lapse: int
    """No open lease ends before this moment."""
    endpoint: PoolState | None = None
    """What is left of the batch endpoint's limits, if there is one."""
    queues: dict[str, Queue] | None = None
    """By class; None until they are counted."""
    leaked: dict[str, int] = {}
    """By unit: what was used at the provider and never came through us, since the beginning."""
    spend_cap_reached: bool = False
    """Whether the pool is paused because the provider says so."""
    recount: bool = False
    """Whether the queues are to be counted anew, since rows are not as they should be."""
    format: int = 0

    def encode(self) -> bytes:
        """The document, as JSON."""
        self.format = FORMAT
        return msgspec.json.encode(self)

    def carry(self, old: PoolTerms | None, new: PoolTerms, changed_at: int) -> None:
        """Bring them under terms that hold since `changed_at`; afresh if the old are not known."""
        if old is not None:
            self.pool = adopt(old, self.pool, new, changed_at)
        else:
            self.pool = fresh(new, self.pool.at)
        self._carry_endpoint(old, new, changed_at)
        self.spend_cap_reached &= new.paused
        for slug, queue in (self.queues or {}).items():
            queue.pause(new.is_paused(slug), max(changed_at, self.pool.at))
            # What a queue waits for may be there under the new terms; and whoever resumes a
            # class wants its provider asked at once.
            queue.ready_at = 0
            queue.reconsider(self.pool.at)
        self.version = new.version

    def advance(self, terms: PoolTerms, now: int) -> None:
        """Move what is left of all limits to a moment."""
        advance(terms, self.pool, now)
        if terms.batch is None:
            return
        if self.endpoint is None:
            # A program of before there were batches has written them meanwhile.
            self.endpoint = fresh(terms.at_endpoint, now)
        advance(terms.at_endpoint, self.endpoint, now)

    def stand_still(self, document: bytes) -> None:
        """Leave all limits as they stood in an earlier document of these balances.

        Advancing in one step or in two differs by a rounding.
        """
        with suppress(UnreadableBalances):
            before = decode_balances(document)
            self.pool, self.endpoint = before.pool, before.endpoint

    def drawn_on(self, terms: PoolTerms, of_batch: bool) -> tuple[PoolTerms, PoolState] | None:
        """The limits a call draws on; None if they are of a batch endpoint that is gone."""
        if not of_batch:
            return terms, self.pool
        return None if self.endpoint is None else (terms.at_endpoint, self.endpoint)

    def _carry_endpoint(self, old: PoolTerms | None, new: PoolTerms, changed_at: int) -> None:
        if new.batch is None:
            self.endpoint = None
        elif self.endpoint is None or old is None or old.batch is None:
            self.endpoint = fresh(new.at_endpoint, self.pool.at)
        else:
            self.endpoint = adopt(old.at_endpoint, self.endpoint, new.at_endpoint, changed_at)


class UnreadableBalances(Exception):
    """Another version of the rule left them; the text says which format they are in."""


class _Header(msgspec.Struct):
    """What is read of balances that cannot be read."""

    format: int = 0


_DECODER = msgspec.json.Decoder(Balances)
_HEADER = msgspec.json.Decoder(_Header)


def fresh_balances(terms: PoolTerms, now: int, lapsed_through: int | None = None) -> Balances:
    """The balances of a pool nobody has called yet."""
    return Balances(
        version=0,
        pool=fresh(terms, now),
        endpoint=None if terms.batch is None else fresh(terms.at_endpoint, now),
        minute=OpenMinute(minute_of(now)),
        lapsed_through=now if lapsed_through is None else lapsed_through,
        next_lapse=now,
    )


def decode_balances(document: bytes) -> Balances:
    """The balances in a stored document.

    Raises UnreadableBalances, or LedgerUnavailable when a newer version of this program wrote
    them: while both run, the older one must not replace what the newer one knows.
    """
    try:
        balances = _DECODER.decode(document)
    except msgspec.DecodeError as error:
        raise _unreadable(document, str(error)) from None
    if balances.format != FORMAT:
        raise _unreadable(document, "")
    return balances


def restore_balances(document: bytes, terms: PoolTerms, now: int) -> Balances:
    """The balances in a stored document; afresh, all full, when they cannot be read."""
    try:
        return decode_balances(document)
    except UnreadableBalances as error:
        logger.warning("The balances of pool %r start afresh: %s", terms.slug, error)
        # Leases of before that ended meanwhile are still to be found.
        return fresh_balances(terms, now, lapsed_through=0)


def _unreadable(document: bytes, fault: str) -> Exception:
    try:
        found = _HEADER.decode(document).format
    except msgspec.DecodeError:
        found = 0
    said = f"They are in format {found}, not {FORMAT}. {fault}".strip()
    if found > FORMAT:
        logger.error("A newer version of the budget left the balances. %s", said)
        return LedgerUnavailable("A newer version of the budget keeps this pool's balances.")
    return UnreadableBalances(said)
