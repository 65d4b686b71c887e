"""What a project is told that can't run the app, or no jobs."""

from typing import Any

import pytest
from django.core.checks import run_checks
from django.db import connections

from budget import checks


@pytest.mark.django_db
def test_a_server_of_today_passes() -> None:
    assert [
        message for message in run_checks(databases=["default"]) if "budget" in message.id
    ] == []


@pytest.mark.django_db
def test_an_older_server_is_refused_where_it_may_be_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "OLDEST", 99)

    assert [message.id for message in run_checks(databases=["default"])] == ["budget.E002"]
    assert run_checks() == []


def test_another_engine_is_refused_without_asking(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections["default"], "vendor", "sqlite")

    found = {message.id: message for message in run_checks()}
    assert "sqlite" in found["budget.E001"].msg
    assert "PostgreSQL 16 or newer" in found["budget.E001"].hint


def warnings() -> dict[str, str]:
    """What is told about clusters: id and hint."""
    return {message.id or "": message.hint or "" for message in checks.clusters()}


def test_the_projects_own_clusters_pass() -> None:
    assert warnings() == {}


@pytest.mark.parametrize(
    ("changes", "id", "hint"),
    [
        ({"ALT_CLUSTERS": {"bulk": {}}}, "budget.W001", "{'near_line': {}}"),
        ({"orm": None}, "budget.W004", "Set Q_CLUSTER['orm'] to 'default'"),
        ({"sqs": {"aws_region": "x"}}, "budget.W004", "no other broker"),
        ({"sync": True}, "budget.W005", "Leave it out"),
        ({"retry": 259}, "budget.W006", "Set retry to at least 260"),
        ({"ack_failures": False}, "budget.W007", "True"),
        ({"recycle": 500}, "budget.W008", "Set recycle to 0"),
        ({"max_rss": 100_000}, "budget.W008", "leave max_rss out"),
    ],
)
def test_a_setting_of_django_q_that_would_hurt_is_named_with_its_fix(
    settings: Any, changes: dict[str, Any], id: str, hint: str
) -> None:
    settings.Q_CLUSTER = settings.Q_CLUSTER | changes
    assert list(warnings()) == [id]
    assert hint in warnings()[id]


@pytest.mark.parametrize(
    ("clusters", "id"),
    [
        ({"near_line": ["near_line"]}, "budget.W002"),
        ({"near_line": ["near_line"], "bulk": ["bulk", "interactive"]}, "budget.W003"),
        ({"jobs": ["near_line", "bulk"]}, "budget.W001"),
    ],
)
def test_clusters_that_leave_a_tier_out_or_nobody_knows_are_named(
    settings: Any, clusters: dict[str, list[str]], id: str
) -> None:
    settings.BUDGET_CLUSTERS = clusters
    assert list(warnings()) == [id]


def test_one_cluster_may_have_both_tiers(settings: Any) -> None:
    settings.BUDGET_CLUSTERS = {"bulk": ["near_line", "bulk"]}
    assert warnings() == {}


def test_what_a_ticket_may_take_decides_over_retry(settings: Any) -> None:
    assert settings.Q_CLUSTER["retry"] == 260
    settings.BUDGET_TICKET_SECONDS = 5.5
    assert list(warnings()) == ["budget.W006"]
    assert "264" in warnings()["budget.W006"]
    settings.Q_CLUSTER = settings.Q_CLUSTER | {"retry": 264}
    assert warnings() == {}
