"""The remembered edits, told: who, when, from where, why, and what in words.

A change is everything one transaction did to the policy; an entry is what it did to one row.
"""

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any, NamedTuple

from django.db.models import Max, OuterRef, Q, QuerySet, Subquery

from budget.policy.rows import (
    ALL,
    API_KEY,
    KEY_CLASS,
    KEY_POOL,
    LIMIT,
    POLICY,
    POOL,
    RESERVATION,
    WORKLOAD_CLASS,
    Kind,
    Slugs,
)

Scope = Mapping[Kind, Q]
"""Which events are meant, by kind; kinds left out are not."""


class Entry(NamedTuple):
    """What happened to one row."""

    kind: Kind
    event: Any
    before: Any
    """The row's previous event; None for an insert, or if its history began later."""


class Change(NamedTuple):
    """What one transaction did."""

    at: datetime
    transaction: int
    entries: list[Entry]

    @property
    def context(self) -> dict[str, Any]:
        """What the author said of himself; empty for raw SQL."""
        return self.entries[0].event.pgh_context or {}

    @property
    def who(self) -> str:
        """User name, or the database role when nobody was logged in."""
        role = f"database role {self.entries[0].event.db_role}"
        if "command" in self.context:
            return f"{self.context.get('account') or 'somebody'}, as {role}"
        return self.context.get("username") or f"{role}, outside the admin"

    @property
    def where(self) -> str:
        """Address or command."""
        address = self.context.get("address") or self.entries[0].event.db_address or "this host"
        return self.context.get("command") or address

    @property
    def why(self) -> str:
        """The reason given, if any."""
        return self.context.get("reason") or ""

    @property
    def revertible(self) -> bool:
        """Whether it touched the policy; keys are revoked, not reverted."""
        return any(entry.kind in POLICY for entry in self.entries)


THE_POLICY: Scope = {kind: Q() for kind in POLICY}
EVERYTHING: Scope = {kind: Q() for kind in ALL}
"""The policy and who may call: the history of API keys."""


def scope_of_pool(pk: int) -> Scope:
    """A pool with its limits and reservations."""
    return {POOL: Q(pgh_obj_id=pk), LIMIT: Q(pool_id=pk), RESERVATION: Q(pool_id=pk)}


def scope_of_class(pk: int) -> Scope:
    """A class with its reservations."""
    return {WORKLOAD_CLASS: Q(pgh_obj_id=pk), RESERVATION: Q(workload_class_id=pk)}


def scope_of_key(pk: str) -> Scope:
    """An API key with what it is bound to."""
    return {API_KEY: Q(pgh_obj_id=pk), KEY_CLASS: Q(apikey_id=pk), KEY_POOL: Q(apikey_id=pk)}


def change_keys(scope: Scope) -> QuerySet[Any, dict[str, Any]]:
    """Time and transaction of each change in scope, newest first; to be paged."""
    parts = [
        kind.events.objects.filter(condition).values("pgh_created_at", "transaction")
        for kind, condition in scope.items()
    ]
    return parts[0].union(*parts[1:]).order_by("-pgh_created_at", "-transaction")


def changes(keys: Iterable[Mapping[str, Any]], scope: Scope) -> list[Change]:
    """The changes of these keys, in the order given, with their entries in scope."""
    wanted = [(key["pgh_created_at"], key["transaction"]) for key in keys]
    here = Q(transaction__in=[transaction for _, transaction in wanted])
    found: dict[tuple[datetime, int], list[Entry]] = {key: [] for key in wanted}
    for entry in entries({kind: condition & here for kind, condition in scope.items()}):
        key = (entry.event.pgh_created_at, entry.event.transaction)
        if key in found:
            found[key].append(entry)
    return [Change(*key, entries=members) for key, members in found.items() if members]


def entries(scope: Scope) -> list[Entry]:
    """Events in scope, each with its predecessor, by kind and age."""
    return [entry for kind, condition in scope.items() for entry in _entries(kind, condition)]


def _entries(kind: Kind, condition: Q) -> list[Entry]:
    previous = (
        kind.events.objects.filter(pgh_obj_id=OuterRef("pgh_obj_id"), pgh_id__lt=OuterRef("pgh_id"))
        .order_by("-pgh_id")
        .values("pgh_id")[:1]
    )
    events = list(
        kind.events.objects.filter(condition)
        .annotate(previous=Subquery(previous))
        .order_by("pgh_id")
    )
    before = kind.events.objects.in_bulk([event.previous for event in events if event.previous])
    return [Entry(kind, event, before.get(event.previous)) for event in events]


def fingerprint(scope: Scope) -> str:
    """Changes whenever anything in scope does."""
    ends = (
        kind.events.objects.filter(condition).aggregate(end=Max("pgh_id"))["end"] or 0
        for kind, condition in scope.items()
    )
    return "-".join(str(end) for end in ends)


def high_water() -> Callable[[], Scope]:
    """Remember where the history ends now; calling the answer gives what came since.

    Exact while other edits are held off.
    """
    ends = {kind: kind.events.objects.aggregate(end=Max("pgh_id"))["end"] or 0 for kind in POLICY}
    return lambda: {kind: Q(pgh_id__gt=end) for kind, end in ends.items()}


def told(entries: Iterable[Entry], slugs: Slugs | None = None) -> list[str]:
    """The entries in words, one line per edited field or added or removed row."""
    slugs = slugs or Slugs.ever()
    return [line for entry in entries for line in _told(entry, slugs)]


def _told(entry: Entry, slugs: Slugs) -> list[str]:
    kind, event, before = entry
    match event.pgh_label:
        case "insert":
            return slugs.told(kind, None, event)
        case "delete":
            return slugs.told(kind, event, None)
        case _ if before:
            return slugs.told(kind, before, event)
    return [slugs.line(kind, event, "now")]
