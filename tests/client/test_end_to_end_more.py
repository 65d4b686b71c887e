"""From SDK to ledger, in one service for all tests: forks, clocks, and what is charged."""

import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import anthropic
import openai
import pytest

from budget.client import BudgetTransport, Service, workload
from budget.ledger.writers import stop_writers
from budget.models import Call, CallerProcess, Observation, Pool, WorkloadClass
from claims_demo.processes import free_port
from tests.api.conftest import make_key
from tests.client import answers
from tests.client.served import until
from tests.client.servers import Server
from tests.client.test_end_to_end import CHAT, HOST, MESSAGES, chat_of, serving
from tests.ledger.pools import TOKENS_A_MINUTE, WIDE_WINDOW, available, make_classes, make_pool
from tests.mock_provider import mock_provider

pytestmark = [pytest.mark.processes, pytest.mark.django_db(transaction=True)]

FORKING = """
import os
import sys
import openai
from budget.client import BudgetTransport, Service, workload

service, key, provider = sys.argv[1:]
gate = Service(service, key)
http = openai.DefaultHttpxClient(transport=BudgetTransport("claims", gate=gate))
chat = openai.OpenAI(api_key="k", base_url=f"{provider}/v1", http_client=http)

def call(who):
    with workload("adjuster", who=who):
        chat.chat.completions.create(
            model="gpt-4o-mini", messages=[{"role": "user", "content": "?"}], max_tokens=50
        )

call("alone")
child = os.fork()
call("parent" if child else "child")
sys.stdin.read()
if child:
    _, status = os.waitpid(child, 0)
    call("parent, after its child")
    sys.exit(os.waitstatus_to_exitcode(status))
"""
AN_HOUR = 3600.0
WINDOW = 100_000
"""Tokens of `WIDE_WINDOW`."""


@pytest.fixture(autouse=True)
def _own_writers() -> Iterator[None]:
    yield
    stop_writers()


@pytest.fixture(scope="module")
def url(django_db_setup: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    log = tmp_path_factory.mktemp("web") / "web.log"
    with (
        pytest.MonkeyPatch.context() as patch,
        serving(free_port(HOST), log, patch) as address,
    ):
        yield address


@pytest.fixture(scope="module")
def mock() -> Iterator[str]:
    with mock_provider() as address:
        yield address


@pytest.fixture
def classes() -> dict[str, WorkloadClass]:
    return make_classes()


@pytest.fixture
def pool(classes: dict[str, WorkloadClass]) -> Pool:
    """Its window shows exactly what was charged."""
    return make_pool(WIDE_WINDOW)


@pytest.fixture
def gate(url: str, classes: dict[str, WorkloadClass]) -> Iterator[Service]:
    gate = Service(url, make_key("all"))
    yield gate
    gate.close()


def charged(slug: str = "claims") -> float:
    return WINDOW - available(slug=slug)


def test_parent_and_child_of_a_fork_are_two_callers_and_all_of_their_calls_are_settled(
    pool: Pool, url: str, mock: str
) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", FORKING, url, make_key("all"), mock],
        cwd=Path(__file__).parents[2],
        stdin=subprocess.PIPE,
    ) as program:
        until(lambda: CallerProcess.objects.count() == 2, 20)
        one, other = CallerProcess.objects.all()
        assert one.process != other.process
        assert one.name != other.name
    assert program.returncode == 0
    assert not CallerProcess.objects.exists(), "both said farewell"
    calls = Call.objects.all()
    assert sorted(call.tags["who"] for call in calls) == [
        "alone",
        "child",
        "parent",
        "parent, after its child",
    ]
    assert {(call.state, call.outcome) for call in calls} == {("settled", "succeeded")}
    assert not calls.exclude(lapsed_at=None).exists()


def test_an_embedding_is_charged_its_input_in_the_ledger(
    pool: Pool, gate: Service, mock: str
) -> None:
    texts = ["Water came through the ceiling."] * 20
    with chat_of(gate, mock) as chat, workload("nightly"):
        made = chat.embeddings.create(model="text-embedding-3-small", input=texts)
    assert gate.flush()
    (call,) = Call.objects.all()
    assert call.input_tokens > 20
    assert (call.outcome, call.used_output_tokens) == ("succeeded", 0)
    assert call.used_input_tokens == made.usage.prompt_tokens > 0
    assert charged() == made.usage.prompt_tokens


