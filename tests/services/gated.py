"""What is asked of a gate to the ledger, and the pool it is asked for."""

from typing import Any
from uuid import uuid4

from budget.client.verdict import Admitted, Ask, Ending
from budget.models import (
    Call,
)
from budget.services.gate import LedgerGate
from tests.client.served import until

TOKENS = {
    "unit": "total_tokens",
    "algorithm": "token_bucket",
    "amount": 600_000,
    "burst_percent": 10,
}
UNDER_WAY = {"unit": "requests", "algorithm": "gauge", "amount": 100}


def ask(workload_class: str | None = "adjuster", tokens: int = 100, **fields: Any) -> Ask:
    fields = {"pool": "claims", "key": str(uuid4()), **fields}
    return Ask(workload_class=workload_class, input_tokens=tokens, output_tokens=50, **fields)


def settled() -> list[Call]:
    """All calls, once they are settled."""
    until(lambda: not Call.objects.exclude(state="settled").exists())
    return list(Call.objects.all())


def heard(gate: LedgerGate) -> None:
    """Lets the gate know the pool."""
    verdict = gate.admit(ask(tokens=1))
    assert isinstance(verdict, Admitted)
    gate.settle(verdict, Ending("cancelled"))
