"""Rarer faults: answers in drops, keys that were copied badly, children of multiprocessing."""

import asyncio
import multiprocessing
import time
from typing import Any

import openai
import pytest

from budget.client.service import Service
from budget.client.testing import ScriptedGate
from budget.client.verdict import Admitted, Ending, Verdict
from budget.providers import Tokens
from tests.client import answers
from tests.client.served import ADMISSIONS, ask, until, well
from tests.client.servers import Answer, Asked, Server, serving
from tests.client.test_transport import ending

DROPS = [b" "] * 100


def dripping(asked: Asked) -> Answer:
    if asked.path != ADMISSIONS:
        return well(asked)
    return Answer(201, b"", {"Content-Type": "application/json"}, chunks=DROPS, pause=0.05)


@pytest.mark.parametrize("in_a_loop", [False, True], ids=["sync", "async"])
def test_a_service_that_answers_in_drops_is_away(in_a_loop: bool) -> None:
    async def admitted(gate: Service) -> Verdict:
        verdict = await gate.admit_async(ask(), gate)
        await gate.leave(gate)
        return verdict

    with serving() as server:
        server.answer = well
        gate = Service(server.url, "k")
        gate.admit(ask())
        until(lambda: gate._away.knows("claims"))
        server.answer = dripping
        began = time.monotonic()
        verdict = asyncio.run(admitted(gate)) if in_a_loop else gate.admit(ask())
        assert time.monotonic() - began < 1.5
        assert isinstance(verdict, Admitted)
        assert verdict.away == "local"
        server.answer = well
        gate.close()


@pytest.mark.parametrize("key", ["prefix.secret ", " prefix.secret", "prefix. secret"])
def test_a_key_with_spaces_is_refused_before_it_can_stand_in_an_error(key: str) -> None:
    with pytest.raises(ValueError, match="key") as refused:
        Service("http://budget.internal", key)
    assert "secret" not in str(refused.value)


def test_an_address_with_a_password_is_refused_without_saying_it() -> None:
    with pytest.raises(ValueError, match="url") as refused:
        Service("http://anna:geheim@budget.internal", "k")
    assert "geheim" not in str(refused.value)


def _call(gate: Service) -> None:
    verdict = gate.admit(ask())
    assert isinstance(verdict, Admitted)
    gate.settle(verdict, Ending("succeeded", Tokens(9, 9)))


def test_a_child_of_multiprocessing_settles_its_last_call_before_it_ends() -> None:
    with serving() as server:
        server.answer = well
        gate = Service(server.url, "k")
        gate.admit(ask())
        children = multiprocessing.get_context("fork")
        child = children.Process(target=_call, args=[gate])
        child.start()
        child.join(10)
        assert child.exitcode == 0
        child.close()
        assert len(server.to("/settle")) == 1
        gate.close()


def test_a_background_response_of_which_nobody_reads_on_counts_as_estimated(
    gate: ScriptedGate, provider: Server, chat: openai.OpenAI
) -> None:
    chunks = [answers.response_stream()[0]] * 50
    provider.answer = lambda asked: answers.streamed(chunks, pause=0.02)
    made: Any = chat.responses.create(
        model="gpt-5-mini", input="Covered?", background=True, stream=True, max_output_tokens=300
    )
    next(iter(made))
    made.close()
    (asked,) = gate.asks
    assert ending(gate) == Ending("failed", Tokens(asked.input_tokens, 300))
