"""SDK, transport, service and ledger as they are deployed, and a provider with real limits."""

import gc
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import anthropic
import openai
import pytest
from django.db import connection

from budget import services
from budget.client import Budget, BudgetTransport, Denied, Service, Shed, workload
from budget.client.watch import watch
from budget.ledger.writers import stop_writers
from budget.models import AwayReport, Call, CallerProcess, Observation, WorkloadClass
from claims_demo.processes import free_port, web
from tests.api.conftest import make_key
from tests.client.served import until
from tests.ledger.pools import make_classes, make_pool
from tests.mock_provider import mock_provider

pytestmark = [pytest.mark.processes, pytest.mark.django_db(transaction=True)]

HOST = "127.0.0.1"
MESSAGES: Any = [{"role": "user", "content": "Is water damage covered?"}]
CHAT: dict[str, Any] = {"model": "gpt-4o-mini", "messages": MESSAGES, "max_tokens": 50}
TOKENS = {
    "unit": "total_tokens",
    "algorithm": "token_bucket",
    "amount": 600_000,
    "burst_percent": 10,
}
UNDER_WAY = {"unit": "requests", "algorithm": "gauge", "amount": 100}


@pytest.fixture(autouse=True)
def _own_writers() -> Iterator[None]:
    yield
    stop_writers()


@pytest.fixture
def classes() -> dict[str, WorkloadClass]:
    found = make_classes()
    make_pool(TOKENS, UNDER_WAY, shares={"adjuster": 50, "rescore": 20})
    return found


@pytest.fixture(scope="module")
def mock() -> Iterator[str]:
    with mock_provider("--stream-chunk-delay-ms", "20") as url:
        yield url


