"""The Idempotency-Key header."""

import re

from django.http import HttpRequest

from budget.api.problem import Problem
from budget.ledger.operations import MAX_KEY

QUOTED = re.compile(r'"((?:[ !#-\[\]-~]|\\["\\])*)"')
BARE = re.compile(r"[!#-~][!-~]*")


def key_of(request: HttpRequest) -> str | None:
    """The key, sent bare or as a quoted string; None without the header."""
    header = request.META.get("HTTP_IDEMPOTENCY_KEY")
    if header is None:
        return None
    key = _unquoted(header)
    if not 1 <= len(key) <= MAX_KEY:
        raise Problem(
            400,
            f"Idempotency-Key: send 1 to {MAX_KEY} printable ASCII characters, "
            "in double quotes if there are spaces.",
            field="Idempotency-Key",
        )
    return key


def _unquoted(header: str) -> str:
    if quoted := QUOTED.fullmatch(header):
        return re.sub(r"\\(.)", r"\1", quoted[1])
    return header if BARE.fullmatch(header) else ""
