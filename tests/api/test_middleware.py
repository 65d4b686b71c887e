import pytest
from django.http import HttpResponse
from django.test import Client, RequestFactory
from django.urls import resolve

from budget.api.middleware import ApiMiddleware


def chain_reached(path: str) -> bool:
    """Whether a request gets to the middleware below."""
    reached = []

    def below(request) -> HttpResponse:
        reached.append(request)
        return HttpResponse()

    ApiMiddleware(below)(RequestFactory().get(path))
    return bool(reached)


@pytest.mark.parametrize(
    "path", ["/api/v1/admissions", "/api/v1/usage", "/healthz", "/readyz", "/metrics"]
)
@pytest.mark.django_db(transaction=True)
def test_the_api_and_probes_are_answered_without_the_middleware_below(path: str) -> None:
    assert not chain_reached(path)


@pytest.mark.parametrize("path", ["/", "/nothing", "/admin/", "/api/docs/"])
def test_everything_else_goes_down_the_chain(path: str) -> None:
    assert chain_reached(path)


def test_the_view_is_told_which_url_matched() -> None:
    request = RequestFactory().get("/api/v1/usage")

    ApiMiddleware(lambda _: HttpResponse())(request)

    assert request.resolver_match.view_name == resolve("/api/v1/usage").view_name


def test_a_call_to_the_api_is_given_no_session(client: Client) -> None:
    answer = client.get("/api/v1/usage")

    assert not hasattr(answer.wsgi_request, "session")
    assert not hasattr(answer.wsgi_request, "user")
    assert answer.headers["X-Content-Type-Options"] == "nosniff"


@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/metrics"])
@pytest.mark.django_db(transaction=True)
def test_probes_are_answered_whatever_the_host(path: str, client: Client) -> None:
    assert client.get(path, headers={"host": "10.0.0.7:8000"}).status_code == 200


def test_the_api_answers_to_its_own_names_only(client: Client) -> None:
    answer = client.get("/api/v1/usage", headers={"host": "evil.example"})

    assert answer.status_code == 400
    assert answer.headers["Content-Type"] == "application/problem+json"
    assert answer.json()["field"] == "Host"


@pytest.mark.parametrize("path", ["/api/v1/usage", "/api/v1/nothing", "/admin/"])
def test_a_foreign_host_is_logged_without_a_traceback(
    path: str, client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    assert client.get(path, headers={"host": "evil.example"}).status_code == 400

    assert caplog.records
    assert not any(record.exc_info for record in caplog.records)
