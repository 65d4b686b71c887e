"""What Prometheus sees of the API."""

import re

import pytest
from django.test import Client

from tests.api.conftest import Caller

pytestmark = pytest.mark.django_db(transaction=True)


def counted(view: str, method: str, status: int) -> float:
    """How many such answers `/metrics` tells of."""
    line = f'by_status_view_method_total{{method="{method}",status="{status}",view="{view}"}} '
    found = re.search(re.escape(line) + r"(\S+)", Client().get("/metrics").content.decode())
    return float(found[1]) if found else 0


@pytest.mark.parametrize(
    ("changes", "status"),
    [({}, 201), ({"workload_class": None}, 429), ({"input_tokens": -1}, 400)],
)
def test_admissions_are_counted_by_status(caller: Caller, changes: dict, status: int) -> None:
    before = counted("budget:admissions", "POST", status)

    assert caller.admit(**changes).status_code == status

    assert counted("budget:admissions", "POST", status) == before + 1


def test_how_long_they_took_is_told(caller: Caller) -> None:
    caller.admit()

    told = Client().get("/metrics").content.decode()
    assert re.search(
        r'seconds_by_view_method_count\{method="POST",view="budget:admissions"\}', told
    )


def test_pages_are_counted_once() -> None:
    before = counted("budget:healthz", "GET", 200)

    Client().get("/healthz")

    assert counted("budget:healthz", "GET", 200) == before + 1


def test_made_up_methods_are_counted_as_one(caller: Caller) -> None:
    before = counted("budget:usage", "<invalid method>", 405)

    for method in ("FOO", "BAR"):
        Client().generic(method, "/api/v1/usage")

    assert counted("budget:usage", "<invalid method>", 405) == before + 2
