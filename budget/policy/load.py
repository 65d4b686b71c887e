"""Putting a policy file into force, all of it or nothing."""

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from django.db import transaction

from budget.models import Limit, Pool, Reservation, WorkloadClass
from budget.policy import rows
from budget.policy.document import BATCH_FIELDS, NO_CLASS, Document, PoolRows, Row
from budget.policy.endpoint import endpoint_notes
from budget.policy.history import entries, high_water, told
from budget.policy.rows import Kind
from budget.policy.stored import hold_policy, new_problems, stored_problems, stored_terms
from budget.policy.yaml_tree import Fault, PolicyFileError, Tree

STATE = frozenset({"paused", "draining"})
"""Fields that are somebody's doing of the moment."""


class Report(NamedTuple):
    """What a load has to tell."""

    differences: list[str]
    notes: list[str]
    """What isn't refused, but probably not meant."""


def load(document: Document, dry_run: bool = False) -> Report:
    """Replace each pool of the file, upsert its classes, and leave all else.

    1. Hold off other edits.
    2. Write what differs.
    3. Check every pool as a whole: those of the file fully, others for new faults.

    Raises `PolicyFileError`, nothing written.
    """
    with transaction.atomic():
        hold_policy()
        before = stored_problems()
        since = high_water()
        Loading().apply(document)
        _check(document, {slug: before[slug] for slug in before if slug not in document.pools})
        report = Report(told(entries(since())), list(_notes()))
        if dry_run:
            transaction.set_rollback(True)
    return report


class Loading:
    """One load under way."""

    def __init__(self) -> None:
        self.classes: dict[str, WorkloadClass] = {}

    def apply(self, document: Document) -> None:
        """Classes first, since pools refer to them."""
        self.classes = {row.slug: row for row in WorkloadClass.objects.all()}
        _refuse_unknown_classes(document, self.classes.keys() | document.classes.keys())
        for slug, row in document.classes.items():
            stored = self.classes.get(slug)
            self.classes[slug] = self._write(rows.WORKLOAD_CLASS, stored, row)
        for pool_rows in document.pools.values():
            self._replace_pool(pool_rows)

    def _replace_pool(self, wanted: PoolRows) -> None:
        stored_pool = Pool.objects.filter(slug=wanted.pool.instance.slug).first()
        limits = {_limit_key(row): row for row in _replaced_limits(stored_pool, wanted)}
        untagged = _untagged(wanted)
        pool = self._write(
            rows.POOL,
            stored_pool,
            wanted.pool,
            untagged_class=self.classes[untagged[0]] if untagged else None,
        )
        for row in wanted.limits:
            self._write(rows.LIMIT, limits.pop(_limit_key(row.instance), None), row, pool=pool)
        reservations = {
            row.workload_class.slug: row
            for row in Reservation.objects.filter(pool=pool).select_related("workload_class")
        }
        for owner, row in wanted.reservations.items():
            stored = reservations.pop(owner, None)
            owner_class = self.classes[owner]
            self._write(rows.RESERVATION, stored, row, pool=pool, workload_class=owner_class)
        for left_out in (*limits.values(), *reservations.values()):
            left_out.delete()

    def _write(self, kind: Kind, stored: Any, row: Row, **related: Any) -> Any:
        """Save the row of the file over the stored one, if they differ."""
        for name, value in related.items():
            setattr(row.instance, name, value)
        if stored is None:
            row.instance.save()
            return row.instance
        edited = [name for name in kind.words if name not in _left(row)]
        if any(getattr(stored, name) != getattr(row.instance, name) for name in edited):
            for name in edited:
                setattr(stored, name, getattr(row.instance, name))
            stored.save()
        return stored


def _left(row: Row) -> frozenset[str]:
    """Fields that a file leaves as they are by not speaking of them."""
    left = STATE - row.given.keys()
    if isinstance(row.instance, Pool) and not row.instance.batch:
        return left | {f"batch_{name}" for name in BATCH_FIELDS}
    return left


def _replaced_limits(stored: Pool | None, wanted: PoolRows) -> Iterable[Limit]:
    """The stored limits that the file's take the place of.

    Those of a batch endpoint that was off and stays off have no effect, and no file can
    tell them, so they are left too.
    """
    limits = Limit.objects.filter(pool=stored)
    off = stored is not None and not (stored.batch or wanted.pool.instance.batch)
    return limits.filter(of_batch=False) if off else limits


def _limit_key(row: Limit) -> tuple[bool, str, str]:
    return row.of_batch, row.unit, row.algorithm


def _references(pool: PoolRows) -> Iterator[tuple[str, Tree]]:
    yield from ((owner, row.place) for owner, row in pool.reservations.items())
    untagged = _untagged(pool)
    if untagged:
        yield untagged


def _untagged(pool: PoolRows) -> tuple[str, Tree] | None:
    """The class that takes untagged calls and where the file says so."""
    place = pool.untagged
    if place is None or place.is_null or place.text() == NO_CLASS:
        return None
    return place.text(), place


def _refuse_unknown_classes(document: Document, known: set[str]) -> None:
    message = "There is no class {}. Add it to workload_classes, or use one of: {}."
    faults = [
        Fault(place.line, place.path, message.format(slug, ", ".join(sorted(known)) or "none yet"))
        for pool in document.pools.values()
        for slug, place in _references(pool)
        if slug not in known
    ]
    if faults:
        raise PolicyFileError(faults)


def _check(document: Document, before: dict[str, Any]) -> None:
    faults = []
    for slug, found in new_problems(before).items():
        for problem in found:
            place = _place(document, slug, problem.owner, problem.field)
            about = "" if slug in document.pools else f"Pool {slug}, not in this file: "
            faults.append(Fault(place.line, place.path, about + problem.message))
    if faults:
        raise PolicyFileError(faults)


def _notes() -> Iterator[str]:
    """About every pool: a class of the file may be the last that used another's endpoint."""
    for pool in Pool.objects.select_related("untagged_class"):
        yield from (f"pool {pool}: {note}" for note in endpoint_notes(stored_terms(pool)))


def _place(document: Document, pool: str, owner: str, field: str) -> Tree:
    """Where a fault is best mended: in the pool's own rows, or else at the class."""
    if pool in document.pools:
        return document.pools[pool].place_of(owner, field)
    row = document.classes.get(owner) or next(iter(document.classes.values()))
    return row.place.under(field)
