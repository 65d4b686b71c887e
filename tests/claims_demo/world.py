"""A claims platform with something in it."""

from pathlib import Path
from random import Random
from typing import Any

from budget import services
from budget.ledger.operations import AdmissionRequest
from budget.models import Limit, Pool
from budget.policy.document import read_document
from budget.policy.load import load
from claims_demo.claims.events import open_claim
from claims_demo.claims.stories import reported
from claims_demo.models import Claim

POLICY = Path(__file__).parents[2] / "claims_demo" / "policy.yaml"
MESSAGES = "POST /v1/messages"
"""What a call to Anthropic is, as tests' provider names it."""
MARKUP = '<img src=x onerror="document.title=1">'


def put_policy_into_force(base_url: str) -> Pool:
    """The demo's own, with the provider at that address."""
    load(read_document(POLICY.read_bytes()))
    Pool.objects.update(base_url=base_url)
    return Pool.objects.get()


def make_claim(**fields: Any) -> Claim:
    """A claim that was just reported."""
    claim = reported(Random(1))
    for name, value in fields.items():
        setattr(claim, name, value)
    open_claim(claim)
    return claim


def message(text: str) -> dict[str, Any]:
    """What the provider answers."""
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude",
        "content": [{"type": "text", "text": text}],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 900, "output_tokens": 40},
    }


def slow_down(tokens_a_minute: int) -> None:
    """Let the pool refill no faster."""
    tokens = Limit.objects.filter(unit="total_tokens", of_batch=False)
    tokens.update(amount=tokens_a_minute)


def use_up() -> None:
    """Take whatever an adjuster may take of the pool's tokens."""
    view = services.pool_view("claims")
    tokens = next(limit for limit in view["limits"] if limit["unit"] == "total_tokens")
    kept_for_rescore = 0.3 * tokens["floors"]["rescore"]["effective"]
    size = int(tokens["available"] - kept_for_rescore)
    wanted = AdmissionRequest(
        pool="claims", workload_class="adjuster", input_tokens=size, output_tokens=0
    )
    assert services.admit(wanted).admitted
