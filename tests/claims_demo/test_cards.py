"""What the storm page's cards say of a class that somebody stopped."""

import pytest
from django.contrib.auth.models import User
from django.test import Client

from budget.models import Pool, WorkloadClass
from claims_demo.storm.cards import cards
from claims_demo.storm.span import Span
from tests.policies import claims_pool

pytestmark = pytest.mark.django_db


def halts() -> list[str]:
    """Of the adjusters, of re-score, of the nightly run."""
    return [card.halt.text for card in cards(Span([]))]


def test_who_runs_is_not_said_to_be_stopped() -> None:
    claims_pool()
    assert halts() == ["", "", ""]


def test_a_stopped_class_says_so() -> None:
    claims_pool()
    WorkloadClass.objects.filter(slug="adjuster").update(paused=True)
    WorkloadClass.objects.filter(slug="nightly").update(draining=True)
    assert halts() == ["paused", "", "draining: no new jobs"]


def test_a_stopped_pool_stops_all_of_them() -> None:
    claims_pool()
    Pool.objects.update(paused=True)
    assert halts() == ["pool paused"] * 3


def test_without_the_pool_nothing_is_known() -> None:
    assert halts() == ["", "", ""]


def test_the_page_says_so_and_what_the_two_spans_of_time_are() -> None:
    claims_pool()
    WorkloadClass.objects.filter(slug="rescore").update(paused=True)
    client = Client()
    client.force_login(User.objects.create_user("ada"))
    page = client.get("/storm/").content.decode()
    assert '<span class="badge" data-figure="rescore-halt">paused</span>' in page
    assert "may take 2 seconds" in page
    assert "deadline of 5 seconds" in page
    assert client.get("/storm/live").json()["figures"]["rescore-halt"] == "paused"
