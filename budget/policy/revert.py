"""Undoing one remembered change, checked and remembered like any other edit."""

from typing import Any, NamedTuple

from django.core.exceptions import ValidationError
from django.db import IntegrityError, models, transaction

from budget.policy.history import Change, Entry, entries, high_water, told
from budget.policy.rows import LIMIT, POLICY, RESERVATION, Kind
from budget.policy.stored import check_deferred, hold_policy, new_problems, stored_problems


class RevertError(Exception):
    """The change can't be undone; `messages` say why."""

    def __init__(self, messages: list[str]) -> None:
        self.messages = messages
        super().__init__("\n".join(messages))


class Undo(NamedTuple):
    """What a change did to one row, seen from its two ends."""

    kind: Kind
    pk: Any
    before: Any
    """The event that shows the row as it was; None if the change added it."""
    after: Any
    """The event that shows what became of it; None if the change removed it."""


def revert(change: Change, dry_run: bool = False) -> list[str]:
    """Undo what the change did, keeping later edits of other rows and fields.

    1. Remove the limits and reservations it added.
    2. Restore what it edited or removed, referred-to rows first.
    3. Remove the pools and classes it added.
    4. Check rows, pools and constraints as on any save.

    Returns what that amounts to, in words; with `dry_run` nothing stays written.
    Raises `RevertError`.
    """
    try:
        with transaction.atomic():
            hold_policy()
            before = stored_problems()
            since = high_water()
            _undo(_undos(change))
            _refuse(new_problems(before))
            check_deferred()
            report = told(entries(since()))
            if dry_run:
                transaction.set_rollback(True)
    except ValidationError as error:
        raise RevertError(error.messages) from None
    except (models.ProtectedError, IntegrityError) as error:
        raise RevertError([str(error).splitlines()[0]]) from None
    return report


def _undos(change: Change) -> list[Undo]:
    """One per row, whatever happened to it in between."""
    ends: dict[tuple[Kind, Any], list[Entry]] = {}
    for entry in change.entries:
        if entry.kind in POLICY:
            ends.setdefault((entry.kind, entry.event.pgh_obj_id), []).append(entry)
    return [Undo(kind, pk, _start(own[0]), _end(own[-1])) for (kind, pk), own in ends.items()]


def _start(entry: Entry) -> Any:
    if entry.event.pgh_label == "delete":
        return entry.event
    if entry.event.pgh_label == "update" and entry.before is None:
        raise RevertError(["The history doesn't reach back to what was before."])
    return entry.before


def _end(entry: Entry) -> Any:
    return None if entry.event.pgh_label == "delete" else entry.event


def _undo(undos: list[Undo]) -> None:
    added = [undo for undo in undos if undo.before is None]
    _remove([undo for undo in added if undo.kind in (LIMIT, RESERVATION)])
    for kind in POLICY:
        for undo in undos:
            if undo.kind is kind and undo.before is not None:
                _restore(undo)
    _remove([undo for undo in added if undo.kind not in (LIMIT, RESERVATION)])


def _remove(undos: list[Undo]) -> None:
    for undo in undos:
        for row in undo.kind.model._default_manager.filter(pk=undo.pk):
            row.delete()


def _restore(undo: Undo) -> None:
    model = undo.kind.model
    columns = [field.attname for field in model._meta.concrete_fields]
    row = model._default_manager.filter(pk=undo.pk).first()
    if row is None:
        if undo.after is not None:
            raise RevertError([f"The {model._meta.verbose_name} was removed since."])
        row = model(**{column: getattr(undo.before, column) for column in columns})
        row.save(force_insert=True)
        return
    for column in columns:
        value = getattr(undo.before, column)
        if undo.after is None or value != getattr(undo.after, column):
            setattr(row, column, value)
    row.save()


def _refuse(problems: dict[str, list[Any]]) -> None:
    messages = [
        f"Pool {slug}: {problem.message}" for slug, found in problems.items() for problem in found
    ]
    if messages:
        raise RevertError(messages)
