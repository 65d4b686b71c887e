from datetime import datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.http import HttpResponse

from budget.models import Call
from tests.api.conftest import ADMISSIONS, Caller
from tests.jobs.queueing import take_one

pytestmark = pytest.mark.django_db(transaction=True)


def test_renewing_extends_the_lease(caller: Caller) -> None:
    admitted = caller.admit().json()

    answer = renew(caller, admitted["id"], extend_ms=300_000)

    assert answer.status_code == 200
    assert set(answer.json()) == {"id", "lease_expires"}
    later = datetime.fromisoformat(answer.json()["lease_expires"])
    assert later >= datetime.fromisoformat(admitted["lease_expires"]) + timedelta(seconds=1)


def test_a_settled_call_cannot_be_renewed(caller: Caller) -> None:
    admitted = caller.admit().json()
    caller.settle(admitted["id"], outcome="cancelled")

    assert renew(caller, admitted["id"], extend_ms=1000).status_code == 409


def test_a_shed_call_cannot_be_renewed(caller: Caller) -> None:
    shed = caller.admit(workload_class=None).json()

    assert renew(caller, shed["id"], extend_ms=1000).status_code == 409


def test_an_unknown_or_anothers_call_is_not_found(caller: Caller, other_caller: Caller) -> None:
    admitted = caller.admit().json()

    assert renew(caller, str(uuid4()), extend_ms=1000).status_code == 404
    assert renew(other_caller, admitted["id"], extend_ms=1000).status_code == 404


@pytest.mark.parametrize("extend_ms", [0, -1, 1.5, "1000", None, 86_400_001])
def test_an_extension_out_of_range_is_refused_by_name(extend_ms: Any, caller: Caller) -> None:
    admitted = caller.admit().json()

    answer = renew(caller, admitted["id"], extend_ms=extend_ms)

    assert answer.status_code == 400
    assert answer.json()["field"] == "extend_ms"


def renew(caller: Caller, admission_id: str, **body: Any) -> HttpResponse:
    return caller.post(f"{ADMISSIONS}/{admission_id}/renew", body)


def test_a_jobs_call_is_not_its_producers_to_renew(caller: Caller) -> None:
    caller.enqueue()
    job = take_one()

    answer = renew(caller, job.call_id, extend_ms=86_400_000)

    assert answer.status_code == 409
    assert str(job.id) in answer.json()["detail"]
    assert Call.objects.get(pk=job.call_id).lease_expires == job.lease_expires
