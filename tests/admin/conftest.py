"""Who opens the admin: personas that differ in rights."""

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import Group, Permission, User
from django.test import Client
from django.urls import reverse

from budget.models import Pool, WorkloadClass
from budget.policy.groups import EDITORS, ON_CALL, VIEWERS
from tests.policies import claims_pool

Post = Callable[..., Any]


def client_with(name: str, *permissions: str) -> Client:
    """Somebody on the staff with these permissions, such as `change_pool`."""
    client = _client(name)
    User.objects.get(username=name).user_permissions.set(
        Permission.objects.filter(content_type__app_label="budget", codename__in=permissions)
    )
    return client


def _client(name: str, group: str | None = None, superuser: bool = False) -> Client:
    user = User.objects.create(username=name, is_staff=True, is_superuser=superuser)
    if group:
        user.groups.add(Group.objects.get(name=group))
    client = Client(REMOTE_ADDR="192.0.2.7")
    client.force_login(user)
    return client


@pytest.fixture
def editor() -> Client:
    """May change the policy."""
    return _client("ada", EDITORS)


@pytest.fixture
def other_editor() -> Client:
    """May change the policy too."""
    return _client("bob", EDITORS)


@pytest.fixture
def viewer() -> Client:
    """May look."""
    return _client("vic", VIEWERS)


@pytest.fixture
def on_call() -> Client:
    """May look, pause, drain and resume."""
    return _client("olga", ON_CALL)


@pytest.fixture
def staff() -> Client:
    """May enter the admin, and nothing else."""
    return _client("sam")


@pytest.fixture
def root() -> Client:
    """May do everything."""
    return _client("root", superuser=True)


@pytest.fixture
def anonymous() -> Client:
    """Is nobody."""
    return Client()


@pytest.fixture
def claims() -> Pool:
    """The claims platform's pool."""
    return claims_pool()


def url(page: str, *args: Any) -> str:
    """Address of an admin page, such as `pool_change`."""
    return reverse(f"admin:budget_{page}", args=args)


def pool_url(pool: Pool) -> str:
    """Address of a pool's form."""
    return url("pool_change", pool.pk)


def class_url(slug: str) -> str:
    """Address of a class's form."""
    return url("workloadclass_change", WorkloadClass.objects.get(slug=slug).pk)


def opened(client: Client, address: str) -> dict[str, Any]:
    """What the form at this address would post if nothing were changed, without a reason."""
    context = client.get(address).context
    forms = [context["adminform"].form]
    for inline in context["inline_admin_formsets"]:
        forms += [inline.formset.management_form, *inline.formset.forms]
    fields = {}
    for form in forms:
        for bound in form:
            value = bound.value()
            if value is True:
                fields[bound.html_name] = "on"
            elif value is not None and value is not False:
                fields[bound.html_name] = value
    return fields


def field_of(fields: dict[str, Any], owner: str, name: str) -> str:
    """The posted name of a reservation's field, by the slug of its class."""
    pk = WorkloadClass.objects.get(slug=owner).pk
    for key, value in fields.items():
        if key.endswith("-workload_class") and value == pk:
            return key.replace("workload_class", name)
    raise AssertionError(f"no reservation of {owner}")
