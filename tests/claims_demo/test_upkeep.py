"""A demo that is left running keeps an hour."""

import asyncio
from datetime import timedelta

import pytest

from budget import services
from budget.models import Call
from budget.services import AdmissionRequest
from claims_demo.claims import POOL
from claims_demo.storm import upkeep
from claims_demo.storm.stage import Stage
from claims_demo.storm.upkeep import forget_old_calls
from tests.ledger.pools import make_pool


def admit_and_settle(pool: str) -> None:
    asked = AdmissionRequest(pool=pool, workload_class="nightly", input_tokens=1, output_tokens=0)
    services.settle(services.admit(asked).id, "succeeded", 1, 0)


@pytest.mark.usefixtures("platform")
def test_the_demos_old_calls_are_forgotten_and_no_others(monkeypatch: pytest.MonkeyPatch) -> None:
    other = make_pool({"unit": "requests", "algorithm": "gauge", "amount": 50}, slug="other")
    admit_and_settle(POOL)
    admit_and_settle("other")
    monkeypatch.setattr(upkeep, "EVERY_SECONDS", 0.1)

    async def pass_by(kept: timedelta) -> None:
        monkeypatch.setattr(upkeep, "KEPT", kept)
        stage = Stage()
        task = asyncio.create_task(forget_old_calls(stage))
        await asyncio.sleep(0.5)
        stage.closing.set()
        await task

    asyncio.run(pass_by(timedelta(hours=1)))
    assert Call.objects.count() == 2
    asyncio.run(pass_by(timedelta(0)))
    assert [call.pool_id for call in Call.objects.all()] == [other.pk]
