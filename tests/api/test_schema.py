from typing import Any

import pytest
from django.contrib.staticfiles import finders
from django.test import Client

from budget.api import responses
from tests.api.conftest import Caller


@pytest.fixture
def schema(client: Client) -> dict[str, Any]:
    return client.get("/api/schema/?format=json").json()


def test_the_schema_names_every_operation(schema: dict[str, Any]) -> None:
    operations = {
        operation["operationId"] for path in schema["paths"].values() for operation in path.values()
    }

    assert schema["openapi"].startswith("3.1")
    assert operations == {
        "admit",
        "admit_batch",
        "cancel_job",
        "enqueue",
        "explain",
        "hear",
        "job",
        "observe",
        "pool",
        "renew",
        "settle",
        "untagged",
        "usage",
    }


def test_every_reference_leads_somewhere(schema: dict[str, Any]) -> None:
    found = set(references(schema))

    assert found
    assert found <= {f"#/components/schemas/{name}" for name in schema["components"]["schemas"]}


def test_every_operation_wants_a_key(schema: dict[str, Any]) -> None:
    for path in schema["paths"].values():
        for operation in path.values():
            assert operation["security"] == [{"ApiKey": []}]


def test_every_error_is_a_problem(schema: dict[str, Any]) -> None:
    for path in schema["paths"].values():
        for operation in path.values():
            for status, answer in operation["responses"].items():
                expected = "application/json" if status < "400" else "application/problem+json"
                assert list(answer["content"]) == [expected]


def test_every_field_of_a_request_is_explained(schema: dict[str, Any]) -> None:
    for name in (
        "AdmissionBody",
        "BatchItem",
        "SettleBody",
        "RenewBody",
        "JobBody",
        "ObservationBody",
        "SaidLimit",
        "CallerBody",
        "AwayBody",
    ):
        for field in schema["components"]["schemas"][name]["properties"].values():
            assert field["description"]


def test_the_schema_is_yaml_unless_json_is_asked_for(client: Client) -> None:
    assert client.get("/api/schema/").content.startswith(b"openapi: 3.1")


def test_the_page_loads_nothing_from_elsewhere(client: Client) -> None:
    page = client.get("/api/docs/").content.decode()

    assert "//" not in page.replace("<!DOCTYPE", "")
    assert "<style" not in page
    assert "<script>" not in page
    assert finders.find("drf_spectacular_sidecar/swagger-ui-dist/swagger-ui-bundle.js")


def test_the_script_of_the_page_knows_where_the_schema_is(client: Client) -> None:
    script = client.get("/api/docs/?script=")

    assert script.headers["Content-Type"].startswith("application/javascript")
    assert b"/api/schema/" in script.content


def test_views_that_are_not_the_budgets_are_left_out(schema: dict[str, Any]) -> None:
    assert all(path.startswith("/api/v1/") for path in schema["paths"])


def test_documented_amounts_of_a_batch_result_are_real_bodies(caller: Caller) -> None:
    named = {reference["$ref"].rpartition("/")[2] for reference in responses.BATCH_RESULT["anyOf"]}

    assert all(hasattr(responses, name) for name in named)


def references(node: Any) -> list[str]:
    if isinstance(node, dict):
        own = [node["$ref"]] if "$ref" in node else []
        return own + [found for value in node.values() for found in references(value)]
    if isinstance(node, list):
        return [found for value in node for found in references(value)]
    return []
