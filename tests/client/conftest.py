"""A scripted gate, a provider that does as it is told, and the SDKs' clients between them."""

from collections.abc import Iterator

import anthropic
import openai
import pytest

from budget.client.meter import estimates
from budget.client.service import Service
from budget.client.testing import ScriptedGate
from budget.client.transport import BudgetTransport
from tests.client.served import well
from tests.client.servers import Server, serving


@pytest.fixture(autouse=True)
def _nothing_learned() -> None:
    """What calls of earlier tests used changes no estimate."""
    estimates._pasts.clear()


@pytest.fixture
def gate() -> ScriptedGate:
    return ScriptedGate()


@pytest.fixture
def provider() -> Iterator[Server]:
    with serving() as server:
        yield server


@pytest.fixture
def chat(gate: ScriptedGate, provider: Server) -> Iterator[openai.OpenAI]:
    transport = BudgetTransport("claims", gate=gate)
    http = openai.DefaultHttpxClient(transport=transport)
    with openai.OpenAI(api_key="k", base_url=f"{provider.url}/v1", http_client=http) as client:
        yield client


@pytest.fixture
def claude(gate: ScriptedGate, provider: Server) -> Iterator[anthropic.Anthropic]:
    transport = BudgetTransport("claims", gate=gate)
    http = anthropic.DefaultHttpxClient(transport=transport)
    with anthropic.Anthropic(api_key="k", base_url=provider.url, http_client=http) as client:
        yield client


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as server:
        server.answer = well
        yield server


@pytest.fixture
def service(server: Server) -> Iterator[Service]:
    service = Service(server.url, "prefix.secret")
    yield service
    service.close()
