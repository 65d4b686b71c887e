"""A provider whose limits differ from the policy says so on the pages."""

from datetime import UTC, datetime

import pytest
from django.test import Client

from budget.models import Pool, ProviderLimit
from tests.admin.conftest import pool_url
from tests.dashboard.addresses import pool_page
from tests.dashboard.test_pool import opened

pytestmark = pytest.mark.django_db

BADGE = "provider limit differs"
SENTENCE = (
    "The provider allows 200,000 total tokens a minute, and the policy 400,000. "
    "It will refuse calls that are admitted here."
)


def say(pool: Pool, amount: int) -> None:
    """What the provider's headers said of total tokens a minute."""
    ProviderLimit.objects.create(
        pool_id=pool.pk,
        unit="total_tokens",
        amount=amount,
        per_seconds=60,
        seen_at=datetime.now(UTC),
    )


def test_the_pool_page_and_the_overview_say_so(
    viewer: Client, editor: Client, claims: Pool
) -> None:
    say(claims, 200_000)
    html = opened(viewer, pool_page()).html
    assert SENTENCE in html
    assert "Edit the policy" not in html
    assert f'{pool_url(claims)}">Edit the policy</a>' in opened(editor, pool_page()).html
    assert BADGE in opened(viewer, "/dashboard/").html


def test_one_that_agrees_has_no_place(viewer: Client, claims: Pool) -> None:
    say(claims, 400_000)
    assert "The provider allows" not in opened(viewer, pool_page()).html
    assert BADGE not in opened(viewer, "/dashboard/").html
