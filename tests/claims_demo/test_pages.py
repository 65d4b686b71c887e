"""The list of claims, and a claim's page."""

from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.contrib.auth.models import Permission, User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from claims_demo.accounts import demo_accounts
from claims_demo.claims.wanted import PAGE_SIZE
from claims_demo.models import Claim
from tests.claims_demo.world import MARKUP, make_claim

pytestmark = pytest.mark.django_db

LONG = "W" * 100


@pytest.fixture
def visitor() -> Client:
    """Somebody who is logged in."""
    client = Client()
    client.force_login(User.objects.create_user("vic"))
    return client


def numbers(client: Client, **query: Any) -> list[str]:
    """Of the claims that a list shows."""
    return [claim.number for claim in client.get("/", query).context["page"]]


def test_the_most_urgent_come_first_then_those_that_changed_last(visitor: Client) -> None:
    now = timezone.now()
    late = make_claim(priority=2, changed_at=now)
    early = make_claim(priority=2, changed_at=now - timedelta(hours=1))
    low = make_claim(priority=3, changed_at=now)
    urgent = make_claim(priority=1, changed_at=now - timedelta(days=3))
    assert numbers(visitor) == [urgent.number, late.number, early.number, low.number]


def test_closed_claims_are_shown_when_they_are_wanted(visitor: Client) -> None:
    claim, settled = make_claim(), make_claim(status="settled")
    assert numbers(visitor) == [claim.number]
    assert numbers(visitor, status="settled") == [settled.number]
    assert set(numbers(visitor, status="all")) == {claim.number, settled.number}


def test_claims_are_found_by_what_is_known_of_them(visitor: Client) -> None:
    claim = make_claim(claimant="Zoë Q. Martin", priority=1, category="papers")
    make_claim(claimant="Nobody", priority=2)
    for query in ({"text": " zoë q"}, {"text": claim.number[-4:]}, {"priority": "1"}):
        assert numbers(visitor, **query) == [claim.number]
    assert numbers(visitor, category="papers") == [claim.number]
    assert numbers(visitor, text="%") == []


@pytest.mark.parametrize(
    "query",
    [
        {"status": "lost"},
        {"priority": "9"},
        {"category": MARKUP},
        {"text": "x" * 101},
        {"text": "\0"},
    ],
    ids=str,
)
def test_a_filter_that_cannot_be_read_is_named_and_filters_nothing(
    visitor: Client, query: dict[str, str]
) -> None:
    claim = make_claim()
    response = visitor.get("/", query)
    assert [one.number for one in response.context["page"]] == [claim.number]
    assert 'class="notice"' in response.content.decode()
    assert "<img" not in response.content.decode()


def test_pages_are_short_however_many_claims_there_are(visitor: Client) -> None:
    with CaptureQueriesContext(connection) as few:
        visitor.get("/")
    for _ in range(PAGE_SIZE + 2):
        make_claim()
    with CaptureQueriesContext(connection) as many:
        assert len(numbers(visitor)) == PAGE_SIZE
    assert len(many) <= len(few) + 1
    assert len(numbers(visitor, page="2", priority="")) == 2
    page = visitor.get("/", {"page": "99", "text": "C-"})
    assert 'href="?page=1&amp;text=C-"' in page.content.decode()


def test_an_empty_platform_says_what_makes_claims(visitor: Client) -> None:
    assert "<code>make demo</code>" in visitor.get("/").content.decode()
    assert "No claim is like that" in visitor.get("/", {"text": "nothing"}).content.decode()


def test_a_claim_shows_what_happened_newest_first(visitor: Client) -> None:
    claim = make_claim()
    claim.events.create(kind="call", text="Called back.")
    page = visitor.get(claim.get_absolute_url()).content.decode()
    assert claim.description in page
    assert page.index("Called back.") < page.index("Taken down")


def test_what_is_older_than_the_newest_event_says_so(visitor: Client) -> None:
    now = timezone.now()
    old = now - timedelta(hours=1)
    claim = make_claim(score=62, scored_at=old, category="papers", classified_at=old)
    Claim.objects.update(changed_at=now)
    assert visitor.get(claim.get_absolute_url()).content.decode().count("(old)") == 2
    Claim.objects.update(scored_at=now, classified_at=now)
    assert "(old)" not in visitor.get(claim.get_absolute_url()).content.decode()


