"""Programs that call and end: `python -m tests.services.leaving ACTION PROVIDER`.

They have the test database of whoever starts them, and say nothing.
"""

import os
import sys
from typing import Any

MESSAGES: Any = [{"role": "user", "content": "Is water damage covered?"}]
CHAT: dict[str, Any] = {"model": "in-process", "messages": MESSAGES, "max_tokens": 50}

NEEDS: dict[str, int] = {"input_tokens": 9, "output_tokens": 3}


def client(provider: str, gate: Any = None) -> Any:
    import openai

    from budget.client import BudgetTransport
    from budget.services.gate import LedgerGate

    transport = BudgetTransport("claims", gate=gate or LedgerGate())
    http = openai.DefaultHttpxClient(transport=transport)
    return openai.OpenAI(api_key="k", base_url=f"{provider}/v1", http_client=http)


def call(provider: str) -> None:
    """Ends right after a call."""
    from budget.client import workload

    with workload("adjuster"):
        client(provider).chat.completions.create(**CHAT)


def drop(provider: str) -> None:
    """Ends with a stream that it dropped in its middle."""
    from budget.client import workload

    with workload("adjuster"):
        next(iter(client(provider).chat.completions.create(**CHAT, stream=True)))


def hold(provider: str) -> None:
    """Ends with a stream in its hands."""
    from budget.client import workload

    with workload("adjuster"):
        stream = client(provider).chat.completions.create(**CHAT, stream=True)
    next(iter(stream))
    sys.modules[__name__].held = stream  # type: ignore[attr-defined]


def fail(provider: str) -> None:
    """Ends by an error in the middle of a call."""
    from budget.client import Budget
    from budget.services.gate import LedgerGate

    with Budget(gate=LedgerGate()).admit("claims", "adjuster", **NEEDS):
        sys.exit(0)


def fork_amid(provider: str) -> None:
    """Forks with a stream and a block open; the child ends, and then its parent goes on."""
    from budget.client import Budget, workload
    from budget.services.gate import LedgerGate

    gate = LedgerGate()
    with workload("adjuster"), Budget(gate=gate).admit("claims", **NEEDS) as open_call:
        stream = client(provider, gate).chat.completions.create(**CHAT, stream=True)
        words = iter(stream)
        next(words)
        child = os.fork()
        if child == 0:
            sys.exit(0)
        os.waitpid(child, 0)
        for _ in words:
            pass
        open_call.settle(8, 2)


def prefork(provider: str) -> None:
    """Calls, and so do two children, as workers of a server that loads its app first."""
    from budget.client import workload
    from budget.services.gate import LedgerGate

    gate = LedgerGate()

    def ask(workload_class: str) -> None:
        with workload(workload_class), client(provider, gate) as chat:
            chat.chat.completions.create(**CHAT)

    ask("adjuster")
    children = []
    for _ in range(2):
        child = os.fork()
        if child == 0:
            ask("rescore")
            return
        children.append(child)
    for child in children:
        _, status = os.waitpid(child, 0)
        assert status == 0
    ask("adjuster")


def main() -> None:
    import django
    from django.conf import settings

    settings.DATABASES["default"]["NAME"] = os.environ["CHILD_DATABASE"]
    django.setup()
    action, provider = sys.argv[1:]
    globals()[action](provider)


if __name__ == "__main__":
    main()
