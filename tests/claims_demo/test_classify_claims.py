"""manage.py classify_claims."""

from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from budget.models import Job, Pool, WorkloadClass
from claims_demo.claims.nightly import due
from tests.claims_demo.world import make_claim

pytestmark = pytest.mark.usefixtures("platform")


def run(**options: Any) -> str:
    said = StringIO()
    call_command("classify_claims", stdout=said, **options)
    return said.getvalue()


def test_everything_that_is_due_is_enqueued() -> None:
    for _ in range(26):
        make_claim()
    assert run() == "Enqueued 26 claims; categories appear as the batches end.\n"
    assert Job.objects.count() == 26
    assert run() == "Nothing is due: no claim has changed since it was classified.\n"


def test_it_waits_for_room_but_not_for_ever() -> None:
    WorkloadClass.objects.filter(slug="nightly").update(queue_limit=4)
    for _ in range(6):
        make_claim()
    with pytest.raises(CommandError, match="2 claims wait: no room within"):
        run(timeout=0.1)
    assert due().count() == 2


def test_a_policy_without_the_pool_is_said() -> None:
    make_claim()
    Pool.objects.all().delete()
    with pytest.raises(CommandError, match="claims"):
        run()