@contextmanager
def serving(port: int, log: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The service on the test database."""
    database = connection.settings_dict
    monkeypatch.setenv(
        "DATABASE_URL",
        f"postgresql://{database['USER']}:{database['PASSWORD']}"
        f"@{quote(database['HOST'], safe='')}:{database['PORT']}/{database['NAME']}",
    )
    with web(HOST, port, log):
        yield f"http://{HOST}:{port}"


@pytest.fixture
def url(
    classes: dict[str, WorkloadClass], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[str]:
    with serving(free_port(HOST), tmp_path / "web.log", monkeypatch) as address:
        yield address


@pytest.fixture
def gate(url: str) -> Iterator[Service]:
    gate = Service(url, make_key("all"))
    yield gate
    gate.close()


@contextmanager
def chat_of(gate: Service, mock: str) -> Iterator[openai.OpenAI]:
    http = openai.DefaultHttpxClient(transport=BudgetTransport("claims", gate=gate))
    with openai.OpenAI(api_key="k", base_url=f"{mock}/v1", http_client=http) as chat:
        yield chat


def under_way() -> float:
    """Requests that the gauge holds."""
    limits = services.pool_view("claims")["limits"]
    return next(100 - limit["available"] for limit in limits if limit["algorithm"] == "gauge")


def test_calls_of_both_sdks_are_in_the_ledger_as_the_provider_counted_them(
    gate: Service, mock: str
) -> None:
    http = anthropic.DefaultHttpxClient(transport=BudgetTransport("claims", gate=gate))
    with (
        chat_of(gate, mock) as chat,
        anthropic.Anthropic(api_key="k", base_url=f"{mock}/anthropic", http_client=http) as claude,
    ):
        with workload("adjuster", deadline=4.0, tenant="north"):
            usage = chat.chat.completions.create(**CHAT).usage
        with workload("rescore"):
            said = claude.messages.create(
                model="claude-sonnet-5", messages=MESSAGES, max_tokens=50
            ).usage
    assert gate.flush()
    assert usage is not None
    adjuster = Call.objects.get(workload_class="adjuster")
    assert (adjuster.state, adjuster.outcome) == ("settled", "succeeded")
    assert adjuster.tags == {"tenant": "north"}
    assert "test_end_to_end.py" in adjuster.source
    used = (adjuster.used_input_tokens, adjuster.used_output_tokens)
    assert used == (usage.prompt_tokens, usage.completion_tokens)
    rescore = Call.objects.get(workload_class="rescore")
    used = (rescore.used_input_tokens, rescore.used_output_tokens)
    assert used == (said.input_tokens, said.output_tokens)
    assert CallerProcess.objects.count() == 1


def test_an_untagged_call_is_refused_and_found_by_its_call_site(gate: Service, mock: str) -> None:
    with chat_of(gate, mock) as chat, pytest.raises(openai.RateLimitError) as refused:
        chat.chat.completions.create(**CHAT)
    assert refused.value.code == "untagged"
    assert "retry-after" not in refused.value.response.headers
    (shed,) = Call.objects.all()
    assert (shed.state, shed.reason, shed.untagged) == ("shed", "untagged", True)
    assert "test_an_untagged_call_is_refused" in shed.source


def test_fifty_abandoned_streams_leave_nothing_under_way(gate: Service, mock: str) -> None:
    with chat_of(gate, mock) as chat:
        with workload("adjuster"):
            for _ in range(50):
                iter(chat.chat.completions.create(**CHAT, stream=True))
        gc.collect()
        watch.settle_dropped()
        until(lambda: under_way() == 0, 20)
    assert Call.objects.filter(state="settled").count() == 50


def test_a_key_that_may_not_use_the_class_hears_so_at_once(
    url: str, classes: dict[str, WorkloadClass], mock: str
) -> None:
    gate = Service(url, make_key("nightly", classes=[classes["nightly"]]))
    with (
        chat_of(gate, mock) as chat,
        workload("adjuster"),
        pytest.raises(openai.PermissionDeniedError, match="adjuster"),
    ):
        chat.chat.completions.create(**CHAT)
    gate.close()


def test_a_wrong_key_hears_so_at_once(url: str, mock: str) -> None:
    gate = Service(url, "nobody.knows")
    with (
        chat_of(gate, mock) as chat,
        workload("adjuster"),
        pytest.raises(openai.AuthenticationError, match="Token Budget"),
    ):
        chat.chat.completions.create(**CHAT)
    with (
        pytest.raises(Denied),
        Budget(gate=gate).admit("claims", "adjuster", input_tokens=1, output_tokens=1),
    ):
        raise AssertionError("not admitted")
    gate.close()


def test_a_call_beyond_the_largest_is_refused_for_good(gate: Service) -> None:
    budget = Budget(gate=gate)
    with (
        pytest.raises(Shed) as shed,
        budget.admit("claims", "adjuster", input_tokens=70_000, output_tokens=0),
    ):
        raise AssertionError("not admitted")
    assert (shed.value.reason, shed.value.retry_after_seconds) == ("never_fits", None)


def test_the_plain_client_settles_what_it_is_told(gate: Service) -> None:
    with Budget(gate=gate).admit("claims", "rescore", input_tokens=100, output_tokens=50) as call:
        call.settle(90, 20)
    assert gate.flush()
    (stored,) = Call.objects.all()
    assert (stored.used_input_tokens, stored.used_output_tokens) == (90, 20)
    assert stored.refunded == {"total_tokens": 40}


def test_a_restart_of_the_service_costs_no_call_and_no_settlement(
    classes: dict[str, WorkloadClass],
    mock: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    port = free_port(HOST)
    gate = Service(f"http://{HOST}:{port}", make_key("all"))
    with chat_of(gate, mock) as chat:
        with serving(port, tmp_path / "first.log", monkeypatch), workload("adjuster"):
            chat.chat.completions.create(**CHAT)
            until(lambda: gate._away.knows("claims"))
        with workload("adjuster", deadline=2.0):
            began = time.monotonic()
            chat.chat.completions.create(**CHAT)
            assert time.monotonic() - began < 2
        with workload("rescore"), pytest.raises(openai.RateLimitError) as refused:
            chat.chat.completions.create(**CHAT)
        assert refused.value.code == "away"
        with serving(port, tmp_path / "second.log", monkeypatch):
            until(lambda: not gate._breaker.is_open, 20)
            with workload("adjuster"):
                chat.chat.completions.create(**CHAT)
            assert gate.flush()
            until(lambda: not gate._away.book.pools)
        gate.close()
    assert Call.objects.filter(state="settled").count() == 2


def test_what_was_used_during_an_outage_is_no_leak_at_the_provider(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_classes()
    make_pool({**TOKENS, "amount": 60_000, "burst_percent": 100}, shares={"adjuster": 50})
    port = free_port(HOST)
    gate = Service(f"http://{HOST}:{port}", make_key("all"))
    large = {**CHAT, "max_tokens": 900}
    with mock_provider("--tpm", "60000") as mock, chat_of(gate, mock) as chat:
        with serving(port, tmp_path / "first.log", monkeypatch), workload("adjuster"):
            chat.chat.completions.create(**large)
            until(lambda: gate._away.knows("claims"))
            assert gate.flush()
        with workload("adjuster"):
            for _ in range(30):
                chat.chat.completions.create(**large)
        with serving(port, tmp_path / "second.log", monkeypatch):
            until(lambda: not gate._breaker.is_open, 20)
            with workload("adjuster"):
                chat.chat.completions.create(**large)
            until(Observation.objects.exists)
        gate.close()
    seen = Observation.objects.get()
    assert seen.leaked == {}
    assert sum(report.admitted for report in AwayReport.objects.all()) == 30
    (limit,) = services.pool_view("claims")["limits"]
    assert limit["available"] < 60_000 - 10_000, "the level came down to what the provider had"
