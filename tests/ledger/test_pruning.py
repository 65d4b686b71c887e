"""Old calls are forgotten; balances are not."""

from datetime import timedelta

import pytest
from django.core.management import call_command
from django.db.models import F

from budget.models import Call, PoolState
from tests.ledger.pools import admit, available, make_pool, settle

pytestmark = pytest.mark.usefixtures("classes")

WINDOW = {"unit": "requests", "algorithm": "gauge", "amount": 5}


def test_old_settled_calls_go_and_open_ones_and_the_balance_stay() -> None:
    make_pool(WINDOW)
    settle(admit().id, 1)
    admit()
    Call.objects.update(offered_at=F("offered_at") - timedelta(days=10))
    PoolState.objects.update(at=F("at") - timedelta(days=10))
    call_command("prune_calls", days=11)
    assert Call.objects.count() == 2
    call_command("prune_calls", days=9)
    assert [call.state for call in Call.objects.all()] == ["open"]
    assert PoolState.objects.count() == 1
    assert available() == 4
