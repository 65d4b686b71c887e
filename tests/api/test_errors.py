import logging

import pytest
from django.db import connection
from django.test import Client, RequestFactory

from budget.api import errors
from tests.api.conftest import CALL, Caller

PROBLEM = "application/problem+json"


@pytest.mark.parametrize("path", ["/api/", "/api/v1/nothing", "/api/v1/admissions/", "/healthz/"])
@pytest.mark.parametrize("method", ["get", "post"])
def test_an_unknown_path_of_the_api_is_a_problem(path: str, method: str) -> None:
    answer = getattr(Client(enforce_csrf_checks=True), method)(path)

    assert answer.status_code == 404
    assert answer.headers["Content-Type"] == PROBLEM
    assert answer.json()["status"] == 404


def test_an_address_that_has_the_apis_path_already_is_told_what_to_leave_off(
    client: Client,
) -> None:
    for path, says in (("/api/v1/api/v1/admissions", True), ("/api/v1/nothing", False)):
        answer = client.post(path)

        assert answer.status_code == 404
        assert ("leave /api/v1 off" in answer.json()["detail"]) is says


def test_an_unknown_page_stays_a_page(client: Client) -> None:
    answer = client.get("/nothing")

    assert answer.status_code == 404
    assert answer.headers["Content-Type"].startswith("text/html")


def test_an_unknown_host_is_a_problem_to_the_api(client: Client) -> None:
    answer = client.get("/api/v1/nothing", headers={"host": "evil.example"})

    assert answer.status_code == 400
    assert answer.headers["Content-Type"] == PROBLEM


@pytest.mark.parametrize("path", ["/api/schema/", "/api/docs/"])
def test_a_wrong_method_on_the_documents_is_a_problem(path: str) -> None:
    answer = Client(enforce_csrf_checks=True).post(path)

    assert answer.status_code == 405
    assert answer.headers["Content-Type"] == PROBLEM
    assert "GET" in answer.headers["Allow"]


@pytest.mark.parametrize("method", ["put", "patch", "delete", "options", "trace"])
def test_methods_nobody_offers_are_a_problem(method: str, client: Client) -> None:
    answer = getattr(client, method)("/api/v1/admissions")

    assert answer.status_code == 405
    assert answer.headers["Allow"] == "POST"
    assert answer.headers["Content-Type"] == PROBLEM


@pytest.mark.parametrize(
    ("handler", "status"),
    [(errors.bad_request, 400), (errors.permission_denied, 403), (errors.not_found, 404)],
)
def test_djangos_own_errors_are_problems_below_the_api_and_pages_elsewhere(
    handler, status: int
) -> None:
    for path, content_type in (("/api/v1/x", PROBLEM), ("/admin/x", "text/html")):
        answer = handler(RequestFactory().get(path), Exception())

        assert answer.status_code == status
        assert answer.headers["Content-Type"].startswith(content_type)


def test_a_crash_outside_the_api_stays_a_page() -> None:
    for path, content_type in (("/api/v1/x", PROBLEM), ("/admin/x", "text/html")):
        answer = errors.server_error(RequestFactory().get(path))

        assert answer.status_code == 500
        assert answer.headers["Content-Type"].startswith(content_type)


def test_an_unforeseen_error_is_logged_and_tells_nothing(caplog: pytest.LogCaptureFixture) -> None:
    request = RequestFactory().get("/api/v1/x")

    with caplog.at_level(logging.ERROR, logger="django.request"):
        problem = errors.problem_of(ZeroDivisionError("secret"), request)

    assert problem.status == 500
    assert "secret" not in problem.detail
    assert "secret" in caplog.text


@pytest.mark.django_db(transaction=True)
def test_a_database_that_is_away_is_a_503_with_a_time_to_retry(caller: Caller) -> None:
    name = connection.settings_dict["NAME"]
    connection.close()
    connection.settings_dict["NAME"] = "nowhere"
    try:
        answer = caller.admit()
    finally:
        connection.close()
        connection.settings_dict["NAME"] = name

    assert answer.status_code == 503
    assert int(answer.headers["Retry-After"]) >= 1
    assert answer.headers["Content-Type"] == PROBLEM
    assert CALL["pool"] not in answer.json()["detail"]
