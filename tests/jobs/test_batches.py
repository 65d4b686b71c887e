"""Bulk jobs on a batch endpoint, with both providers."""

from collections.abc import Iterator

import pytest

from budget import services
from budget.jobs import batches
from budget.jobs.clients import close_clients
from budget.models import Call, Job, JobBatch
from tests.jobs.bulk import ask, enqueued_tokens, make_bulk_pool, states, work, work_until_closed
from tests.jobs.provider import Provider, serving
from tests.ledger.pools import available


@pytest.fixture(params=["openai", "anthropic"])
def kind(request: pytest.FixtureRequest) -> str:
    """Either provider."""
    return str(request.param)


@pytest.fixture
def provider(monkeypatch: pytest.MonkeyPatch, settings: object) -> Iterator[Provider]:
    """One that answers, and keys for it."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-test")
    settings.BUDGET_BATCH_POLL_SECONDS = 0.01
    with serving() as one:
        yield one
        close_clients()


def test_a_batch_runs_from_collecting_to_results(provider: Provider, kind: str) -> None:
    make_bulk_pool(provider, kind)
    full = available()
    ids = [ask(f"ok {number}") for number in range(5)]
    work_until_closed()

    assert states(*ids) == ["succeeded"] * 5
    (batch,) = JobBatch.objects.all()
    assert (batch.state, batch.requests, batch.succeeded, batch.failed) == ("done", 5, 5, 0)
    assert set(provider.runs.values()) == {1}
    for number, job_id in enumerate(ids):
        assert f"did ok {number}".encode() in bytes(services.job(job_id)["result"])
    used = Call.objects.values_list(
        "of_batch", "used_input_tokens", "used_output_tokens", "used_cached_input_tokens"
    )
    assert set(used) == {(True, 7, 3, 4)}
    assert available() == pytest.approx(full)


def test_only_the_batch_endpoints_limits_are_charged(provider: Provider, kind: str) -> None:
    make_bulk_pool(provider, kind)
    provider.ends = ""
    full = available()
    ask(), ask()
    work()
    assert enqueued_tokens() == 300
    assert available() == pytest.approx(full)
    provider.ends = "completed"
    work_until_closed()
    assert enqueued_tokens() == 0
