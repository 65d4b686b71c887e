"""Call ids: UUIDv7 whose last 24 bits name the pool, so that an id finds its ledger."""

import os
import time
from uuid import UUID

from budget.ledger.clock import MILLISECOND

POOL_BITS = 24
_POOL_MASK = (1 << POOL_BITS) - 1
_VERSION_7 = 0x7 << 76
_VARIANT = 0b10 << 62


def new_id(pool_id: int, at: int | None = None) -> UUID:
    """A fresh id, sorting by the millisecond of `at`, now unless given.

    `at` is in microseconds since the epoch. Between the time and the pool stand 50 random
    bits. Raises ValueError for a pool id beyond 24 bits.
    """
    if not 0 <= pool_id <= _POOL_MASK:
        raise ValueError(f"Pool id {pool_id} does not fit {POOL_BITS} bits.")
    random = int.from_bytes(os.urandom(7), "big")
    milliseconds = time.time_ns() // 1_000_000 if at is None else at // MILLISECOND
    return UUID(
        int=milliseconds << 80
        | _VERSION_7
        | (random & 0xFFF) << 64
        | _VARIANT
        | (random >> 12 & 0x3F_FFFF_FFFF) << POOL_BITS
        | pool_id
    )


def made_at(call_id: UUID) -> int:
    """When an id was made, to the millisecond, in microseconds since the epoch."""
    return (call_id.int >> 80) * MILLISECOND


def lowest_id(at: int) -> UUID:
    """No id made at `at`, in microseconds since the epoch, or later is below this one."""
    return UUID(int=at // MILLISECOND << 80)


def pool_of(call_id: UUID) -> int:
    """The pool id inside a call id; of a foreign UUID some number that names no call's pool."""
    return call_id.int & _POOL_MASK
