"""How much of the pool is left to those who are promised nothing."""

from typing import Any

from budget import services
from claims_demo.claims import POOL


def free_percent() -> float | None:
    """Of the scarcest limit: what is free beside the floors, of what is so when all is full.

    None without a pool, or where all of it is promised to somebody.
    """
    try:
        limits = services.pool_view(POOL)["limits"]
    except services.UnknownPool:  # an edit of the policy may take it away
        return None
    parts = [part for limit in limits if (part := _free_percent(limit)) is not None]
    return min(parts, default=None)


def _free_percent(limit: dict[str, Any]) -> float | None:
    floors = limit["floors"].values()
    most = limit["capacity"] * (1 - sum(floor["share_percent"] for floor in floors) / 100)
    free = limit["available"] - sum(floor["effective"] for floor in floors)
    return max(0.0, 100 * free / most) if most > 0 else None
