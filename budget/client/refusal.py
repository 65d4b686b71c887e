"""A refusal as an answer that the official SDKs understand."""

import json
import math
from typing import Any

from budget.client.verdict import Refused

REASON = "budget-reason"
ADMISSION = "budget-admission"
LIMITED, TOO_LARGE = 429, 422


def status_of(reason: str) -> int:
    """What a refusal for that reason is answered with: one that never fits needn't come back."""
    return TOO_LARGE if reason == "never_fits" else LIMITED


def headers_of(refused: Refused) -> dict[str, str]:
    """The SDKs then raise their own error after this one attempt: another would be refused."""
    headers = {"content-type": "application/json", "x-should-retry": "false"}
    if refused.reason:
        headers[REASON] = refused.reason
    if "id" in refused.body:
        headers[ADMISSION] = str(refused.body["id"])
    if refused.retry_after_ms is not None:
        headers["retry-after"] = str(max(1, math.ceil(refused.retry_after_ms / 1000)))
        headers["retry-after-ms"] = str(max(1, refused.retry_after_ms))
    return headers


def body_of(refused: Refused) -> bytes:
    """An error body as OpenAI's and Anthropic's SDKs both read it, with our own in full."""
    limited = refused.status == LIMITED
    error: dict[str, Any] = {
        "type": "rate_limit_error" if limited else "invalid_request_error",
        "code": refused.reason or "budget",
        "message": refused.detail,
        "param": refused.body.get("limit"),
    }
    body = {"type": "error", "error": error, "budget": dict(refused.body)}
    return json.dumps(body).encode()
