"""Jobs commit: every test of them leaves an empty database behind."""

from collections.abc import Iterator

import pytest

from budget.jobs import clients
from tests.jobs.provider import Provider, serving


@pytest.fixture(autouse=True)
def _committed(committed: None) -> None:
    """Each statement commits, as outside of tests."""


@pytest.fixture(params=["openai", "anthropic"])
def kind(request: pytest.FixtureRequest) -> str:
    """Either provider."""
    return str(request.param)


@pytest.fixture
def keys(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Keys for both providers, and no connection left open afterwards."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-test")
    yield
    while clients._clients:
        clients._clients.popitem()[1].api.close()


@pytest.fixture
def provider(keys: None) -> Iterator[Provider]:
    """A provider of both kinds."""
    with serving() as one:
        yield one
