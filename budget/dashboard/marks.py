"""Policy changes, as marks on the time axis and in words."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from django.db.models import Q
from django.http import HttpRequest
from django.urls import reverse

from budget.ledger.clock import micros
from budget.models import Pool
from budget.pages.versions import versions_of
from budget.policy.history import Change, Scope, change_keys, changes, scope_of_pool, told
from budget.policy.rows import POOL, WORKLOAD_CLASS, Slugs

MOST = 50
SEE_HISTORY = "budget.view_policyhistory"


class Mark(NamedTuple):
    """One change that concerned the pool."""

    change: Change
    lines: list[str]
    version: int | None
    """The policy version that it led to; None if nothing was decided by it."""
    address: str
    """Its entry in the history; empty for those who may not enter the admin."""

    @property
    def key(self) -> str:
        """Names it within the page."""
        return f"change-{self.change.transaction}-{micros(self.change.at)}"

    def as_json(self) -> dict[str, Any]:
        """For a chart, and for the list below it."""
        return {
            "key": self.key,
            "at": self.change.at.timestamp(),
            "who": self.change.who,
            "why": self.change.why,
            "lines": self.lines,
            "version": self.version,
            "address": self.address,
        }


class Marks(NamedTuple):
    """The changes in a time."""

    newest: list[Mark]
    """In order, at most MOST."""
    more: bool = False
    """Whether there are earlier ones in that time."""


def marks(request: HttpRequest, pool: Pool, start: datetime, end: datetime) -> Marks:
    """The newest changes to a pool and to classes in a time.

    None for those who may not see the history.
    """
    if not request.user.has_perm(SEE_HISTORY):
        return Marks([])
    scope = _scope(pool, start, end)
    keys = list(change_keys(scope)[: MOST + 1])
    if not keys:
        return Marks([])
    told = _told(pool, changes(keys[:MOST], scope), linked=request.user.is_staff)
    return Marks(list(told)[::-1], more=len(keys) > MOST)


def _scope(pool: Pool, start: datetime, end: datetime) -> Scope:
    """What concerns a pool: its own rows and, since it is there, all classes."""
    first = POOL.events.objects.filter(pgh_obj_id=pool.pk).order_by("pgh_id").first()
    began = start if first is None else max(start, first.pgh_created_at)
    within = Q(pgh_created_at__gte=began, pgh_created_at__lt=end)
    whole: Scope = {**scope_of_pool(pool.pk), WORKLOAD_CLASS: Q()}
    return {kind: condition & within for kind, condition in whole.items()}


def _told(pool: Pool, found: Sequence[Change], linked: bool) -> Iterable[Mark]:
    slugs = Slugs.ever()
    for change, versions in zip(found, versions_of(found, [pool.pk]), strict=True):
        key = [change.transaction, micros(change.at)]
        address = reverse("admin:budget_policyhistory_entry", args=key) if linked else ""
        yield Mark(change, told(change.entries, slugs), versions.get(pool.pk), address)
