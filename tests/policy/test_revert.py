"""Undoing an edit of what jobs need: the batch endpoint, the address, a drain."""

from typing import Any

import pytest

from budget.models import Limit, Pool, WorkloadClass
from budget.policy.document import read_document
from budget.policy.history import THE_POLICY, Change, change_keys, changes, told
from budget.policy.load import load
from budget.policy.revert import RevertError, revert
from tests.policies import CLAIMS, claims_pool

pytestmark = pytest.mark.usefixtures("committed")

WITH_BATCH = CLAIMS.read_text().replace(
    "    limits:",
    "    base_url: https://gateway.internal\n"
    "    batch: {limits: [{unit: requests, algorithm: gauge, amount: 900}]}\n"
    "    limits:",
)
ON = [
    "pool claims: base URL the official SDK's own → https://gateway.internal",
    "pool claims: batch endpoint no → yes",
    "pool claims, batch limit requests/gauge added: amount 900",
]
OFF = [
    "pool claims: base URL https://gateway.internal → the official SDK's own",
    "pool claims: batch endpoint yes → no",
    "pool claims, batch limit requests/gauge removed: amount 900",
]


def newest() -> Change:
    (change,) = changes(change_keys(THE_POLICY)[:1], THE_POLICY)
    return change


def undo() -> list[str]:
    return revert(newest(), lambda permissions: True)


def test_a_batch_endpoint_is_told_turned_off_and_on_again() -> None:
    claims_pool()
    load(read_document(WITH_BATCH.encode()))
    assert told(newest().entries) == ON
    assert undo() == OFF
    assert not Pool.objects.get().batch
    assert Limit.objects.count() == 3
    assert undo() == ON
    assert Limit.objects.get(of_batch=True).amount == 900


def test_a_drain_is_undone() -> None:
    claims_pool()
    WorkloadClass.objects.filter(slug="nightly").update(draining=True)
    assert undo() == ["class nightly: draining yes → no"]


def test_what_has_become_unsound_is_not_brought_back(settings: Any) -> None:
    load(read_document(WITH_BATCH.encode()))
    load(read_document(CLAIMS.read_bytes()))
    settings.BUDGET_PROVIDER_HOSTS = []
    with pytest.raises(RevertError, match=r"may not be sent to gateway\.internal"):
        undo()
    Pool.objects.update(provider="azure")
    settings.BUDGET_PROVIDER_HOSTS = None
    (_, before) = changes(change_keys(THE_POLICY)[:2], THE_POLICY)
    with pytest.raises(RevertError, match="no batch endpoint here for azure"):
        revert(before, lambda permissions: True)
    assert not Pool.objects.get().batch