def test_a_classification_under_way_says_so(visitor: Client) -> None:
    make_claim()
    assert "tonight" in visitor.get("/").content.decode()
    Claim.objects.update(classification_job=uuid4())
    assert "on its way" in visitor.get("/").content.decode()


@pytest.mark.parametrize("address", ["/", "/claims/{}/"])
def test_looking_writes_nothing(visitor: Client, address: str) -> None:
    claim = make_claim(classification_job=uuid4())
    with CaptureQueriesContext(connection) as queries:
        visitor.get(address.format(claim.number))
    verbs = {query["sql"].split()[0] for query in queries}
    assert verbs <= {"SELECT"}


@pytest.mark.parametrize("address", ["/", "/claims/{}/"])
def test_markup_in_a_claim_stays_text(visitor: Client, address: str) -> None:
    claim = make_claim(claimant=MARKUP, insured=MARKUP, place=LONG, description=MARKUP)
    claim.events.create(kind="call", text=MARKUP)
    page = visitor.get(address.format(claim.number)).content.decode()
    assert "<img" not in page
    assert "&lt;img" in page


@pytest.mark.parametrize("address", ["/", "/claims/C-2026-000001/"])
def test_nobody_looks_without_a_login(address: str) -> None:
    response = Client().get(address)
    assert response.headers["Location"] == f"/login/?next={address}"


@pytest.mark.parametrize("number", ["C-2026-000000", MARKUP, "%00", "x" * 300])
def test_a_claim_that_is_not_there(visitor: Client, number: str) -> None:
    assert visitor.get(f"/claims/{number}/").status_code == 404


def test_pages_are_not_kept_by_caches(visitor: Client) -> None:
    assert "no-store" in visitor.get("/").headers["Cache-Control"]


def test_a_login_leads_to_where_one_wanted_to_go() -> None:
    claim = make_claim()
    User.objects.create_user("eve", password="secret")
    client = Client()
    wrong = client.post("/login/", {"username": "eve", "password": "no"})
    assert "enter a correct username" in wrong.content.decode()
    form = {"username": "eve", "password": "secret", "next": claim.get_absolute_url()}
    assert client.post("/login/", form).headers["Location"] == claim.get_absolute_url()
    assert client.get("/login/").headers["Location"] == "/"
    assert client.post("/logout/").headers["Location"] == "/login/"
    assert client.get("/").status_code == 302


@pytest.mark.parametrize(
    ("username", "shown"),
    [
        ("demo-adjuster", {"Claims", "Storm"}),
        ("demo-viewer", {"Claims", "Storm", "Dashboard", "Admin"}),
        ("demo-oncall", {"Claims", "Storm", "Dashboard", "Admin"}),
        ("demo-editor", {"Claims", "Storm", "Dashboard", "Admin"}),
    ],
)
def test_each_account_of_the_demo_is_shown_what_it_may_open(username: str, shown: set[str]) -> None:
    demo_accounts()
    client = Client()
    client.force_login(User.objects.get(username=username))
    page = client.get("/").content.decode()
    nav = page[page.index("<nav") : page.index("</nav")]
    links = {"Claims", "Storm", "Dashboard", "Admin"}
    assert {link for link in links if f">{link}</a>" in nav} == shown
    assert ("Run the nightly classification" in page) == (username == "demo-editor")


def test_only_who_may_runs_the_nightly_classification(visitor: Client) -> None:
    assert visitor.get("/nightly").status_code == 405
    assert visitor.post("/nightly").status_code == 403
    assert Client().post("/nightly").status_code == 302
    User.objects.get().user_permissions.add(Permission.objects.get(codename="classify_claims"))
    page = visitor.post("/nightly", follow=True).content.decode()
    assert "Nothing is due" in page


def test_what_is_not_there_or_not_allowed_is_said_by_a_page(visitor: Client) -> None:
    gone = visitor.get("/claims/C-2026-000001/")
    assert (gone.status_code, "There is nothing here" in gone.content.decode()) == (404, True)
    refused = visitor.post("/nightly")
    assert "Your account may not do that" in refused.content.decode()
    assert "There is nothing here" in Client().get("/nowhere").content.decode()
