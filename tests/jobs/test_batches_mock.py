"""Both providers' batches and calls end to end, with the mock provider as a process."""

from collections.abc import Iterator

import pytest

from budget import services
from budget.jobs import llm
from budget.models import Call, JobBatch
from tests.jobs.bulk import ask, enqueued_tokens, make_bulk_pool, states, work, work_until_closed
from tests.jobs.clusters import wait_for
from tests.jobs.test_llm import ARGS, attempt
from tests.ledger.pools import available
from tests.mock_provider import mock_provider

pytestmark = pytest.mark.processes

ADDRESSES = {"openai": "/v1", "anthropic": "/anthropic"}


@pytest.fixture
def mock(keys: None) -> Iterator[str]:
    """The address of one that answers."""
    with mock_provider() as url:
        yield url


def test_a_batch_and_a_call(mock: str, kind: str) -> None:
    make_bulk_pool(mock + ADDRESSES[kind], kind)
    full = available()
    ids = [ask(f"ok {number}") for number in range(20)]
    work()
    assert JobBatch.objects.get().state == "running"
    assert enqueued_tokens() == 20 * 150
    assert available() == full

    wait_for(lambda: [batch.state for batch in work_until_closed(rounds=1)] == ["done"])
    batch = JobBatch.objects.get()
    assert (batch.state, batch.succeeded) == ("done", 20)
    assert states(*ids) == ["succeeded"] * 20
    assert enqueued_tokens() == 0
    assert services.job(ids[0])["result"]
    assert all(Call.objects.values_list("used_output_tokens", flat=True))

    mine = attempt()
    assert llm.request(mine, **ARGS)["model"] == "small"
    assert mine.usage is not None
