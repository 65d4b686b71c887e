"""The policy file as rows: unsaved model instances, each with the place it came from."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from django.core.exceptions import ValidationError
from django.db import models

from budget.models import Limit, Pool, Reservation, WorkloadClass
from budget.policy.yaml_tree import Fault, PolicyFileError, Tree, read_tree
from budget.rule.terms import TIERS

Reader = Callable[[Tree], Any]

NO_CLASS = "shed"
"""What `untagged` says when no class takes untagged calls."""

CLASS_FIELDS: dict[str, Reader] = {
    "tier": Tree.text,
    "deadline_seconds": Tree.whole,
    "max_call_seconds": Tree.whole,
    "max_call_tokens": Tree.whole,
    "when_unavailable": Tree.text,
    "queue_limit": Tree.whole,
    "queue_tokens": Tree.whole,
    "max_attempts": Tree.whole,
    "paused": Tree.flag,
    "draining": Tree.flag,
}
POOL_FIELDS: dict[str, Reader] = {
    "provider": Tree.text,
    "mode": Tree.text,
    "paused": Tree.flag,
    "base_url": Tree.text,
}
BATCH_FIELDS: dict[str, Reader] = {
    "max_requests": Tree.whole,
    "max_bytes": Tree.whole,
    "collect_seconds": Tree.whole,
    "window_hours": Tree.whole,
}
"""What stands under `batch`; a pool's fields of these names begin with `batch_`."""
LIMIT_FIELDS: dict[str, Reader] = {
    "unit": Tree.text,
    "algorithm": Tree.text,
    "amount": Tree.whole,
    "per_seconds": Tree.whole,
    "burst_percent": Tree.number,
}
RESERVATION_FIELDS: dict[str, Reader] = {
    "share_percent": Tree.number,
    "lendable_percent": Tree.number,
    "headroom_percent": Tree.number,
    "ceiling_percent": Tree.number,
    "weight": Tree.number,
    "yields_above_percent": Tree.number,
    "except_limits": lambda tree: [item.text() for item in tree.items()],
}


@dataclass
class Row:
    """One row of the file; `given` are the fields it names, each with its place."""

    instance: Any
    place: Tree
    given: dict[str, Tree]


@dataclass
class PoolRows:
    """One pool of the file with all that belongs to it."""

    pool: Row
    untagged: Tree | None = None
    limits: list[Row] = field(default_factory=list)
    reservations: dict[str, Row] = field(default_factory=dict)
    """By slug of the class."""

    def place_of(self, owner: str, field_name: str) -> Tree:
        """Where a fault of the class `owner`, or of the whole pool, is best mended."""
        if field_name in self.pool.given:
            return self.pool.given[field_name]
        if owner in self.reservations:
            row = self.reservations[owner]
            return row.given.get(field_name) or row.place.under(field_name)
        return self.pool.given.get("reservations", self.pool.place).under(field_name)


@dataclass
class Document:
    """A whole policy file."""

    classes: dict[str, Row] = field(default_factory=dict)
    pools: dict[str, PoolRows] = field(default_factory=dict)


def read_document(data: bytes) -> Document:
    """Read a policy file, every value checked for itself.

    Raises `PolicyFileError` naming line and field of all that is wrong.
    """
    reading = Reading()
    document = reading.document(read_tree(data))
    if reading.faults:
        raise PolicyFileError(reading.faults)
    return document


