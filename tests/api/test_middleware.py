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


@pytest.mark.parametrize("path", ["/api/v1/admissions", "/api/v1/usage"])
def test_the_api_is_answered_without_the_middleware_below(path: str) -> None:
    assert not chain_reached(path)


@pytest.mark.parametrize("path", ["/", "/nothing", "/admin/", "/healthz", "/api/docs/"])
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
