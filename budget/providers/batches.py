"""Batch endpoints: which providers' are used here, and how much each takes at once.

Both answer within 24 hours, or expire what they haven't answered by then.
"""

from typing import NamedTuple


class BatchEndpoint(NamedTuple):
    """The provider's own bounds of one batch."""

    max_requests: int
    max_bytes: int


BATCH_ENDPOINTS = {
    "anthropic": BatchEndpoint(max_requests=100_000, max_bytes=256_000_000),
    "openai": BatchEndpoint(max_requests=50_000, max_bytes=200_000_000),
}
