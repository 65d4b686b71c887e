"""The policy's rows: read once for each version, and never out of date."""

from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.http import Http404

from budget.dashboard.policy_rows import policy_rows
from budget.models import Limit, Pool, Reservation, WorkloadClass
from tests.policies import small_pool

pytestmark = pytest.mark.django_db


def raw(statement: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement)


def told(slug: str = "small") -> Any:
    """All that pages read of it."""
    pool, classes = policy_rows(slug)
    return (
        (pool.mode, pool.paused),
        [(str(row), row.amount) for row in pool.limits.all()],
        [(row.workload_class.slug, row.share_percent) for row in pool.reservations.all()],
        [(row.slug, row.tier, row.paused) for row in classes],
    )


def test_a_version_is_read_once(django_assert_num_queries: Any) -> None:
    small_pool()
    first = told()
    with django_assert_num_queries(1):
        assert told() == first


@pytest.mark.parametrize(
    "edit",
    [
        lambda: Pool.objects.update(mode="observe"),
        lambda: Pool.objects.update(paused=True),
        lambda: Limit.objects.update(amount=900),
        lambda: Limit.objects.all().delete(),
        lambda: Reservation.objects.update(share_percent=41),
        lambda: Reservation.objects.all().delete(),
        lambda: WorkloadClass.objects.update(paused=True),
        lambda: WorkloadClass.objects.create(slug="new", tier="bulk", deadline_seconds=60),
        lambda: raw("UPDATE budget_reservation SET share_percent = 42"),
    ],
)
def test_a_change_by_any_route_is_seen_at_once(edit: Callable[[], Any]) -> None:
    small_pool()
    before = told()
    edit()
    changed = told()
    assert changed != before
    assert told() == changed


def test_one_pool_is_not_another() -> None:
    small_pool()
    small_pool("other")
    Limit.objects.filter(pool__slug="other").update(amount=5)
    assert (told()[1][0][1], told("other")[1][0][1]) == (600, 5)


def test_a_pool_that_is_gone_or_made_again_is_not_taken_for_what_it_was() -> None:
    small_pool().delete()
    with pytest.raises(Http404):
        policy_rows("small")
    made_again = small_pool()
    assert policy_rows("small").pool.pk == made_again.pk
