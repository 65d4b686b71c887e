"""The document a pool's state is stored as."""

import msgspec

from budget.ledger.tally import OpenMinute
from budget.rule.pool import PoolState


class Balances(msgspec.Struct, kw_only=True):
    """Everything that is charged, held, promised and counted on one pool."""

    version: int
    """The policy version it was left under."""
    pool: PoolState
    minute: OpenMinute
    lapsed_through: int
    """Every lease that ended by then is dealt with, in microseconds since the epoch."""
    next_lapse: int
    """No open lease ends before this moment."""

    def encode(self) -> bytes:
        """The document, as JSON."""
        return msgspec.json.encode(self)


_DECODER = msgspec.json.Decoder(Balances)


def decode_balances(document: bytes) -> Balances:
    """The balances in a stored document."""
    return _DECODER.decode(document)
