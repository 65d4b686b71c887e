"""The pool form: where jobs go, checked at the field that says so."""

from typing import Any

import pytest
from django.test import Client

from budget.admin.forms import PoolForm, WorkloadClassForm
from budget.models import Limit, Pool, WorkloadClass
from budget.policy.history import fingerprint
from tests.admin.conftest import opened, pool_url

pytestmark = pytest.mark.django_db


def edited(form: Any, row: Any, **changes: Any) -> Any:
    """The form over a stored row, posted with changes."""
    row.seen = fingerprint(form.scope(row.pk))
    unbound = form(instance=row)
    fields = {bound.name: bound.value() for bound in unbound if bound.value() is not None}
    return form(fields | {"reason": "try"} | changes, instance=row)


def test_a_batch_endpoint_is_turned_on_for_a_provider_that_has_one(claims: Pool) -> None:
    form = edited(PoolForm, claims, batch=True, base_url="https://gateway.internal/v1")
    assert form.is_valid(), form.errors


@pytest.mark.parametrize(
    ("changes", "field", "says"),
    [
        ({"provider": "azure", "batch": True}, "batch", "no batch endpoint here for azure"),
        (
            {"provider": "openai", "batch": True, "batch_max_requests": 50_001},
            "batch_max_requests",
            "openai takes at most 50,000 requests",
        ),
        (
            {"provider": "openai", "batch": True, "batch_max_bytes": 256_000_000},
            "batch_max_bytes",
            "openai takes at most 200,000,000 bytes",
        ),
        ({"base_url": "gateway"}, "base_url", "Write scheme, host and path alone"),
        ({"base_url": "https://evil.example"}, "base_url", "may not be sent to evil.example"),
    ],
)
def test_what_cannot_work_stands_at_its_field(
    claims: Pool, settings: Any, changes: dict[str, Any], field: str, says: str
) -> None:
    settings.BUDGET_PROVIDER_HOSTS = ["gateway.internal"]
    form = edited(PoolForm, claims, **changes)
    assert list(form.errors) == [field]
    assert says in str(form.errors[field])


def test_a_batch_limit_too_small_for_a_bulk_class_is_refused(editor: Client, claims: Pool) -> None:
    Pool.objects.update(batch=True)
    Limit.objects.create(
        pool=claims, unit="total_tokens", algorithm="gauge", amount=900_000, of_batch=True
    )
    fields = opened(editor, pool_url(claims))
    (amount,) = [name for name, value in fields.items() if value == 900_000]
    answer = editor.post(pool_url(claims), fields | {amount: "9000", "reason": "try"})
    (error,) = answer.context["errors"]
    assert "batch endpoint's total_tokens/gauge the largest that fits of nightly" in error


def test_a_limit_stands_once_for_calls_and_once_for_the_batch_endpoint(
    editor: Client, claims: Pool
) -> None:
    Pool.objects.update(batch=True)
    Limit.objects.create(pool=claims, unit="requests", algorithm="gauge", amount=9, of_batch=True)
    fields = opened(editor, pool_url(claims)) | {"reason": "try"}
    assert editor.post(pool_url(claims), fields).status_code == 302
    (of_batch,) = [name for name in fields if name.endswith("-of_batch")]
    answer = editor.post(pool_url(claims), {k: v for k, v in fields.items() if k != of_batch})
    page = answer.content.decode()
    assert "duplicate data for batch endpoint, unit and algorithm" in page
    assert Limit.objects.filter(of_batch=True).count() == 1


def test_a_batch_endpoint_nobody_can_use_is_noted_on_the_page(viewer: Client, claims: Pool) -> None:
    note = "Note: no bulk class has a deadline beyond the batch window of 24 h"
    assert note not in viewer.get(pool_url(claims)).content.decode()
    Pool.objects.update(batch=True)
    assert note in viewer.get(pool_url(claims)).content.decode()
    WorkloadClass.objects.filter(slug="nightly").update(deadline_seconds=24 * 3600 + 1)
    assert note not in viewer.get(pool_url(claims)).content.decode()


def test_a_fault_of_the_endpoint_is_told_once(editor: Client, claims: Pool) -> None:
    Pool.objects.update(batch=True, provider="azure")
    fields = opened(editor, pool_url(claims))
    answer = editor.post(pool_url(claims), fields | {"reason": "try"})
    assert answer.content.decode().count("no batch endpoint here for azure") == 1


def test_a_bulk_class_that_outgrows_a_batch_endpoint_is_refused_at_its_largest_call(
    claims: Pool,
) -> None:
    Pool.objects.update(batch=True)
    Limit.objects.create(
        pool=claims, unit="total_tokens", algorithm="gauge", amount=20_000, of_batch=True
    )
    nightly = WorkloadClass.objects.get(slug="nightly")
    form = edited(WorkloadClassForm, nightly, max_call_tokens=20_001)
    (error,) = form.errors["max_call_tokens"]
    assert error.startswith("Pool claims: On the batch endpoint's total_tokens/gauge")
