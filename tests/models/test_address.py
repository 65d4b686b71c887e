"""Where a provider's API key may be sent."""

from typing import Any

import pytest
from django.core.exceptions import ValidationError

from budget.models import Pool
from budget.models.address import provider_address


@pytest.mark.parametrize(
    "address",
    [
        "https://llm-gateway.internal/v1",
        "http://localhost:8080",
        "http://llmock:8000/v1/",
        "https://[::1]:8443/openai%20x",
    ],
)
def test_a_plain_address_is_taken(address: str) -> None:
    provider_address(address)


@pytest.mark.parametrize(
    "address",
    [
        "llm-gateway.internal",
        "ftp://llm-gateway.internal",
        "https://",
        "https://user:secret@gateway.internal",
        "https://evil.example\\@gateway.internal",
        "https://gateway.internal?key=1",
        "https://gateway.internal/#v1",
        "https://gateway.internal/v1\n",
        "https://gate way.internal",
        "https://g\u00e4teway.internal",
    ],
)
def test_anything_else_is_refused(address: str) -> None:
    with pytest.raises(ValidationError, match="Write scheme, host and path alone"):
        provider_address(address)


def test_only_the_operators_hosts_are_taken(settings: Any) -> None:
    settings.BUDGET_PROVIDER_HOSTS = ["LLM-gateway.internal", "localhost"]
    provider_address("https://llm-GATEWAY.internal/v1")
    provider_address("http://localhost:9")
    with pytest.raises(ValidationError) as refused:
        provider_address("https://llm-gateway.internal.evil.example/v1")
    assert refused.value.messages == [
        "The provider's API key may not be sent to llm-gateway.internal.evil.example. "
        "Allowed by BUDGET_PROVIDER_HOSTS: llm-gateway.internal, localhost."
    ]


@pytest.mark.django_db
def test_an_empty_set_of_hosts_allows_the_official_address_alone(settings: Any) -> None:
    settings.BUDGET_PROVIDER_HOSTS = []
    Pool.objects.create(slug="official", provider="openai")
    with pytest.raises(ValidationError, match="none, so leave it empty") as refused:
        Pool.objects.create(slug="other", provider="openai", base_url="https://gateway.internal")
    assert list(refused.value.message_dict) == ["base_url"]
