"""Undoing one remembered change, checked and remembered like any other edit."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from copy import copy
from typing import Any, NamedTuple

from django.core.exceptions import ValidationError
from django.db import IntegrityError, models, transaction
from django.db.models import Q

from budget.models import ApiKey, Pool
from budget.policy.history import Change, Entry, entries
from budget.policy.rows import (
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
from budget.policy.stored import check_deferred, hold_policy, new_problems, stored_problems

PARTS = {
    POOL: ((LIMIT, "pool"), (RESERVATION, "pool")),
    WORKLOAD_CLASS: ((RESERVATION, "workload_class"),),
}
"""What goes with a row when it is removed."""

RIGHTS = {
    WORKLOAD_CLASS: (KEY_CLASS, "workloadclass_id", "all_classes"),
    POOL: (KEY_POOL, "pool_id", "all_pools"),
}
"""What API keys are bound by: the kind of the binding, its column, and the switch instead."""


class RevertError(Exception):
    """The change can't be undone; `messages` say why."""

    def __init__(self, messages: list[str]) -> None:
        self.messages = messages
        super().__init__("\n".join(messages))


class Step(NamedTuple):
    """What undoing a change does to one row."""

    kind: Kind
    now: Any
    """The stored row; None if it is to be added."""
    then: Any
    """The row as it will be; None if it is to be removed."""

    @property
    def permission(self) -> str:
        """What it takes to do the same by hand, such as `budget.add_pool`."""
        verb = "add" if self.now is None else "delete" if self.then is None else "change"
        return f"budget.{verb}_{self.kind.label}"


May = Callable[[Iterable[str]], bool]
"""Whether somebody has all of these permissions."""


def plan(change: Change) -> list[Step]:
    """What it takes to undo the change now, keeping later edits of other rows and fields.

    A class or pool that comes back gets back the API keys that were bound to it, whoever
    may edit keys: the change took that right along.

    Writes nothing. Empty if everything stands as before the change. Raises `RevertError`
    if a row that it edited or needs was removed since, or its slug was taken.
    """
    found = {(step.kind, _pk(step)): step for undo in _undos(change) for step in _steps(undo)}
    steps = [step for kind in POLICY for step in found.values() if step.kind is kind]
    _refuse_stale(steps)
    return [*steps, *_rights(change, steps)]


def revert(change: Change, may: May) -> list[str]:
    """Undo the change.

    1. Hold off other edits, see what there is to do and whether its author may.
    2. Remove limits and reservations, write rows, referred-to ones first, remove the rest.
    3. Check rows, pools and constraints as on any save.

    Returns what was done, in words. Raises `RevertError`, nothing written.
    """
    try:
        with transaction.atomic():
            hold_policy()
            before = stored_problems()
            steps = plan(change)
            refuse_forbidden(steps, may)
            words = told(steps)
            _apply(steps)
            _refuse(new_problems(before))
            check_deferred()
    except ValidationError as error:
        raise RevertError(error.messages) from None
    except (models.ProtectedError, IntegrityError) as error:
        raise RevertError([str(error).splitlines()[0]]) from None
    return words


def _refuse_stale(steps: list[Step]) -> None:
    """Raise `RevertError` if a row would refer to one that is gone, or take another's slug."""
    slugs = Slugs.ever()
    back = {(step.kind.model, _pk(step)) for step in steps if step.then is not None}
    messages = []
    for kind, now, then in (step for step in steps if step.then is not None):
        for field in kind.model._meta.concrete_fields:
            model, value = field.related_model, getattr(then, field.attname)
            if model is None or value is None or (model, value) in back:
                continue
            if not model._default_manager.filter(pk=value).exists():
                gone = slugs.pools if model is Pool else slugs.classes
                noun = "pool" if model is Pool else "class"
                messages.append(f"{slugs.title(kind, then)}: {noun} {gone.get(value)} is gone.")
        if now is None and kind in (POOL, WORKLOAD_CLASS):
            taken = kind.model._default_manager.filter(slug=then.slug)
            if taken.exists():
                messages.append(f"There is a new {slugs.title(kind, then)} by now.")
    if messages:
        raise RevertError(messages)


