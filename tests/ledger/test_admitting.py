"""Admission through the ledger."""

import pytest

from budget.models import Call, WorkloadClass
from tests.ledger.pools import admit, available, make_pool, settle

pytestmark = pytest.mark.usefixtures("classes")


def test_an_admitted_call_is_charged_and_stored() -> None:
    make_pool()
    admission = admit(tokens=1000)
    assert admission.admitted
    assert admission.charged == {"total_tokens": 1000}
    assert available() == pytest.approx(59_000, abs=600)
    call = Call.objects.get()
    assert (call.id, call.state, call.workload_class) == (admission.id, "open", "adjuster")


def test_settling_gives_back_what_was_not_used() -> None:
    make_pool()
    admission = admit(tokens=10_000)
    settle(admission.id, 4_000)
    assert available() == pytest.approx(56_000, abs=1000)
