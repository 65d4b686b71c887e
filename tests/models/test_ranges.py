"""Ranges hold in the model and in the database."""

from decimal import Decimal
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.db import IntegrityError, connection, transaction

from budget.models import Limit, Pool, Reservation, WorkloadClass
from tests.policies import small_pool

pytestmark = pytest.mark.django_db

WRONG = [
    (Limit, "amount", 0),
    (Limit, "amount", -5),
    (Limit, "per_seconds", 0),
    (Limit, "burst_percent", Decimal("0.5")),
    (Limit, "unit", "words"),
    (Limit, "algorithm", "leaky_bucket"),
    (Pool, "mode", "sometimes"),
    (Pool, "provider", "nobody"),
    (Pool, "bulk_strategy", "dynamic"),
    (Pool, "batch_max_requests", 0),
    (Pool, "batch_max_requests", 100_001),
    (Pool, "batch_max_bytes", 1023),
    (Pool, "batch_max_bytes", 256_000_001),
    (Pool, "batch_collect_seconds", 86_401),
    (Pool, "batch_window_hours", 0),
    (Pool, "batch_window_hours", 169),
    (WorkloadClass, "tier", "urgent"),
    (WorkloadClass, "deadline_seconds", 0),
    (WorkloadClass, "deadline_seconds", 604_801),
    (WorkloadClass, "max_call_tokens", 0),
    (WorkloadClass, "when_unavailable", "pray"),
    (Reservation, "share_percent", Decimal("100.01")),
    (Reservation, "share_percent", Decimal("-0.01")),
    (Reservation, "lendable_percent", Decimal(101)),
    (Reservation, "ceiling_percent", Decimal(0)),
    (Reservation, "yields_above_percent", Decimal(0)),
    (Reservation, "weight", Decimal(0)),
]


@pytest.mark.parametrize(("model", "field", "value"), WRONG)
def test_save_names_the_field(model: Any, field: str, value: Any) -> None:
    small_pool()
    row = model.objects.get()
    setattr(row, field, value)
    with pytest.raises(ValidationError) as refused:
        row.save()
    assert field in refused.value.message_dict


@pytest.mark.parametrize(("model", "field", "value"), WRONG)
def test_the_database_refuses_what_goes_past_the_model(model: Any, field: str, value: Any) -> None:
    small_pool()
    with pytest.raises(IntegrityError), transaction.atomic():
        model.objects.update(**{field: value})


@pytest.mark.parametrize("field", ["share_percent", "weight"])
def test_nan_is_no_number(field: str) -> None:
    small_pool()
    row = Reservation.objects.get()
    setattr(row, field, Decimal("NaN"))
    with pytest.raises(ValidationError):
        row.save()
    with pytest.raises(IntegrityError), transaction.atomic():
        connection.cursor().execute(f"UPDATE budget_reservation SET {field} = 'NaN'")


def test_no_class_is_called_shed() -> None:
    with pytest.raises(ValidationError, match="no class"):
        WorkloadClass.objects.create(slug="shed", tier="bulk", deadline_seconds=60)
