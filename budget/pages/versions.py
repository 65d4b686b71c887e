"""Which policy version a change led to, as far as it was ever decided by."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from django.db.models import Q

from budget.models import PolicyRevision, PolicyVersion
from budget.policy.history import Change, change_keys, scope_of_pool
from budget.policy.rows import LIMIT, POOL, RESERVATION, WORKLOAD_CLASS

Versions = Mapping[int, int]
"""The version by the id of the pool."""


class _Made(NamedTuple):
    """A version, when it was made."""

    pool: int
    version: int
    at: datetime


def versions_of(found: Sequence[Change], pools: Iterable[int] | None = None) -> list[Versions]:
    """What each of these changes, newest first, made of the pools, or only of some of them.

    A version is made by the last change to its pool that began before it was there. Of those that
    followed one another before anybody was decided on only the last is known.
    """
    if not found:
        return []
    told: list[dict[int, int]] = [{} for _ in found]
    ends: dict[int, datetime | None] = {}
    for made in _made_since(found[-1].at, pools):
        if made.pool not in ends:
            ends[made.pool] = _next_change(made.pool, found[0].at)
        if (end := ends[made.pool]) is not None and made.at >= end:
            continue
        for change, versions in zip(found, told, strict=True):
            if change.at <= made.at and _concerns(change, made.pool):
                versions[made.pool] = max(made.version, versions.get(made.pool, 0))
                break
    return list(told)


def _made_since(start: datetime, pools: Iterable[int] | None) -> list[_Made]:
    """The versions there were, that of now included."""
    wanted = Q(changed_at__gte=start)
    if pools is not None:
        wanted &= Q(pool_id__in=list(pools))
    columns = ("pool_id", "version", "changed_at")
    return [
        _Made(*row)
        for model in (PolicyRevision, PolicyVersion)
        for row in model.objects.filter(wanted).values_list(*columns)
    ]


def _next_change(pool: int, after: datetime) -> datetime | None:
    """When a newer change to the pool began than all that are asked about."""
    scope = {**scope_of_pool(pool), WORKLOAD_CLASS: Q()}
    later = {kind: condition & Q(pgh_created_at__gt=after) for kind, condition in scope.items()}
    first = change_keys(later).order_by("pgh_created_at").first()
    return None if first is None else first["pgh_created_at"]


def _concerns(change: Change, pool: int) -> bool:
    for kind, event, _ in change.entries:
        if kind is WORKLOAD_CLASS:
            return True
        if kind is POOL and event.pgh_obj_id == pool:
            return True
        if kind in (LIMIT, RESERVATION) and event.pool_id == pool:
            return True
    return False
