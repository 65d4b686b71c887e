"""Looking at a pool: cheap while its policy stands, and never by an old one."""

from typing import Any

import pytest

from budget import services
from budget.ledger.errors import UnknownPool
from budget.ledger.view import look
from budget.models import Pool, Reservation
from tests.ledger.pools import admit, make_pool

pytestmark = pytest.mark.usefixtures("classes")


def share() -> float:
    (limit,) = services.pool_view("claims")["limits"]
    return limit["floors"]["adjuster"]["share_percent"]


def test_a_policy_is_read_once_for_each_version(django_assert_num_queries: Any) -> None:
    pool = make_pool(shares={"adjuster": 40})
    look(pool.pk)
    with django_assert_num_queries(1):
        look(pool.pk)


@pytest.mark.parametrize("called", [False, True])
def test_an_edit_is_seen_by_the_next_look(called: bool) -> None:
    make_pool(shares={"adjuster": 40})
    if called:
        admit()
    version = services.pool_view("claims")["policy_version"]
    assert share() == pytest.approx(40)
    Reservation.objects.update(share_percent=60)
    assert share() == pytest.approx(60)
    assert services.pool_view("claims")["policy_version"] > version


def test_a_deleted_pool_is_gone_at_once() -> None:
    pool = make_pool()
    look(pool.pk)
    Pool.objects.filter(pk=pool.pk).delete()
    with pytest.raises(UnknownPool, match="gone"):
        look(pool.pk)
