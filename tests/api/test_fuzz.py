"""The API against its own schema: whatever is sent, the answer is documented and never a 500."""

from typing import Any
from uuid import uuid4

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from schemathesis import Case, GenerationMode
from schemathesis.specs.openapi import checks

from budget.models import Pool
from claims_demo.wsgi import application
from tests.api.conftest import Caller
from tests.jobs.queueing import ECHO

pytestmark = pytest.mark.django_db(transaction=True)

EXAMPLES = settings(
    max_examples=40,
    deadline=None,
    derandomize=True,
    suppress_health_check=list(HealthCheck),
)
OPERATIONS = [
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
]

LEFT_OUT = [
    # A call may be well-formed and never fit (422), or ask for a longer deadline (400); a job
    # may name a task that nobody registered, or arguments that it doesn't take.
    checks.positive_data_acceptance,
    # A batch answers 200 and refuses its calls one by one.
    checks.negative_data_rejection,
]


@pytest.fixture
def known(caller: Caller, small_pool: Pool) -> dict[str, Any]:
    """Values that lead past "not found", by the name of the field or parameter."""
    ids = [caller.admit(workload_class="nightly").json()["id"] for _ in range(20)]
    ids += [caller.admit(workload_class=None).json()["id"], str(uuid4())]
    return {
        "admission_id": ids,
        "class": ["adjuster", "nightly"],
        "deadline_ms": [1000],
        "from": ["2026-01-01T00:00:00Z"],
        "input_tokens": [1, 100],
        "job_id": [caller.enqueue().json()["id"] for _ in range(5)],
        "output_tokens": [1, 100],
        "pool": ["claims", "small"],
        "slug": ["claims", "small"],
        "task": [ECHO],
        "to": ["2026-01-02T00:00:00Z"],
        "workload_class": ["adjuster", "rescore", "nightly"],
    }


@pytest.mark.parametrize("mode", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE])
@pytest.mark.parametrize("operation_id", OPERATIONS)
def test_no_request_gets_an_answer_outside_the_schema(
    operation_id: str, mode: GenerationMode, caller: Caller, known: dict[str, Any]
) -> None:
    schema = schemathesis.openapi.from_wsgi("/api/schema/?format=json", application)
    operation = schema.find_operation_by_id(operation_id)

    @EXAMPLES
    @given(operation.as_strategy(generation_mode=mode), st.data())
    def ask(case: Case, data: st.DataObject) -> None:
        for values in (case.body, case.path_parameters, case.query):
            make_known(values, known, data)
        case.call_and_validate(
            headers={"Authorization": f"Api-Key {caller.key}"}, excluded_checks=LEFT_OUT
        )

    ask()


def make_known(values: Any, known: dict[str, Any], data: st.DataObject) -> None:
    """Puts values that exist in the place of most made-up ones."""
    if not isinstance(values, dict):
        return
    for name in sorted(values.keys() & known.keys()):
        values[name] = data.draw(st.sampled_from([values[name], *known[name]]))
    for item in values.get("admissions") or []:
        make_known(item, known, data)
