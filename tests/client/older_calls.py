"""Makes calls with SDKs that are on httpx, and prints what a scripted gate saw."""

import asyncio
import json
import sys
from typing import Any

import anthropic
import httpx
import openai

from budget.client.httpx import AsyncBudgetTransport, BudgetTransport
from budget.client.testing import ScriptedGate

MESSAGES: Any = [{"role": "user", "content": "Covered?"}]
CHAT: dict[str, Any] = {"model": "gpt-5-mini", "messages": MESSAGES}
CLAUDE: dict[str, Any] = {"model": "claude-sonnet-5", "messages": MESSAGES, "max_tokens": 50}


def shed(chat: openai.OpenAI, gate: ScriptedGate) -> list[Any]:
    gate.shed("headroom", retry_after=3)
    try:
        chat.chat.completions.create(**CHAT)
    except openai.RateLimitError as error:
        return [type(error).__name__, error.code, len(gate.asks)]
    return []


def calls(url: str, gate: ScriptedGate) -> dict[str, Any]:
    with (
        httpx.Client(transport=BudgetTransport("claims", gate=gate)) as http,
        httpx.Client(transport=BudgetTransport("claims", gate=gate)) as other,
    ):
        chat = openai.OpenAI(api_key="k", base_url=f"{url}/v1", http_client=http)
        claude = anthropic.Anthropic(api_key="k", base_url=url, http_client=other)
        refused = shed(chat, gate)
        chat.chat.completions.create(**CHAT)
        for _ in chat.chat.completions.create(**CHAT, stream=True):
            pass
        claude.messages.create(**CLAUDE)
        with claude.messages.stream(**CLAUDE) as stream:
            stream.get_final_text()
    libraries = [type(sdk._client).__mro__[-2].__module__ for sdk in (chat, claude)]
    return {"library": [name.partition(".")[0] for name in libraries], "shed": refused}


async def async_call(url: str, gate: ScriptedGate) -> None:
    transport = AsyncBudgetTransport("claims", gate=gate)
    async with httpx.AsyncClient(transport=transport) as http:
        chat = openai.AsyncOpenAI(api_key="k", base_url=f"{url}/v1", http_client=http)
        await chat.chat.completions.create(**CHAT)


def main(url: str) -> None:
    gate = ScriptedGate()
    told = calls(url, gate)
    asyncio.run(async_call(url, gate))
    told["endings"] = [[end.outcome, list(end.used)] for _, end in gate.endings]
    print(json.dumps(told))


if __name__ == "__main__":
    main(sys.argv[1])
