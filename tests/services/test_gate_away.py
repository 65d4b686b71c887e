"""The gate to the ledger in this process while the ledger is away."""

import logging
import time
from typing import Any
from uuid import UUID

import pytest
from django.db import connection, transaction

from budget.client.verdict import Admitted, Ending, Refused
from budget.models import (
    AwayReport,
    Call,
    Pool,
    WorkloadClass,
)
from budget.providers import Tokens
from budget.services.gate import LedgerGate
from tests.api.conftest import lock_held
from tests.client.served import until
from tests.ledger.pools import make_pool
from tests.services.gated import TOKENS, ask, heard


@pytest.fixture
def quiet(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.CRITICAL, logger="budget.ledger")


def test_while_the_ledger_is_away_each_class_does_as_its_policy_says(
    gate: LedgerGate, pool: Pool, caplog: pytest.LogCaptureFixture
) -> None:
    WorkloadClass.objects.filter(slug="nightly").update(when_unavailable="admit")
    heard(gate)
    with lock_held(pool):
        began = time.perf_counter()
        verdicts = [gate.admit(ask(name)) for name in ("adjuster", "rescore", "nightly")]
        assert time.perf_counter() - began < 1.0
        costs = []
        for _ in range(50):
            began = time.perf_counter()
            gate.admit(ask("rescore"))
            costs.append(time.perf_counter() - began)
        assert sorted(costs)[45] < 0.005
    assert [getattr(verdict, "away", "shed") for verdict in verdicts] == ["local", "shed", "admit"]
    assert isinstance(verdicts[1], Refused)
    assert (verdicts[1].status, verdicts[1].reason) == (429, "away")
    gate.settle(verdicts[0], Ending("succeeded", Tokens(90, 20)))  # type: ignore[arg-type]
    until(lambda: getattr(gate.admit(ask()), "id", None))
    until(AwayReport.objects.exists)
    gate.close()
    counted = {report.workload_class: report for report in AwayReport.objects.all()}
    assert (counted["adjuster"].choice, counted["nightly"].choice) == ("local", "admit")
    assert (counted["rescore"].admitted, counted["rescore"].shed) == (0, 51)
    assert "claims is away" in caplog.text
    assert "claims is back" in caplog.text


def test_a_ledger_that_answers_but_decides_nothing_is_still_away(
    gate: LedgerGate, pool: Pool, quiet: None
) -> None:
    heard(gate)
    with lock_held(pool):
        gate.admit(ask("rescore"))
        slow = 0
        end = time.monotonic() + 1.4
        while time.monotonic() < end:
            began = time.perf_counter()
            gate.admit(ask("rescore"))
            slow += time.perf_counter() - began > 0.1
            time.sleep(0.01)
    assert slow == 0


def test_one_pools_trouble_is_not_anothers(gate: LedgerGate, pool: Pool, quiet: None) -> None:
    make_pool(TOKENS, slug="other")
    heard(gate)
    with lock_held(pool):
        gate.admit(ask())
        verdict = gate.admit(ask(pool="other"))
        assert isinstance(verdict, Admitted)
        assert verdict.away is None


def test_settlements_outlast_an_outage(gate: LedgerGate, pool: Pool, quiet: None) -> None:
    verdict = gate.admit(ask())
    assert isinstance(verdict, Admitted)
    with lock_held(pool):
        began = time.perf_counter()
        gate.settle(verdict, Ending("succeeded", Tokens(90, 20)))
        gate.renew(verdict, 1.0)
        assert time.perf_counter() - began < 0.05
        gate.admit(ask())
    assert Call.objects.get(pk=UUID(verdict.id)).used_input_tokens in (None, 90)
    until(lambda: Call.objects.get(pk=UUID(verdict.id)).used_input_tokens == 90)


def test_cut_sessions_cost_no_call(gate: LedgerGate, quiet: None) -> None:
    heard(gate)
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
    verdict = gate.admit(ask())
    assert isinstance(verdict, Admitted)
    assert verdict.id is not None


@pytest.mark.parametrize("choice", ["admit", "shed"])
def test_before_the_pool_was_heard_of_the_gates_own_choice_holds(
    pool: Pool, choice: Any, quiet: None
) -> None:
    gate = LedgerGate(when_unavailable=choice)
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("LOCK TABLE budget_pool IN ACCESS EXCLUSIVE MODE")
        began = time.perf_counter()
        verdict = gate.admit(ask())
        assert time.perf_counter() - began < 0.7
    assert isinstance(verdict, Admitted) == (choice == "admit")
    until(lambda: getattr(gate.admit(ask()), "id", None))
    gate.close()


def test_a_wrong_choice_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match="when_unavailable"):
        LedgerGate(when_unavailable="local")


def test_a_report_that_cant_be_right_is_told_once(
    gate: LedgerGate, pool: Pool, quiet: None
) -> None:
    heard(gate)
    with lock_held(pool):
        gate.admit(ask())
        gate.admit(ask("x" * 201))
    until(lambda: not gate._book.pools)
    until(lambda: getattr(gate.admit(ask()), "id", None))
