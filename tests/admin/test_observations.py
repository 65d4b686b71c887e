"""What providers said, in the admin: what it changed, and where the policy is wrong."""

from datetime import UTC, datetime
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from budget.ledger.clock import micros
from budget.ledger.ids import new_id
from budget.models import Limit, Observation, Pool, ProviderLimit

pytestmark = pytest.mark.django_db

OBSERVATIONS = reverse("admin:budget_observation_changelist")
POOLS = reverse("admin:budget_pool_changelist")
AT = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


def observed(pool: Pool, **fields: Any) -> Observation:
    return Observation.objects.create(
        **{
            "id": new_id(pool.pk),
            "pool_id": pool.pk,
            "at": AT,
            "said_at": AT,
            "seq": 1,
            "position": 1,
            "readings": [],
            "tolerance": 0.1,
            "leaked": {},
            "backoff": {},
            **fields,
        }
    )


def says(pool: Pool, amount: int | None, **fields: Any) -> None:
    said = {"unit": "total_tokens", "per_seconds": 60, "seen_at": AT, "amount": amount}
    ProviderLimit.objects.create(pool_id=pool.pk, **said | fields)


def page(client: Client, address: str) -> str:
    answer = client.get(address)
    assert answer.status_code == 200
    return answer.content.decode()


def pool_page(pool: Pool) -> str:
    return reverse("admin:budget_pool_change", args=[pool.pk])


def test_what_changed_something_is_listed(viewer: Client, claims: Pool) -> None:
    observed(claims, leaked={"total_tokens": 40_000}, key_prefix="abcd1234")
    until = micros(AT) + 5_000_000
    observed(claims, refusal="busy", wait_seconds=5.0, backoff={"nightly": until})
    observed(claims, refusal="money")
    html = page(viewer, OBSERVATIONS)
    for words in ("40,000 total tokens", "abcd1234", "busy, wait 5 s", "nightly 12:00:05"):
        assert words in html
    assert "spend cap reached" in html
    leaks = page(viewer, f"{OBSERVATIONS}?leak=yes")
    assert "40,000 total tokens" in leaks
    assert "busy, wait" not in leaks
    assert "40,000 total tokens" not in page(viewer, f"{OBSERVATIONS}?leak=no")


def test_one_has_a_page(viewer: Client, claims: Pool) -> None:
    row = observed(claims, leaked={"requests": 3})
    html = page(viewer, reverse("admin:budget_observation_change", args=[row.pk]))
    assert "3 requests" in html
    assert "2026-03-01 12:00:00" in html


def test_a_limit_that_the_provider_tells_otherwise_is_flagged(viewer: Client, claims: Pool) -> None:
    says(claims, 200_000)
    html = page(viewer, pool_page(claims))
    assert (
        "The provider allows 200,000 total tokens a minute, and the policy 400,000. "
        "It will refuse calls that are admitted here." in html
    )
    assert "1 Mar 2026, 12:00:00" in html
    assert "200,000 total tokens a minute" in page(viewer, POOLS)


@pytest.mark.parametrize(
    ("amount", "fields"),
    [
        (400_000, {}),
        (404_000, {}),
        (396_000, {}),
        (None, {}),
        (1, {"unit": "output_tokens"}),
        (5_000, {"unit": "requests", "per_seconds": 86_400}),
    ],
)
def test_what_agrees_or_cannot_be_compared_is_not(
    amount: int | None, fields: dict[str, Any], viewer: Client, claims: Pool
) -> None:
    says(claims, amount, **fields)
    assert "The provider allows" not in page(viewer, pool_page(claims))
    assert "budget-differs" not in page(viewer, POOLS)


def test_periods_are_normalised(viewer: Client, claims: Pool) -> None:
    Limit.objects.filter(pool=claims, unit="total_tokens").update(amount=40_000, per_seconds=6)
    says(claims, 400_000)
    assert "The provider allows" not in page(viewer, pool_page(claims))
    ProviderLimit.objects.update(amount=500_000)
    assert "What it allows beyond that is not used." in page(viewer, pool_page(claims))
