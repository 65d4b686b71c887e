"""What the dashboard says when the database is away, or takes too long."""

from collections.abc import Iterator
from typing import Any
from uuid import UUID

import pytest
from django.contrib.messages import get_messages
from django.db import OperationalError, connection
from django.test import Client
from django.urls import reverse

from budget import services
from budget.models import Pool
from budget.pages.bounded import bounded

pytestmark = pytest.mark.usefixtures("committed", "claims")

PAGES = [
    reverse("budget:dashboard"),
    reverse("budget:dashboard_pool", args=["claims"]),
    reverse("budget:dashboard_live", args=["claims"]),
    reverse("budget:dashboard_class", args=["claims", "nightly"]),
    reverse("budget:sheds", args=["claims"]),
    reverse("budget:sheds_csv", args=["claims"]),
    reverse("budget:dashboard_call", args=[UUID(int=1)]),
    reverse("budget:switch_pool", args=["claims", "pause"]),
    reverse("budget:switch_class", args=["nightly", "pause"]),
]
SWITCH = reverse("budget:switch_pool", args=["claims", "pause"])
WHY = {"reason": "runaway loop"}


@pytest.fixture
def away(committed: None, claims: Pool, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The database is not where it was."""
    connection.close()
    with monkeypatch.context() as meanwhile:
        meanwhile.setitem(connection.settings_dict, "NAME", "nowhere")
        yield
        connection.close()


@pytest.fixture
def locked(committed: None, settings: Any) -> Iterator[None]:
    """Somebody changes the tables that pages read, and takes long; pages wait for a moment."""
    settings.BUDGET_DASHBOARD_QUERY_SECONDS = 0.1
    other = connection.copy()
    other.set_autocommit(False)
    with other.cursor() as cursor:
        cursor.execute("LOCK TABLE budget_call, budget_pool IN ACCESS EXCLUSIVE MODE")
    yield
    other.close()


def check_apology(answer: Any, words: str) -> None:
    text = answer.content.decode()
    assert answer.status_code == 503
    assert answer["Retry-After"] == "10"
    assert words in text
    assert "again.js" in text
    assert 'href="/dashboard/' in text


@pytest.mark.usefixtures("away")
@pytest.mark.parametrize("address", PAGES)
def test_a_page_without_its_database_says_so_and_tries_again(
    anonymous: Client, address: str
) -> None:
    anonymous.cookies["sessionid"] = "x" * 32
    check_apology(anonymous.get(address), "The ledger doesn't answer")


@pytest.mark.parametrize("address", PAGES)
def test_a_page_without_its_sessions_says_so_and_tries_again(
    anonymous: Client, settings: Any, address: str
) -> None:
    settings.SESSION_ENGINE = "tests.dashboard.lost_sessions"
    anonymous.cookies["sessionid"] = "x" * 32
    check_apology(anonymous.get(address), "The ledger doesn't answer")


@pytest.mark.parametrize("address", PAGES[1:])
def test_a_page_that_takes_too_long_gives_up_and_tries_again(
    viewer: Client, on_call: Client, locked: None, address: str
) -> None:
    client = on_call if "switch" in address else viewer
    check_apology(client.get(address), "This takes too long")


def test_who_turned_something_without_an_answer_is_told_to_look(
    on_call: Client, locked: None
) -> None:
    answer = on_call.post(SWITCH, WHY)
    text = answer.content.decode()
    assert answer.status_code == 503
    assert "It isn't known whether this was done" in text
    assert f'href="{SWITCH}"' in text
    assert "again.js" not in text


def test_what_was_not_committed_is_not_told_as_done(
    on_call: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    with connection.cursor() as cursor:
        cursor.execute(REFUSE_COMMIT)
    try:
        answer = on_call.post(SWITCH, WHY)
    finally:
        with connection.cursor() as cursor:
            cursor.execute("DROP TRIGGER refuse ON budget_pool; DROP FUNCTION refuse_commit()")
    assert answer.status_code == 503
    assert list(get_messages(answer.wsgi_request)) == []
    assert not Pool.objects.get().paused


REFUSE_COMMIT = """
CREATE FUNCTION refuse_commit() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN RAISE EXCEPTION SQLSTATE '57014'; END $$;
CREATE CONSTRAINT TRIGGER refuse AFTER UPDATE ON budget_pool DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW EXECUTE FUNCTION refuse_commit()
"""


def test_no_statement_takes_longer_than_it_may(settings: Any) -> None:
    settings.BUDGET_DASHBOARD_QUERY_SECONDS = 0.05
    with pytest.raises(OperationalError, match="statement timeout"), bounded() as cursor:
        cursor.execute("SELECT pg_sleep(5)")
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_sleep(0.1)")


def test_a_bad_address_is_no_fault_of_the_database(viewer: Client) -> None:
    answer = viewer.get(f"{PAGES[1]}?range=2h")
    assert answer.status_code == 400
    assert "range: use one of" in answer.content.decode()
    assert "vic" in answer.content.decode()


def test_a_pool_that_goes_meanwhile_is_not_found(
    viewer: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    look = services.usage_history

    def gone(*args: Any) -> Any:
        Pool.objects.all().delete()
        return look(*args)

    monkeypatch.setattr(services, "usage_history", gone)
    assert viewer.get(PAGES[1]).status_code == 404
