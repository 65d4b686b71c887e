"""Terms of a pool as the service tells them, for tests."""

from typing import Any

from budget.client.terms import Terms, terms_of

BODY: dict[str, Any] = {
    "pool": "claims",
    "provider": "openai",
    "policy_version": 3,
    "untagged": "nightly",
    "processes": 2,
    "limits": [
        {
            "unit": "total_tokens",
            "algorithm": "token_bucket",
            "amount": 60_000,
            "per_seconds": 60,
            "capacity": 20_000,
        },
        {
            "unit": "requests",
            "algorithm": "gauge",
            "amount": 8,
            "per_seconds": 60,
            "capacity": 8,
        },
    ],
    "classes": {
        "adjuster": {
            "tier": "interactive",
            "when_unavailable": "local",
            "paused": False,
            "floors": {"total_tokens/token_bucket": 10_000, "requests/gauge": 4},
        },
        "rescore": {
            "tier": "near_line",
            "when_unavailable": "shed",
            "paused": False,
            "floors": {"total_tokens/token_bucket": 4_000, "requests/gauge": 1},
        },
        "nightly": {
            "tier": "bulk",
            "when_unavailable": "admit",
            "paused": False,
            "floors": {"total_tokens/token_bucket": 0, "requests/gauge": 0},
        },
        "halted": {
            "tier": "bulk",
            "when_unavailable": "admit",
            "paused": True,
            "floors": {},
        },
    },
}


def terms(**changes: Any) -> Terms:
    return terms_of({**BODY, **changes})
