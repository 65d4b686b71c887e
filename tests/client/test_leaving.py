"""A process ends, and the service hears how its calls did."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.client import answers
from tests.client.served import well
from tests.client.servers import Answer, Asked, serving

pytestmark = pytest.mark.processes

PROGRAM = """
import sys
import openai
from budget.client import Budget, BudgetTransport, Service, workload

action, provider, service = sys.argv[1:]
gate = Service(service, "k")
http = openai.DefaultHttpxClient(transport=BudgetTransport("claims", gate=gate))
chat = openai.OpenAI(api_key="k", base_url=f"{provider}/v1", http_client=http)
asked = {"model": "m", "messages": [{"role": "user", "content": "?"}], "max_tokens": 50}

def stream():
    made = chat.chat.completions.create(**asked, stream=True)
    next(iter(made))
    return made

with workload("adjuster"):
    if action == "call":
        chat.chat.completions.create(**asked)
    elif action == "drop":
        stream()
    elif action == "hold":
        held = stream()
    else:
        with Budget(gate=gate).admit("claims", input_tokens=9, output_tokens=3):
            sys.exit(0)
"""


@pytest.mark.parametrize(
    ("action", "outcome"),
    [("call", "succeeded"), ("drop", "failed"), ("hold", "failed"), ("exit", "failed")],
)
def test_a_call_is_settled_before_its_process_ends(action: str, outcome: str) -> None:
    def provide(asked: Asked) -> Answer:
        words: Any = answers.chat_stream(words=40)
        return answers.streamed(words, pause=0.05) if asked.json.get("stream") else answers.chat()

    with serving() as provider, serving() as service:
        provider.answer, service.answer = provide, well
        subprocess.run(
            [sys.executable, "-c", PROGRAM, action, provider.url, service.url],
            cwd=Path(__file__).parents[2],
            timeout=30,
            check=True,
        )
        (settled,) = service.to("/settle")
        assert settled.json["outcome"] == outcome
