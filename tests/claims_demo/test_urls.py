"""What the demo serves besides the app."""

import pytest
from django.test import Client


def test_the_bare_address_leads_to_the_claims(client: Client) -> None:
    answer = client.get("/")

    assert answer.status_code == 302
    assert answer.headers["Location"] == "/login/?next=/"


@pytest.mark.parametrize(("path", "status"), [("/favicon.ico", 204), ("/nothing", 404)])
def test_other_addresses(client: Client, path: str, status: int) -> None:
    assert client.get(path).status_code == status