class Reading:
    """Reads on after a fault, so that one run names them all."""

    def __init__(self) -> None:
        self.faults: list[Fault] = []

    def document(self, root: Tree) -> Document:
        """Both sections of the file."""
        sections = self._known(root, ["workload_classes", "pools"])
        document = Document()
        if "workload_classes" in sections:
            for slug, tree in self._entries(sections["workload_classes"]):
                document.classes[slug] = self._class(slug, tree)
        if "pools" in sections:
            for slug, tree in self._entries(sections["pools"]):
                document.pools[slug] = self._pool(slug, tree)
        return document

    def _class(self, slug: str, tree: Tree) -> Row:
        return self._row(WorkloadClass(slug=slug), tree, CLASS_FIELDS)

    def _pool(self, slug: str, tree: Tree) -> PoolRows:
        extra = ["untagged", "strategy", "limits", "batch", "reservations"]
        row = self._row(Pool(slug=slug), tree, POOL_FIELDS, extra)
        rows = PoolRows(row)
        if "untagged" in row.given:
            rows.untagged = row.given["untagged"]
        if "strategy" in row.given:
            self._strategy(row, row.given["strategy"])
        if "limits" in row.given:
            rows.limits = self._limits(row.given["limits"])
        if "batch" in row.given and not row.given["batch"].is_null:
            rows.limits += self._batch(row, row.given["batch"])
        if "reservations" in row.given:
            for owner, place in self._entries(row.given["reservations"]):
                rows.reservations[owner] = self._row(Reservation(), place, RESERVATION_FIELDS)
        return rows

    def _strategy(self, row: Row, tree: Tree) -> None:
        names = self._known(tree, TIERS) if tree.is_mapping else dict.fromkeys(TIERS, tree)
        for tier, place in names.items():
            self._set(row, f"{tier}_strategy", place, Tree.text)
        self._check(row, {f"{tier}_strategy": place for tier, place in names.items()})

    def _batch(self, row: Row, tree: Tree) -> list[Row]:
        """Turn the batch endpoint on, as it is described; gives its limits."""
        known = self._known(tree, [*BATCH_FIELDS, "limits"])
        places = {f"batch_{name}": known.get(name, tree) for name in BATCH_FIELDS}
        row.instance.batch = True
        row.given |= {f"batch_{name}": known[name] for name in BATCH_FIELDS if name in known}
        for name, read in BATCH_FIELDS.items():
            if name in known and not known[name].is_null:
                self._set(row, f"batch_{name}", known[name], read)
        self._check(row, places)
        return self._limits(known["limits"], of_batch=True) if "limits" in known else []

    def _limits(self, tree: Tree, of_batch: bool = False) -> list[Row]:
        rows: dict[str, Row] = {}
        for place in self._guard(tree.items):
            row = self._row(Limit(of_batch=of_batch), place, LIMIT_FIELDS)
            name = f"{row.instance.unit}/{row.instance.algorithm}"
            if name in rows:
                first = rows[name].place.line
                self._fault(place, f"Limit {name} stands on line {first} already. Keep one.")
            rows[name] = row
        return list(rows.values())

    def _row(
        self, instance: models.Model, tree: Tree, fields: dict[str, Reader], extra: Any = ()
    ) -> Row:
        row = Row(instance, tree, self._known(tree, [*fields, *extra]))
        faults = len(self.faults)
        for name, read in fields.items():
            if name in row.given and not row.given[name].is_null:
                self._set(row, name, row.given[name], read)
        if len(self.faults) == faults:
            places = {name: row.given.get(name, tree) for name in fields}
            self._check(row, places | {"slug": tree})
        return row

    def _set(self, row: Row, name: str, place: Tree, read: Reader) -> None:
        try:
            setattr(row.instance, name, read(place))
        except PolicyFileError as error:
            self.faults += error.faults

    def _check(self, row: Row, places: dict[str, Tree]) -> None:
        """Ranges, choices and what must suit each other, as the model states them."""
        others = {f.name for f in row.instance._meta.fields} - set(places)
        try:
            row.instance.clean_fields(exclude=others)
            row.instance.clean()
        except ValidationError as error:
            for name, messages in error.message_dict.items():
                missing = places[name] is row.place and name != "slug"
                for message in messages:
                    advice = _mended(row.instance, name, message)
                    self._fault(places[name], advice, name if missing else "")

    def _known(self, tree: Tree, names: Any) -> dict[str, Tree]:
        known = {}
        for name, value in self._entries(tree):
            if name in names:
                known[name] = value
            else:
                self._fault(value, f"Unknown field. Known here: {', '.join(names)}.")
        return known

    def _entries(self, tree: Tree) -> Iterator[tuple[str, Tree]]:
        return self._guard(tree.entries)

    def _guard(self, read: Callable[[], Iterator[Any]]) -> Iterator[Any]:
        try:
            yield from read()
        except PolicyFileError as error:
            self.faults += error.faults

    def _fault(self, place: Tree, message: str, name: str = "") -> None:
        path = f"{place.path}.{name}" if name else place.path
        fault = Fault(place.line, path, message)
        if fault not in self.faults:
            self.faults.append(fault)


def _mended(instance: models.Model, name: str, message: str) -> str:
    """What to do about a model's complaint."""
    model_field: Any = instance._meta.get_field(name)
    missing = name != "slug" and model_field.value_from_object(instance) in (None, "")
    choices = ", ".join(value for value, _ in model_field.flatchoices if value)
    if choices:
        expected = f"one of {choices}" if "," in choices else choices
        return f"{'Missing. ' if missing else ''}Expected {expected}."
    return f"Missing. {model_field.help_text}" if missing else message
