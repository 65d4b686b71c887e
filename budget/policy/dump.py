"""The stored policy as a policy file."""

from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any

import yaml
from django.db import models

from budget.models import Limit, Pool, WorkloadClass
from budget.policy.document import (
    BATCH_FIELDS,
    CLASS_FIELDS,
    LIMIT_FIELDS,
    NO_CLASS,
    POOL_FIELDS,
    RESERVATION_FIELDS,
)
from budget.policy.rows import LIMIT

UNUSED = {"gauge": ("per_seconds", "burst_percent"), "sliding_window": ("burst_percent",)}
"""Fields that an algorithm ignores."""


class Flow(dict[str, Any]):
    """A mapping written on one line."""


class PolicyDumper(yaml.SafeDumper):
    """Writes rows on one line each, without aliases."""

    def ignore_aliases(self, data: Any) -> bool:
        """Values are written out wherever they stand."""
        return True


PolicyDumper.add_representer(
    Flow, lambda dumper, data: dumper.represent_mapping("tag:yaml.org,2002:map", data, True)
)
PolicyDumper.add_representer(
    Decimal,
    lambda dumper, value: dumper.represent_scalar(
        f"tag:yaml.org,2002:{'int' if value == value.to_integral_value() else 'float'}",
        format(value.normalize(), "f"),
    ),
)


def dump() -> str:
    """All classes and pools; loading it again changes nothing."""
    classes = WorkloadClass.objects.all()
    pools = Pool.objects.select_related("untagged_class")
    policy = {
        "workload_classes": {row.slug: _fields(row, CLASS_FIELDS) for row in classes},
        "pools": {row.slug: _pool(row, classes) for row in pools},
    }
    return yaml.dump(policy, Dumper=PolicyDumper, sort_keys=False, width=200, allow_unicode=True)


def _pool(pool: Pool, classes: Iterable[WorkloadClass]) -> dict[str, Any]:
    strategies = pool.strategies
    same = len(set(strategies.values())) == 1
    limits = list(pool.limits.all())
    reservations = {row.workload_class_id: row for row in pool.reservations.all()}
    return {
        **_fields(pool, POOL_FIELDS),
        "untagged": pool.untagged_class.slug if pool.untagged_class else NO_CLASS,
        "strategy": strategies["interactive"] if same else Flow(**strategies),
        "limits": [_limit(limit) for limit in limits if not limit.of_batch],
        **_batch(pool, limits),
        "reservations": {
            row.slug: _fields(reservations[row.pk], RESERVATION_FIELDS)
            for row in classes
            if row.pk in reservations
        },
    }


def _batch(pool: Pool, limits: Iterable[Limit]) -> dict[str, Any]:
    """Nothing without a batch endpoint: what is stored of one has no effect then."""
    if not pool.batch:
        return {}
    fields = {name: getattr(pool, f"batch_{name}") for name in BATCH_FIELDS}
    return {"batch": fields | {"limits": [_limit(limit) for limit in limits if limit.of_batch]}}


def _limit(row: Limit) -> Flow:
    """A limit without the defaults that its algorithm doesn't use."""
    unused = UNUSED.get(row.algorithm, ())
    return Flow(
        {
            name: value
            for name, value in _fields(row, LIMIT_FIELDS).items()
            if name not in unused or value != LIMIT.default(name)
        }
    )


def _fields(row: models.Model, fields: Mapping[str, Any]) -> Flow:
    """The fields that hold something; empty ones and an unset pause mean their default."""
    values = {name: getattr(row, name) for name in fields}
    return Flow(
        {
            name: value
            for name, value in values.items()
            if value not in (None, "", []) and value is not False
        }
    )
