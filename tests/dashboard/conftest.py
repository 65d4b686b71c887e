"""Who opens the dashboard: personas that differ in rights."""

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
from django.contrib.auth.models import Group, User
from django.test import Client
from pytest_django.live_server_helper import LiveServer

from budget.models import Pool
from budget.policy.groups import EDITORS, ON_CALL, VIEWERS
from tests.dashboard.usage import storm
from tests.dashboard.watching import Watcher, watching
from tests.policies import claims_pool


def somebody(name: str, group: str | None = None, superuser: bool = False) -> User:
    """A user with a login; on the staff if anything more than that."""
    user = User.objects.create(
        username=name, is_staff=bool(group) or superuser, is_superuser=superuser
    )
    if group:
        user.groups.add(Group.objects.get(name=group))
    return user


def client_of(user: User) -> Client:
    """A browser in which somebody is logged in."""
    client = Client(REMOTE_ADDR="192.0.2.7")
    client.force_login(user)
    return client


@pytest.fixture
def anonymous() -> Client:
    """Is nobody."""
    return Client()


@pytest.fixture
def stranger() -> Client:
    """Has a login, and no permission."""
    return client_of(somebody("sam"))


@pytest.fixture
def viewer() -> Client:
    """May look."""
    return client_of(somebody("vic", VIEWERS))


@pytest.fixture
def on_call() -> Client:
    """May look, pause and resume."""
    return client_of(somebody("olga", ON_CALL))


@pytest.fixture
def editor() -> Client:
    """May change the policy."""
    return client_of(somebody("ada", EDITORS))


@pytest.fixture
def root() -> Client:
    """May do everything."""
    return client_of(somebody("root", superuser=True))


@pytest.fixture
def claims() -> Pool:
    """The claims platform's pool."""
    return claims_pool()


@pytest.fixture
def history(claims: Pool) -> datetime:
    """An hour of the claims pool with a storm in it; when the hour began. See `storm`."""
    return storm(claims, datetime.now(UTC).replace(second=0, microsecond=0))


@pytest.fixture
def session(committed: None) -> str:
    """The login of an editor's browser."""
    return client_of(somebody("ada", EDITORS)).cookies["sessionid"].value


@pytest.fixture
def watcher(history: datetime, live_server: LiveServer, session: str) -> Iterator[Watcher]:
    """An editor's browser, and an hour with a storm in it on the claims pool."""
    with watching(live_server.url, session) as found:
        yield found
