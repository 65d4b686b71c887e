"""Rows of policy tables, and events about them, as plain values with a name."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from django.db import models

from budget.models import (
    ApiKey,
    ApiKeyClass,
    ApiKeyPool,
    Limit,
    Pool,
    Reservation,
    WorkloadClass,
)
from budget.policy import words


@dataclass(frozen=True, eq=False)
class Kind:
    """One policy table: what a row of it is called and which fields an owner edits."""

    model: type[models.Model]
    words: Mapping[str, words.Wording]
    named: frozenset[str] = frozenset()
    """Fields that the title tells already."""

    @property
    def events(self) -> Any:
        """The event model that remembers its rows."""
        return self.model.pgh_event_model  # type: ignore[attr-defined]

    def default(self, field: str) -> Any:
        """What the field holds unless somebody says otherwise."""
        return self.model._meta.get_field(field).get_default()  # type: ignore[union-attr]

    @property
    def label(self) -> str:
        """How forms and addresses refer to the table."""
        return str(self.model._meta.model_name)


POOL = Kind(Pool, words.POOL)
LIMIT = Kind(Limit, words.LIMIT, frozenset({"unit", "algorithm", "of_batch"}))
WORKLOAD_CLASS = Kind(WorkloadClass, words.WORKLOAD_CLASS)
RESERVATION = Kind(Reservation, words.RESERVATION)
API_KEY = Kind(ApiKey, words.API_KEY, frozenset({"name"}))
KEY_CLASS = Kind(ApiKeyClass, {})
KEY_POOL = Kind(ApiKeyPool, {})

POLICY = (WORKLOAD_CLASS, POOL, LIMIT, RESERVATION)
"""The tables a policy consists of, referred-to ones first."""
ALL = (*POLICY, API_KEY, KEY_CLASS, KEY_POOL)


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
        match kind.label:
            case "limit":
                noun = "batch limit" if row.of_batch else "limit"
                return f"pool {self.pools.get(row.pool_id)}, {noun} {row.unit}/{row.algorithm}"
            case "reservation":
                owner = self.classes.get(row.workload_class_id)
                return f"pool {self.pools.get(row.pool_id)}, reservation of {owner}"
            case "apikey":
                return f"API key {row.name}"
            case "apikeyclass" | "apikeypool":
                return f"API key {row.apikey_id}…, right to {self.right(kind, row)}"
            case "pool":
                return f"pool {row.slug}"
        return f"class {row.slug}"

    def right(self, kind: Kind, row: Any) -> str:
        """What an API key is bound to: `class rescore`."""
        if kind is KEY_CLASS:
            return f"class {self.classes.get(row.workloadclass_id)}"
        return f"pool {self.pools.get(row.pool_id)}"

    def values(self, kind: Kind, row: Any) -> dict[str, Any]:
        """The edited fields of a row or an event, related classes by their slug."""
        return {
            field: self.classes.get(row.untagged_class_id)
            if field == "untagged_class"
            else getattr(row, field)
            for field in kind.words
        }

    def summary(self, kind: Kind, row: Any) -> str:
        """What a row says beyond its title and the defaults, in one line."""
        values = {
            field: value
            for field, value in self.values(kind, row).items()
            if field not in kind.named and value != kind.default(field)
        }
        return words.summary(values, kind.words)

    def line(self, kind: Kind, row: Any, verb: str) -> str:
        """A row in one line: `pool claims, limit requests/gauge added: amount 40`."""
        summary = self.summary(kind, row)
        return f"{self.title(kind, row)} {verb}" + (f": {summary}" if summary else "")

    def told(self, kind: Kind, before: Any, after: Any) -> list[str]:
        """What became of a row, one line per edited field; None stands for no row."""
        if before is None:
            return [self.line(kind, after, "added")]
        if after is None:
            return [self.line(kind, before, "removed")]
        phrases = words.differences(self.values(kind, before), self.values(kind, after), kind.words)
        told = [f"{self.title(kind, after)}: {phrase}" for phrase in phrases]
        return told or [self.line(kind, after, "now")]
