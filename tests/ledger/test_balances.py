"""Stored balances that this version of the rule cannot read, or under a policy nobody knows."""

import logging
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest
from django.core.management import CommandError, call_command

from budget.ledger.balances import FORMAT
from budget.ledger.writers import stop_writers
from budget.models import Call, Limit, PolicyRevision, PoolState, WorkloadClass
from budget.services import LedgerUnavailable
from tests.ledger.pools import admit, available, make_pool, settle

pytestmark = pytest.mark.usefixtures("classes")

WINDOW = {"unit": "total_tokens", "algorithm": "sliding_window", "amount": 10_000}
SLOTS = {"unit": "requests", "algorithm": "gauge", "amount": 2}


def rewrite(**changes: Any) -> None:
    """Replace parts of the newest stored balances, as another version would have them."""
    stop_writers()
    newest = PoolState.objects.latest("seq")
    document = msgspec.json.decode(bytes(newest.state)) | changes
    PoolState.objects.filter(seq=newest.seq).update(state=msgspec.json.encode(document))


@pytest.mark.parametrize(
    "changes", [{"format": 0}, {"format": None}, {"pool": {"promises": {"a": [1, 2]}}}]
)
def test_balances_of_an_older_version_start_afresh(
    changes: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    make_pool(WINDOW, SLOTS)
    before = admit(tokens=4000)
    rewrite(**changes)
    assert [available(limit) for limit in range(2)] == [2, 10_000]
    assert admit(tokens=1000).admitted
    assert "start afresh" in caplog.text
    settle(before.id, 400)
    assert [available(limit) for limit in range(2)] == [1, 9000]
    assert Call.objects.get(pk=before.id).state == "settled"


def test_leases_from_before_a_fresh_start_still_end() -> None:
    WorkloadClass.objects.update(max_call_seconds=1)
    make_pool(SLOTS)
    forgotten = admit()
    Call.objects.update(lease_expires=datetime(2026, 1, 1, tzinfo=UTC))
    rewrite(format=0)
    admit()
    assert Call.objects.get(pk=forgotten.id).state == "lease_expired"
    assert available() == 1


def test_balances_of_a_newer_version_are_left_to_it(caplog: pytest.LogCaptureFixture) -> None:
    make_pool(WINDOW)
    admit()
    rewrite(format=FORMAT + 1, pool=[])
    for ask in (admit, available):
        with pytest.raises(LedgerUnavailable, match="newer version"):
            ask()
    assert f"format {FORMAT + 1}" in caplog.text
    assert caplog.records[-1].levelno == logging.ERROR
    with pytest.raises(CommandError, match="cannot be read"):
        call_command("rerun_decisions", "claims")


def test_balances_under_a_policy_nobody_knows_any_more_start_afresh() -> None:
    pool = make_pool(WINDOW)
    admit(tokens=4000)
    PolicyRevision.objects.all().delete()
    stop_writers()
    Limit.objects.create(pool=pool, **SLOTS)
    assert [available(limit) for limit in range(2)] == [2, 10_000]
    assert admit(tokens=1000).admitted
    assert [available(limit) for limit in range(2)] == [1, 9000]


@pytest.mark.parametrize("broken", [{"classes": 7}, {}])
def test_a_revision_of_an_older_version_is_not_known(broken: dict[str, Any]) -> None:
    make_pool(WINDOW)
    admit(tokens=4000)
    PolicyRevision.objects.update(terms=broken)
    stop_writers()
    Limit.objects.update(amount=20_000)
    assert available() == 20_000
    assert admit(tokens=1000).admitted


def test_charges_of_an_older_version_are_not_given_back(caplog: pytest.LogCaptureFixture) -> None:
    WorkloadClass.objects.update(max_call_seconds=1)
    make_pool(WINDOW)
    call = admit(tokens=1000)
    Call.objects.update(charges='[["total_tokens/sliding_window"]]')
    settle(call.id, 1)
    assert available() == 9000
    assert "another format" in caplog.text
