"""Rows become terms, with the defaults of their tier."""

from typing import Any

import pytest

from budget.models import Limit, Pool, Reservation, WorkloadClass
from budget.models.terms import pool_terms
from budget.rule.checks import problems
from budget.rule.terms import SECOND, BatchTerms, PoolTerms

CLASSES = {
    "chat": WorkloadClass(slug="chat", tier="interactive", deadline_seconds=5),
    "search": WorkloadClass(slug="search", tier="interactive", deadline_seconds=9),
    "rescore": WorkloadClass(slug="rescore", tier="near_line", deadline_seconds=300),
    "triage": WorkloadClass(slug="triage", tier="near_line", deadline_seconds=60),
    "nightly": WorkloadClass(slug="nightly", tier="bulk", deadline_seconds=28800),
}


def terms(reservations: dict[str, dict[str, Any]], **pool: Any) -> PoolTerms:
    return pool_terms(
        Pool(slug="p", provider="openai", **pool),
        [
            Limit(unit="total_tokens", algorithm="gauge", amount=90_000, of_batch=True),
            Limit(unit="requests", algorithm="gauge", amount=40),
        ],
        [Reservation(workload_class=CLASSES[slug], **row) for slug, row in reservations.items()],
        CLASSES.values(),
        version=7,
    )


def test_classes_stand_strictest_first() -> None:
    order = [member.slug for member in terms({}).classes]
    assert order == ["chat", "search", "triage", "rescore", "nightly"]


def test_an_unreserved_class_has_no_floor_no_ceiling_and_the_defaults_of_its_tier() -> None:
    members = {member.slug: member for member in terms({}).classes}
    assert {slug: (m.share, m.lendable, m.headroom, m.ceiling) for slug, m in members.items()} == {
        "chat": (0, 0, 0, 1),
        "search": (0, 0, 0, 1),
        "triage": (0, 0.7, 0.05, 1),
        "rescore": (0, 0.7, 0.05, 1),
        "nightly": (0, 1, 0.10, 1),
    }


def test_an_empty_field_of_a_reservation_is_the_tiers_default() -> None:
    members = {member.slug: member for member in terms({"rescore": {"share_percent": 20}}).classes}
    assert (members["rescore"].share, members["rescore"].lendable) == (0.2, 0.7)
    assert members["rescore"].yields_above is None


@pytest.mark.parametrize(
    ("reservations", "slug", "headroom"),
    [
        ({"triage": {"headroom_percent": 20}}, "rescore", 0.20),
        ({"triage": {"headroom_percent": 20}}, "nightly", 0.20),
        ({"nightly": {"headroom_percent": 2}}, "rescore", 0.02),
        ({"rescore": {"headroom_percent": 1}}, "triage", 0.01),
    ],
)
def test_implied_headroom_never_falls_with_looseness(
    reservations: dict[str, dict[str, Any]], slug: str, headroom: float
) -> None:
    policy = terms(reservations)
    assert policy.classes[policy.class_index[slug]].headroom == pytest.approx(headroom)
    assert not [fault for fault in problems(policy) if fault.field == "headroom_percent"]


def test_untagged_calls_name_their_class() -> None:
    assert terms({}).untagged is None
    assert terms({}, untagged_class=CLASSES["nightly"]).untagged == "nightly"


def test_the_batch_endpoints_limits_stand_apart() -> None:
    policy = terms({}, batch=True, batch_collect_seconds=9, batch_window_hours=2)
    assert [limit.name for limit in policy.limits] == ["requests/gauge"]
    assert policy.batch == BatchTerms(
        limits=policy.at_endpoint.limits, collect_seconds=9, window=2 * 3600 * SECOND
    )
    assert [limit.name for limit in policy.at_endpoint.limits] == ["total_tokens/gauge"]


def test_limits_of_a_batch_endpoint_that_is_off_limit_nothing() -> None:
    policy = terms({})
    assert policy.batch is None
    assert [limit.name for limit in policy.limits] == ["requests/gauge"]
