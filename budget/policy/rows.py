"""Rows of policy tables, and events about them, as plain values with a name."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from django.db import models

from budget.models import ApiKey, Limit, Pool, Reservation, WorkloadClass
from budget.policy import words


class Kind(NamedTuple):
    """One policy table: what a row of it is called and which fields an owner edits."""

    model: type[models.Model]
    noun: str
    words: Mapping[str, words.Wording]

    @property
    def events(self) -> Any:
        """The event model that remembers its rows."""
        return self.model.pgh_event_model  # type: ignore[attr-defined]


POOL = Kind(Pool, "pool", words.POOL)
LIMIT = Kind(Limit, "limit", words.LIMIT)
WORKLOAD_CLASS = Kind(WorkloadClass, "class", words.WORKLOAD_CLASS)
RESERVATION = Kind(Reservation, "reservation", words.RESERVATION)
API_KEY = Kind(ApiKey, "API key", words.API_KEY)

POLICY = (WORKLOAD_CLASS, POOL, LIMIT, RESERVATION)
"""The tables a policy consists of, referred-to ones first."""


class Slugs(NamedTuple):
    """Slugs by primary key, of pools and classes that are or ever were."""

    pools: Mapping[int, str]
    classes: Mapping[int, str]

    @classmethod
    def ever(cls) -> "Slugs":
        """Read from the history, which also knows the deleted ones."""
        return cls(
            *[
                dict(kind.events.objects.values_list("pgh_obj_id", "slug").distinct())
                for kind in (POOL, WORKLOAD_CLASS)
            ]
        )

    def title(self, kind: Kind, row: Any) -> str:
        """What a row or an event about it is called: `pool claims, limit requests/gauge`."""
        if kind is LIMIT:
            return f"pool {self.pools.get(row.pool_id)}, limit {row.unit}/{row.algorithm}"
        if kind is RESERVATION:
            owner = self.classes.get(row.workload_class_id)
            return f"pool {self.pools.get(row.pool_id)}, reservation of {owner}"
        return f"{kind.noun} {row.slug if hasattr(row, 'slug') else row.name}"

    def values(self, kind: Kind, row: Any) -> dict[str, Any]:
        """The edited fields of a row or an event, related classes by their slug."""
        return {
            field: self.classes.get(row.untagged_class_id)
            if field == "untagged_class"
            else getattr(row, field)
            for field in kind.words
        }