def refuse_forbidden(steps: list[Step], may: May) -> None:
    """Raise `RevertError` unless the steps' permissions are given, each named that isn't."""
    needed = {step.permission for step in steps if step.kind in POLICY}
    lacking = sorted(permission for permission in needed if not may([permission]))
    if lacking:
        words = ", ".join(name.removeprefix("budget.").replace("_", " ") for name in lacking)
        raise RevertError([f"Undoing this takes rights you don't have: {words}."])


def told(steps: list[Step]) -> list[str]:
    """The steps in words, one line per edited field or added or removed row.

    API keys are counted, not named: not everybody who may edit the policy may see them.
    """
    slugs = Slugs.ever()
    lines = [line for step in steps if step.kind in POLICY for line in slugs.told(*step)]
    keys = Counter(slugs.right(step.kind, step.then) for step in steps if step.kind not in POLICY)
    return lines + [
        f"{count} API key{'s'[: count > 1]} may use {right} again" for right, count in keys.items()
    ]


class Undo(NamedTuple):
    """What a change did to one row, seen from its two ends."""

    kind: Kind
    pk: Any
    before: Any
    """The event that shows the row as it was; None if the change added it."""
    after: Any
    """The event that shows what became of it; None if the change removed it."""


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


def _steps(undo: Undo) -> Iterator[Step]:
    model = undo.kind.model
    now = model._default_manager.filter(pk=undo.pk).first()
    if undo.before is None:
        if now is not None:
            yield from _removals(undo.kind, now)
    elif now is not None:
        then = _restored(undo, now)
        if any(getattr(then, name) != getattr(now, name) for name in _columns(model)):
            yield Step(undo.kind, now, then)
    elif undo.after is not None:
        raise RevertError([f"The {model._meta.verbose_name} was removed since."])
    else:
        yield Step(undo.kind, None, _row(undo.kind, undo.before))


def _rights(change: Change, steps: list[Step]) -> Iterator[Step]:
    """The bindings that the change removed with classes or pools that now come back."""
    for owner, (kind, column, switch) in RIGHTS.items():
        back = [_pk(step) for step in steps if step.kind is owner and step.now is None]
        removed = Q(
            pgh_created_at=change.at,
            transaction=change.transaction,
            pgh_label="delete",
            **{f"{column}__in": back},
        )
        bindings = [entry.event for entry in entries({kind: removed})] if back else []
        keys = ApiKey.objects.filter(**{"revoked": False, switch: False}).in_bulk(
            [binding.apikey_id for binding in bindings]
        )
        for binding in bindings:
            if binding.apikey_id in keys:
                yield Step(kind, None, _row(kind, binding))


def _row(kind: Kind, event: Any) -> Any:
    """The row that an event shows, not saved."""
    return kind.model(**{name: getattr(event, name) for name in _columns(kind.model)})


def _removals(kind: Kind, row: Any) -> Iterator[Step]:
    yield Step(kind, row, None)
    for part, field in PARTS.get(kind, ()):
        for member in part.model._default_manager.filter(**{field: row}):
            yield Step(part, member, None)


def _restored(undo: Undo, now: Any) -> Any:
    """The row with what the change edited as it was before."""
    then = copy(now)
    for name in _columns(undo.kind.model):
        value = getattr(undo.before, name)
        if undo.after is None or value != getattr(undo.after, name):
            setattr(then, name, value)
    return then


def _columns(model: type[models.Model]) -> list[str]:
    return [field.attname for field in model._meta.concrete_fields]


def _pk(step: Step) -> Any:
    return (step.now or step.then).pk


def _apply(steps: list[Step]) -> None:
    removals = [step for step in steps if step.then is None]
    _remove([step for step in removals if step.kind in (LIMIT, RESERVATION)])
    for step in steps:
        if step.then is not None:
            step.then.save(force_insert=step.now is None)
    _remove([step for step in removals if step.kind not in (LIMIT, RESERVATION)])


def _remove(steps: list[Step]) -> None:
    for step in steps:
        step.now.delete()


def _refuse(problems: dict[str, list[Any]]) -> None:
    messages = [
        f"Pool {slug}: {problem.message}" for slug, found in problems.items() for problem in found
    ]
    if messages:
        raise RevertError(messages)
