"""Where an edit comes from, as the history remembers it."""

from typing import Any

import pytest
from django.test import Client

from budget.models import Pool
from budget.policy import rows
from tests.admin.conftest import url

pytestmark = pytest.mark.django_db

FORGED = "203.0.113.9"


def address_of_edit(client: Client, pool: Pool) -> str:
    address = url("pool_switch", "pause") + f"?ids={pool.pk}"
    headers = {"X-Forwarded-For": f"{FORGED}, 198.51.100.4"}
    assert client.post(address, {"reason": "x"}, headers=headers).status_code == 302
    return str(rows.POOL.events.objects.latest("pgh_id").pgh_context["address"])


def test_a_header_counts_for_nothing_unless_a_proxy_sets_it(editor: Client, claims: Pool) -> None:
    assert address_of_edit(editor, claims) == "192.0.2.7"


def test_behind_a_proxy_the_address_it_added_counts(
    editor: Client, claims: Pool, settings: Any
) -> None:
    settings.BUDGET_CLIENT_ADDRESS_KEY = "HTTP_X_FORWARDED_FOR"
    assert address_of_edit(editor, claims) == "198.51.100.4"


def test_without_any_address_an_edit_still_works(
    editor: Client, claims: Pool, settings: Any
) -> None:
    settings.BUDGET_CLIENT_ADDRESS_KEY = "HTTP_X_REAL_IP"
    assert address_of_edit(editor, claims) == ""
