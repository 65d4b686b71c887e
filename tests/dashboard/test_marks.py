"""Policy changes on a pool's page: which, to whom, and where they lead."""

from datetime import UTC, datetime, timedelta

import pghistory
import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client
from django.urls import reverse

from budget.dashboard.marks import MOST
from budget.models import Limit, Pool, Reservation, WorkloadClass
from tests.dashboard.addresses import class_page, pool_page
from tests.dashboard.conftest import client_of, somebody
from tests.dashboard.test_pool import opened
from tests.policies import claims_pool, small_pool

pytestmark = [pytest.mark.usefixtures("committed"), pytest.mark.django_db(transaction=True)]


def edit(share: int, reason: str = "storm season") -> None:
    with pghistory.context(username="ada", reason=reason, address="192.0.2.1"):
        Reservation.objects.filter(workload_class__slug="adjuster").update(share_percent=share)


def test_a_change_is_marked_with_who_why_and_what(viewer: Client) -> None:
    claims_pool()
    edit(45)
    page = opened(viewer, pool_page())
    newest = page["marks"][0]
    assert newest.change.who == "ada"
    assert newest.lines == ["pool claims, reservation of adjuster: share 50 % → 45 %"]
    mark = page["data"]["marks"][-1]
    assert (mark["who"], mark["why"]) == ("ada", "storm season")
    assert mark["key"] == newest.key
    assert f'id="{newest.key}"' in page.html
    version = page["board"].version
    assert (newest.version, mark["version"]) == (version, version)
    assert f"policy version {version}" in page.html
    assert "Only the newest" not in page.html


def test_what_classes_were_before_the_pool_was_there_is_no_change_of_it(viewer: Client) -> None:
    claims_pool()
    WorkloadClass.objects.filter(slug="nightly").update(queue_limit=77)
    small_pool()
    WorkloadClass.objects.filter(slug="nightly").update(queue_limit=78)
    lines = [line for mark in opened(viewer, pool_page("small"))["marks"] for line in mark.lines]
    told = "\n".join(lines)
    assert "→ 78" in told
    assert "→ 77" not in told
    assert "class adjuster added" not in told
    assert "pool small added" in lines[-1]


def test_it_leads_to_its_entry_in_the_history(viewer: Client) -> None:
    claims_pool()
    edit(45)
    page = opened(viewer, pool_page())
    address = page["marks"][0].address
    assert f'href="{address}"' in page.html
    assert "storm season" in viewer.get(address).content.decode()


def test_whoever_may_not_enter_the_admin_reads_it_without_a_link() -> None:
    claims_pool()
    edit(45)
    user = somebody("una")
    names = ["view_usageminute", "view_policyhistory"]
    user.user_permissions.set(Permission.objects.filter(codename__in=names))
    page = opened(client_of(user), pool_page())
    assert page["marks"][0].address == ""
    assert "storm season" in page.html
    assert "/admin/" not in page.html


def test_whoever_may_not_see_the_history_sees_no_changes() -> None:
    claims_pool()
    edit(45)
    user = somebody("una")
    user.user_permissions.set(Permission.objects.filter(codename="view_usageminute"))
    page = opened(client_of(user), pool_page())
    assert (page["marks"], page["data"]["marks"]) == ([], [])
    assert "storm season" not in page.html
    assert User.objects.count() == 1


def test_changes_of_classes_concern_every_pool_and_those_of_other_pools_none(
    viewer: Client,
) -> None:
    claims_pool()
    small_pool()
    before = datetime.now(UTC)
    Limit.objects.filter(pool__slug="small").update(amount=601)
    WorkloadClass.objects.filter(slug="nightly").update(paused=True)
    lines = [
        line
        for mark in opened(viewer, pool_page())["marks"]
        if mark.change.at > before
        for line in mark.lines
    ]
    assert lines == ["class nightly: paused no → yes"]


def test_a_class_shows_them_too(viewer: Client) -> None:
    claims_pool()
    edit(45)
    assert "storm season" in opened(viewer, class_page("nightly")).html


def test_only_changes_within_the_time_are_marked(viewer: Client) -> None:
    claims_pool()
    start = (datetime.now(UTC) - timedelta(hours=3)).isoformat()[:19] + "Z"
    end = (datetime.now(UTC) - timedelta(hours=2)).isoformat()[:19] + "Z"
    assert opened(viewer, pool_page(query=f"from={start}&to={end}"))["marks"] == []


def test_the_newest_changes_come_first_and_not_too_many(viewer: Client) -> None:
    claims_pool()
    for n in range(MOST + 2):
        edit(40 + n % 2, reason=f"reason {n}")
    page = opened(viewer, pool_page())
    marks = page["marks"]
    assert len(marks) == MOST
    assert f"Only the newest {MOST} are shown." in page.html
    assert f'href="{reverse("admin:budget_policyhistory_changelist")}">All changes' in page.html
    assert marks[0].change.why == f"reason {MOST + 1}"
    assert marks[-1].change.why == "reason 2"


def test_hostile_reasons_are_text(viewer: Client) -> None:
    claims_pool()
    edit(45, reason="</script><img src=x onerror=alert(1)>")
    html = opened(viewer, pool_page()).html
    assert "<img" not in html
    assert "&lt;/script&gt;&lt;img src=x" in html


def test_a_pool_of_before_the_history_has_none(viewer: Client) -> None:
    claims_pool()
    assert Pool.objects.count() == 1
    assert len(opened(viewer, pool_page())["marks"]) == 1, "the load itself"
