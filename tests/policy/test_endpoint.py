"""A batch endpoint is described as its provider has it."""

import pytest

from budget.models import Pool
from budget.models.choices import Provider
from budget.models.terms import pool_terms
from budget.policy.endpoint import endpoint_problems


def fields(**pool: object) -> list[tuple[str, str]]:
    terms = pool_terms(Pool(slug="p", **pool), [], [], [], version=1)
    return [(problem.field, problem.message) for problem in endpoint_problems(terms)]


@pytest.mark.parametrize("provider", ["anthropic", "openai"])
def test_the_defaults_suit_both_providers(provider: str) -> None:
    assert fields(provider=provider, batch=True) == []


@pytest.mark.parametrize("provider", set(Provider.values) - {"anthropic", "openai"})
def test_a_provider_without_one_here_is_refused(provider: str) -> None:
    ((field, message),) = fields(provider=provider, batch=True)
    assert field == "batch"
    assert f"no batch endpoint here for {provider}, only for anthropic and openai" in message
    assert fields(provider=provider) == []


def test_a_batch_is_no_larger_than_the_provider_takes() -> None:
    larger = {"batch": True, "batch_max_requests": 50_001, "batch_max_bytes": 200_000_001}
    assert fields(provider="anthropic", **larger) == []
    (requests, size) = fields(provider="openai", **larger)
    assert requests == (
        "batch_max_requests",
        "openai takes at most 50,000 requests a batch. Lower it to that.",
    )
    assert size[0] == "batch_max_bytes"
    assert "200,000,000 bytes" in size[1]
