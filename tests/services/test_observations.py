"""Leaks, as a provider with real limits and headers gives them away."""

from typing import Any

import pytest

from budget import services
from budget.jobs import llm
from budget.ledger.view import look
from budget.models import Pool
from budget.providers.standing import ProviderLimit, Standing
from budget.services import Implausible
from tests.ledger.disturbances import eventually
from tests.ledger.pools import available, make_classes, make_pool
from tests.mock_provider import mock_provider

pytestmark = pytest.mark.usefixtures("committed")

LIMIT = {"unit": "total_tokens", "algorithm": "token_bucket", "amount": 60_000}
ARGS: dict[str, Any] = {
    "model": "gpt-4o-mini",
    "max_tokens": 900,
    "messages": [{"role": "user", "content": "hello"}],
}


@pytest.mark.processes
@pytest.mark.parametrize("kind", ["openai", "anthropic"])
def test_what_others_use_of_the_account_is_found(kind: str, monkeypatch: Any) -> None:
    monkeypatch.setenv(f"{kind.upper()}_API_KEY", "the account's")
    make_classes()
    with mock_provider("--tpm", "60000") as url:
        base_url = url + ("/anthropic" if kind == "anthropic" else "/v1")
        pool = make_pool({**LIMIT, "burst_percent": 50}, provider=kind, base_url=base_url)
        for _ in range(8):
            call()
        assert leaked(pool) == 0
        for _ in range(40):
            llm.ask("claims", ARGS, 5, lambda: False)
        call()
        assert eventually(lambda: leaked(pool) > 27_000)
        assert leaked(pool) < 38_000, "40 calls of some 900 tokens, but for what is tolerated"
        assert available() < 25_000, "of 30,000, though our own calls took a few"


def leaked(pool: Pool) -> int:
    return look(pool.pk).balances.leaked.get("total_tokens", 0)


def call() -> None:
    """One that asks first."""
    with services.admission("claims", "adjuster", 50, 900, wait_seconds=5) as admitted:
        reply = llm.ask("claims", ARGS, 5, lambda: False)
        if reply.used:
            admitted.settle(*reply.used)


BAD: dict[str, tuple[Standing, int]] = {
    "age_ms": (Standing(), 60_001),
    "refusal": (Standing(refusal="tired"), 0),  # type: ignore[arg-type]
    "limits": (Standing((ProviderLimit("requests", 1, 1),) * 5), 0),
    "limits[0].unit": (Standing((ProviderLimit("tokens", 1, 1),)), 0),  # type: ignore[arg-type]
    "limits[0].amount": (Standing((ProviderLimit("requests", -1, 1),)), 0),
    "limits[0].remaining": (Standing((ProviderLimit("requests", 1, 10**13),)), 0),
    "limits[0].reset_ms": (Standing((ProviderLimit("requests", 1, 1, float("nan")),)), 0),
    "retry_after_ms": (Standing(refusal="busy", retry_after_seconds=float("inf")), 0),
}


@pytest.mark.parametrize("field", BAD)
def test_what_cannot_be_right_is_refused_by_name(field: str) -> None:
    make_classes()
    make_pool(LIMIT)
    standing, age_ms = BAD[field]
    with pytest.raises(Implausible) as refused:
        services.observe("claims", standing, age_ms)
    assert refused.value.field == field


def test_telling_raises_nothing(caplog: pytest.LogCaptureFixture) -> None:
    services.tell("nowhere", Standing())
    assert not caplog.records
    services.tell("nowhere", Standing(refusal="money"))
    services.tell("nowhere", Standing(refusal="busy"))
    assert [record.getMessage() for record in caplog.records] == [
        "What the provider of pool nowhere said is lost: There is no pool 'nowhere'."
    ] * 2
