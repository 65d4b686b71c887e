"""The page of a class on a pool."""

from datetime import datetime

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client
from django.urls import reverse

from budget.models import Pool, Reservation, UsageTotal, WorkloadClass
from tests.admin.conftest import class_url, client_with
from tests.dashboard.addresses import class_page, pool_page
from tests.dashboard.test_pool import opened, texts_of
from tests.dashboard.usage import MINUTE, record

pytestmark = pytest.mark.django_db


def test_it_shows_one_class_in_figures_and_numbers(viewer: Client, history: datetime) -> None:
    page = opened(viewer, class_page("nightly"))
    assert [told.figure.name for told in page["figures"]] == [
        "calls",
        "tokens",
        "floor",
        "depth",
        "wait",
    ]
    assert [linked.row.member.name for linked in page["rows"]] == ["nightly"]
    assert texts_of(page, "nightly")["Shed"] == "432"
    assert "nightly <span" in page.html


def test_it_is_part_of_its_pool(viewer: Client, history: datetime) -> None:
    html = opened(viewer, class_page("nightly")).html
    assert f'<a href="{pool_page()}">claims</a>' in html
    assert class_page("nightly") in opened(viewer, pool_page()).html


def test_terms_are_for_those_who_may_see_reservations(stranger: Client, history: datetime) -> None:
    sam = User.objects.get(username="sam")
    sam.user_permissions.add(Permission.objects.get(codename="view_usageminute"))
    assert opened(stranger, class_page("rescore"))["terms"] == []
    sam.user_permissions.add(Permission.objects.get(codename="view_reservation"))
    assert opened(stranger, class_page("rescore"))["terms"]


def test_its_terms_are_told_in_words(viewer: Client, history: datetime) -> None:
    terms = dict(opened(viewer, class_page("rescore"))["terms"])
    assert terms["tier"] == "near-line: minutes"
    assert terms["deadline"] == "5 min 0 s"
    assert terms["largest call"] == "16,000 tokens, 2 min 0 s"
    assert terms["may wait"] == "1,000 jobs, 2,000,000 tokens"
    assert terms["share"] == "20 %"
    assert terms["lendable"] == "70 %"
    assert terms["yields above"] == "never"


def test_a_class_of_calls_that_are_waited_for_has_no_queue(
    viewer: Client, history: datetime
) -> None:
    page = opened(viewer, class_page("adjuster"))
    assert "may wait" not in dict(page["terms"])
    assert [told.figure.name for told in page["figures"]] == ["calls", "tokens", "floor"]


def test_a_class_without_a_reservation_says_so(viewer: Client, history: datetime) -> None:
    Reservation.objects.filter(workload_class__slug="nightly").delete()
    terms = dict(opened(viewer, class_page("nightly"))["terms"])
    assert terms["reservation"].startswith("none on this pool")


def test_a_class_that_did_nothing_has_a_page(viewer: Client, history: datetime) -> None:
    WorkloadClass.objects.create(slug="idle", tier="bulk", deadline_seconds=60)
    assert "No job came in this time." in opened(viewer, class_page("idle")).html


def test_calls_without_a_class_have_a_page(viewer: Client, history: datetime) -> None:
    record(Pool.objects.get(), history + 9 * MINUTE, "", offered=2, shed={"untagged": 2})
    html = opened(viewer, class_page("~untagged")).html
    assert "Calls that name no class. The pool sheds them." in html
    assert "all because they named no class" in html
    Pool.objects.update(untagged_class=WorkloadClass.objects.get(slug="nightly"))
    assert "The pool counts them as nightly." in opened(viewer, class_page("~untagged")).html


def test_a_deleted_class_keeps_its_page(viewer: Client, history: datetime) -> None:
    pool = Pool.objects.get()
    UsageTotal.objects.create(pool_id=pool.pk, workload_class="gone", minute=history)
    html = opened(viewer, class_page("gone")).html
    assert "This class was deleted." in html
    assert "<h2>Terms</h2>" not in html


def test_a_class_that_never_was_is_not_found(viewer: Client, history: datetime) -> None:
    assert viewer.get(class_page("nobody")).status_code == 404
    assert viewer.get(class_page("<b>")).status_code == 404


def test_it_leads_to_its_sheds_and_its_form(viewer: Client, history: datetime) -> None:
    html = opened(viewer, class_page("nightly")).html
    sheds = f"{reverse('budget:sheds', args=['claims'])}?range=1h&amp;class=nightly"
    assert f'href="{sheds}"' in html
    assert f'href="{class_url("nightly")}"' in html


def test_those_who_may_not_see_calls_or_classes_get_no_such_links(history: datetime) -> None:
    html = opened(client_with("una", "view_usageminute"), class_page("nightly")).html
    assert "sheds/" not in html
    assert class_url("nightly") not in html


def test_only_those_who_may_pause_see_its_switches(
    viewer: Client, on_call: Client, history: datetime
) -> None:
    switch = reverse("budget:switch_class", args=["nightly", "drain"])
    assert switch not in opened(viewer, class_page("nightly")).html
    assert switch in opened(on_call, class_page("nightly")).html