def test_a_400_for_tokens_per_minute_brings_a_full_level_down(
    classes: dict[str, WorkloadClass], gate: Service, provider: Server
) -> None:
    make_pool(TOKENS_A_MINUTE)
    assert available() == 60_000
    drained = {
        "x-ratelimit-limit-tokens": "600000",
        "x-ratelimit-remaining-tokens": "0",
        "x-ratelimit-reset-tokens": "1m0s",
    }
    provider.answer = lambda asked: answers.error(400, "tokens_per_minute", **drained)
    with (
        chat_of(gate, provider.url) as chat,
        workload("adjuster"),
        pytest.raises(openai.BadRequestError),
    ):
        chat.chat.completions.create(**CHAT)
    assert gate.flush()
    seen = Observation.objects.get()
    assert seen.leaked["total_tokens"] == pytest.approx(600_000, rel=0.05)
    # 10,000 a second come back.
    assert available() < 50_000
    (call,) = Call.objects.all()
    assert (call.outcome, call.used_input_tokens, call.used_output_tokens) == ("failed", 0, 0)


def test_cached_input_is_charged_where_the_provider_does(
    classes: dict[str, WorkloadClass], gate: Service, provider: Server
) -> None:
    make_pool(WIDE_WINDOW, provider="anthropic")
    make_pool(WIDE_WINDOW, slug="other", provider="openai")
    provider.answer = lambda asked: (
        answers.message(cache_read_input_tokens=100, cache_creation_input_tokens=30)
        if asked.path.endswith("/messages")
        else answers.chat()
    )
    http = anthropic.DefaultHttpxClient(transport=BudgetTransport("claims", gate=gate))
    others = openai.DefaultHttpxClient(transport=BudgetTransport("other", gate=gate))
    with (
        anthropic.Anthropic(api_key="k", base_url=provider.url, http_client=http) as claude,
        openai.OpenAI(api_key="k", base_url=provider.url, http_client=others) as chat,
        workload("adjuster"),
    ):
        claude.messages.create(model="claude-sonnet-5", messages=MESSAGES, max_tokens=50)
        chat.chat.completions.create(**CHAT)
    assert gate.flush()
    # 20 plain, 30 written to the cache and 9 of output; 100 were read from it.
    assert charged("claims") == 20 + 30 + 9
    # 42, of which 10 were read from the cache, and 7 of output.
    assert charged("other") == 42 + 7
    cached = Call.objects.values_list("used_cached_input_tokens", flat=True)
    assert set(cached) == {10, 100}


def test_a_callers_clock_that_is_hours_off_changes_no_deadline_and_no_lease(
    classes: dict[str, WorkloadClass],
    gate: Service,
    provider: Server,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    WorkloadClass.objects.filter(slug="adjuster").update(max_call_seconds=3)
    make_pool(WIDE_WINDOW)
    chunks = answers.chat_stream(words=30, usage=answers.USAGE)
    provider.answer = lambda asked: answers.streamed(chunks, pause=0.1)
    real = time.time
    with chat_of(gate, provider.url) as chat, workload("adjuster", deadline=2.0):
        monkeypatch.setattr(time, "time", lambda: real() + AN_HOUR)
        for n, _ in enumerate(chat.chat.completions.create(**CHAT, stream=True)):
            if n == 5:
                monkeypatch.setattr(time, "time", lambda: real() - AN_HOUR)
        assert gate.flush()
        monkeypatch.setattr(time, "time", real)
    (call,) = Call.objects.all()
    assert 1.5 < (call.deadline - call.offered_at).total_seconds() <= 2.0
    assert (call.state, call.outcome, call.lapsed_at) == ("settled", "succeeded", None)
    assert call.lease_expires is not None
    assert call.lease_expires > call.offered_at + timedelta(seconds=3.5), "it was renewed"
    assert charged() == 49
