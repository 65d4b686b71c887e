"""What an earlier demo left doesn't trouble the next one."""

from pathlib import Path
from time import monotonic
from typing import Any

import pytest

from budget import services
from budget.models import JobBatch, Pool, WorkloadClass
from claims_demo import provider as providers
from claims_demo.claims.nightly import classify
from claims_demo.leftovers import UNKNOWN_BATCH, clear
from claims_demo.models import Claim
from claims_demo.models.storm import StormControl
from claims_demo.provider import Provider, provider
from tests.claims_demo.world import make_claim, put_policy_into_force
from tests.jobs.bulk import enqueued_tokens, work

REAL = Provider()


def turns(pool_or_class: Pool | WorkloadClass) -> list[tuple[bool, str, str]]:
    """What its history says of pauses: whether it was one, by which command and why."""
    events = type(pool_or_class).pgh_event_model.objects.filter(pgh_obj_id=pool_or_class.pk)
    return [
        (event.paused, (event.pgh_context or {}).get("command", ""), event.pgh_context["reason"])
        for event in events.order_by("-pgh_id")[:1]
    ]


@pytest.mark.django_db
def test_the_storm_is_left_to_the_weather_again() -> None:
    put_policy_into_force("")
    StormControl.objects.create(strength=10, chosen_by="ada")
    clear("claims", REAL)
    assert not StormControl.objects.exists()


@pytest.mark.usefixtures("committed")
def test_what_is_paused_is_resumed_and_the_history_says_by_whom(
    capsys: pytest.CaptureFixture[str],
) -> None:
    pool = put_policy_into_force("")
    Pool.objects.update(paused=True)
    WorkloadClass.objects.filter(slug="nightly").update(draining=True)
    WorkloadClass.objects.filter(slug="adjuster").update(paused=True)
    elsewhere = WorkloadClass.objects.create(
        slug="elsewhere", tier="bulk", deadline_seconds=60, paused=True
    )
    clear("claims", REAL)
    assert not Pool.objects.filter(paused=True).exists()
    assert list(WorkloadClass.objects.filter(paused=True)) == [elsewhere]
    assert not WorkloadClass.objects.filter(draining=True).exists()
    assert turns(pool) == [(False, "make demo", "make demo")]
    assert "Resumed: claims." in capsys.readouterr().out
    clear("claims", REAL)
    assert capsys.readouterr().out == ""


@pytest.mark.processes
def test_a_batch_that_only_an_earlier_local_provider_knew_is_sent_anew(
    committed: None, keys: None, settings: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(providers, "data_dir", lambda: tmp_path)
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    put_policy_into_force("")
    Pool.objects.update(batch_collect_seconds=0)
    make_claim()
    with provider() as earlier:
        settings.BUDGET_PROVIDER_BASE_URLS = earlier.base_urls
        classify(1)
        until = monotonic() + 20
        while not JobBatch.objects.exclude(provider_id="").exists():
            assert monotonic() < until, "the batch was never sent"
            work(0.1)
    lost = JobBatch.objects.exclude(provider_id="").get()
    with provider() as here:
        settings.BUDGET_PROVIDER_BASE_URLS = here.base_urls
        clear("claims", here)
        lost.refresh_from_db()
        assert (lost.state, lost.error) == ("failed", UNKNOWN_BATCH)
        assert enqueued_tokens() == 0
        assert services.queues("claims")["nightly"].depth == 1
        until = monotonic() + 20
        while not Claim.objects.exclude(category="").exists():
            assert monotonic() < until, "the batch never ended"
            work(0.5)


@pytest.mark.usefixtures("committed")
def test_a_batch_at_a_real_account_goes_on() -> None:
    pool = put_policy_into_force("")
    moment = pool.pgh_event_model.objects.latest("pgh_id").pgh_created_at
    batch = JobBatch.objects.create(
        id="00000000-0000-7000-8000-000000000001",
        pool_id=pool.pk,
        model="small",
        state="running",
        provider_id="batch_1",
        created_at=moment,
        next_look_at=moment,
    )
    clear("claims", REAL)
    batch.refresh_from_db()
    assert batch.state == "running"
