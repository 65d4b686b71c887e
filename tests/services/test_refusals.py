"""A refusal as the response of a Django view."""

from datetime import UTC, datetime
from uuid import uuid4

import msgspec
import pytest
from django.test import RequestFactory

from budget.api.refusals import shed_response
from budget.ledger.errors import Shed
from budget.ledger.operations import Admission

REFUSED = Admission(
    id=uuid4(),
    admitted=False,
    pool="claims",
    workload_class="nightly",
    tier="bulk",
    deadline=datetime(2030, 1, 1, tzinfo=UTC),
    lease_expires=None,
    charged={},
    policy_version=1,
    reason="headroom",
    limit="requests/gauge",
    retryable=True,
    retry_after_ms=1500,
    detail="It costs <1> request.",
)


def test_a_browser_gets_a_page() -> None:
    request = RequestFactory().get("/", headers={"Accept": "text/html,*/*;q=0.8"})
    response = shed_response(request, Shed(REFUSED))
    assert (response.status_code, response["Retry-After"]) == (429, "2")
    page = response.content.decode()
    assert "try again in 2 seconds" in page
    assert "&lt;1&gt;" in page


@pytest.mark.parametrize("accept", ["application/json", "*/*", "application/problem+json"])
def test_a_program_gets_what_the_api_answers(accept: str) -> None:
    request = RequestFactory().get("/", headers={"Accept": accept})
    response = shed_response(request, Shed(REFUSED))
    assert (response.status_code, response["retry-after-ms"]) == (429, "1500")
    body = msgspec.json.decode(response.content)
    assert (body["reason"], body["decision"]) == ("headroom", "shed")


def test_a_refusal_for_good_names_no_time() -> None:
    never = msgspec.structs.replace(
        REFUSED, reason="never_fits", retryable=False, retry_after_ms=None
    )
    request = RequestFactory().get("/", headers={"Accept": "text/html"})
    response = shed_response(request, Shed(never))
    assert response.status_code == 422
    assert "Retry-After" not in response.headers
    assert "cannot be answered in time" in response.content.decode()
