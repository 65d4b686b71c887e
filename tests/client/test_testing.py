"""The stand-in that callers test their code with."""

import asyncio
import subprocess
import sys
import textwrap
import threading
from pathlib import Path
from typing import Any

import openai
import pytest

from budget.client import AsyncBudget, Budget, BudgetTransport, Shed, stand_in, testing, workload
from budget.client.testing import REASONS, ScriptedGate, scripted
from budget.providers.standing import Standing
from budget.rule import decision as rule
from tests.client import answers
from tests.client.served import well
from tests.client.servers import Server, serving

CALL: dict[str, Any] = {"input_tokens": 100, "output_tokens": 50}
CHAT: dict[str, Any] = {
    "model": "m",
    "messages": [{"role": "user", "content": "?"}],
    "max_tokens": 9,
}

APP = """
import openai
from budget.client import BudgetTransport, workload

NOWHERE = "http://127.0.0.1:9"
transport = BudgetTransport("claims", url=NOWHERE, key="k")
chat = openai.OpenAI(
    api_key="k",
    max_retries=0,
    base_url=f"{NOWHERE}/v1",
    http_client=openai.DefaultHttpxClient(transport=transport),
)


@workload("adjuster", deadline=2.0)
def ask(question):
    try:
        said = chat.chat.completions.create(
            model="gpt-5-mini", messages=[{"role": "user", "content": question}], max_tokens=50
        )
    except openai.RateLimitError:
        return "Come back later."
    return said.choices[0].message.content
"""
TESTS = """
import pytest
import openai

from app import ask

{example}

def test_nothing_is_left_of_another_test(budget_gate):
    assert (budget_gate.asks, budget_gate.endings, budget_gate.standings) == ([], [], [])
    with pytest.raises(openai.APIConnectionError):
        ask("Is fire covered?")
    (ending,) = budget_gate.endings
    assert ending[1].outcome == "cancelled"


def test_without_the_fixture_the_service_is_asked():
    assert ask("Is wind covered?") == "Come back later."
"""


def run(directory: Path, *options: str) -> str:
    """A run of pytest in an app of its own, all of which passes."""
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:django", "-p", "no:xdist", *options],
        cwd=directory,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def example() -> str:
    """The test that the module's docstring shows."""
    _, _, shown = (testing.__doc__ or "").partition("before:\n\n")
    return textwrap.dedent(shown.partition("\n\nCalls")[0])


@pytest.mark.processes
@pytest.mark.parametrize("way", ["conftest", "option"])
def test_the_docstrings_example_works_in_an_app(tmp_path: Path, way: str) -> None:
    (tmp_path / "app.py").write_text(APP)
    (tmp_path / "test_app.py").write_text(TESTS.format(example=example()))
    if way == "conftest":
        (tmp_path / "conftest.py").write_text('pytest_plugins = ["budget.client.testing"]\n')
    options = ["-p", "budget.client.testing"] if way == "option" else []
    assert "3 passed" in run(tmp_path, *options)


# Standing in


@pytest.fixture
def service() -> Any:
    with serving() as server:
        server.answer = well
        yield server


def test_it_stands_in_for_gates_made_before_and_only_in_its_block(
    service: Server, provider: Server
) -> None:
    provider.answer = lambda asked: answers.chat()
    transport = BudgetTransport("claims", url=service.url, key="before")
    http = openai.DefaultHttpxClient(transport=transport)
    budget = Budget(service.url, "before")
    with openai.OpenAI(api_key="k", base_url=f"{provider.url}/v1", http_client=http) as chat:
        with scripted() as gate, workload("adjuster"):
            chat.chat.completions.create(**CHAT)
            with budget.admit("claims", **CALL):
                pass
            gate.shed("headroom")
            with pytest.raises(openai.RateLimitError):
                chat.chat.completions.create(**CHAT)
        assert len(gate.asks) == 3
        assert [ending.used.input for _, ending in gate.endings] == [42, 100]
        assert service.asked == []
        with workload("adjuster"):
            chat.chat.completions.create(**CHAT)
        assert len(gate.asks) == 3
        assert len(service.to("/admissions")) == 1


def test_what_is_made_while_it_stands_in_goes_to_the_service_afterwards(
    service: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TOKEN_BUDGET_URL", raising=False)
    with scripted() as gate:
        nowhere = Budget()
        budget = Budget(service.url, "during")
        for made in (nowhere, budget):
            with made.admit("claims", "adjuster", **CALL):
                pass
    assert len(gate.asks) == 2
    with budget.admit("claims", "adjuster", **CALL):
        pass
    assert len(gate.asks) == 2
    assert len(service.to("/admissions")) == 1
    with pytest.raises(ValueError, match=r"^url: "), nowhere.admit("claims", **CALL):
        raise AssertionError("not admitted")


def test_one_within_another_gives_way_again() -> None:
    with scripted() as outer:
        with scripted() as inner:
            assert stand_in.present() is inner
        assert stand_in.present() is outer
    assert stand_in.present() is None


def test_after_an_error_it_stands_in_no_more() -> None:
    with pytest.raises(ZeroDivisionError), scripted():
        raise ZeroDivisionError
    assert stand_in.present() is None


# The script


def test_it_sheds_the_next_calls_and_admits_those_after(gate: ScriptedGate) -> None:
    gate.shed("ceiling", times=2)
    gate.deny("No.")
    asked: list[str] = []
    for _ in range(4):
        try:
            with Budget(gate=gate).admit("claims", deadline=9.0, **CALL):
                asked.append("admitted")
        except Shed as shed:
            asked.append(shed.reason)
        except Exception as denied:
            asked.append(str(denied))
    assert asked == ["ceiling", "ceiling", "No.", "admitted"]


def test_what_never_fits_is_answered_as_by_the_service(
    gate: ScriptedGate, chat: openai.OpenAI
) -> None:
    gate.shed("never_fits")
    with pytest.raises(openai.UnprocessableEntityError):
        chat.chat.completions.create(**CHAT)


def test_async_code_is_shed_alike(gate: ScriptedGate) -> None:
    async def asks() -> None:
        with pytest.raises(Shed):
            async with AsyncBudget(gate=gate).admit("claims", **CALL):
                raise AssertionError("not admitted")

    gate.shed()
    asyncio.run(asks())


def test_each_refusal_is_given_once_however_many_threads_ask(gate: ScriptedGate) -> None:
    gate.shed(times=50)
    shed: list[str] = []

    def ask() -> None:
        for _ in range(20):
            try:
                with Budget(gate=gate).admit("claims", **CALL):
                    pass
            except Shed as refused:
                shed.append(refused.reason)

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(shed) == 50
    assert (len(gate.asks), len(gate.endings)) == (160, 110)


def test_what_a_provider_said_is_kept(
    gate: ScriptedGate, provider: Server, chat: openai.OpenAI
) -> None:
    headers = {"x-ratelimit-limit-requests": "60", "x-ratelimit-remaining-requests": "59"}
    provider.answer = lambda asked: answers.chat(**headers)
    chat.chat.completions.create(**CHAT)
    (standing,) = gate.standings
    assert isinstance(standing, Standing)
    assert standing.limits[0].remaining == 59


def test_reasons_are_those_of_the_service_but_for_jobs() -> None:
    assert {*REASONS} == {*rule.REASONS} - {"queue_full"} | {"away"}
    with pytest.raises(ValueError, match="haedroom"):
        ScriptedGate().shed("haedroom")
