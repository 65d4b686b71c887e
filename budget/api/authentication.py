"""Who calls: the API key in `Authorization: Api-Key …`."""

import hashlib
import time
from dataclasses import dataclass

from django.http import HttpRequest
from django.utils import timezone

from budget import conf
from budget.api.problem import Problem
from budget.ledger.operations import Caller
from budget.models import ApiKey

SCHEME = "Api-Key"
MAX_REFUSED = 1000
"""How many refused keys are remembered at once, so that guessing cannot fill the memory."""


@dataclass(frozen=True, slots=True)
class _Verdict:
    """What is known about a key until a moment of the monotonic clock."""

    until: float
    caller: Caller | None
    refusal: str = ""


_accepted: dict[bytes, _Verdict] = {}
_refused: dict[bytes, _Verdict] = {}


def caller_of(request: HttpRequest) -> Caller:
    """The caller whose key the request carries; a 401 problem without a valid one.

    A verdict stands for `conf.key_cache_seconds()` in this process, which is the longest
    a revoked key lives; an expiry date is kept to the moment.
    """
    key = _key(request)
    digest = hashlib.sha256(key.encode()).digest()
    verdict = _accepted.get(digest) or _refused.get(digest)
    if verdict is None or verdict.until <= time.monotonic():
        verdict = _remember(digest, _verify(key))
    if verdict.caller is None:
        raise _unauthorized(verdict.refusal)
    return verdict.caller


def forget_keys() -> None:
    """Drops all verdicts, so that each key is looked up anew."""
    _accepted.clear()
    _refused.clear()


def _key(request: HttpRequest) -> str:
    scheme, _, key = request.META.get("HTTP_AUTHORIZATION", "").partition(" ")
    key = key.strip()
    if scheme.lower() != SCHEME.lower() or not key:
        raise _unauthorized(f"Send your key as: Authorization: {SCHEME} <key>.")
    return key


def _verify(key: str) -> _Verdict:
    until = time.monotonic() + conf.key_cache_seconds()
    found = _find(key)
    if found is None:
        return _Verdict(until, None, "This API key is unknown.")
    if found.revoked:
        return _Verdict(until, None, "This API key was revoked.")
    if found.expiry_date is not None:
        left = (found.expiry_date - timezone.now()).total_seconds()
        if left <= 0:
            return _Verdict(until, None, "This API key has expired.")
        until = min(until, time.monotonic() + left)
    return _Verdict(until, _caller(found))


def _find(key: str) -> ApiKey | None:
    """The stored key; whoever does not hold the whole key learns nothing about it."""
    prefix, _, _ = key.partition(".")
    if not (prefix.isascii() and prefix.isalnum()):
        return None
    found = ApiKey.objects.filter(prefix=prefix).first()
    return found if found is not None and found.is_valid(key) else None


def _caller(key: ApiKey) -> Caller:
    classes = None if key.all_classes else frozenset(key.classes.values_list("slug", flat=True))
    pools = None if key.all_pools else frozenset(key.pools.values_list("slug", flat=True))
    return Caller(key_prefix=key.prefix, classes=classes, pools=pools)


def _remember(digest: bytes, verdict: _Verdict) -> _Verdict:
    if verdict.caller is not None:
        _accepted[digest] = verdict
        return verdict
    _accepted.pop(digest, None)
    if len(_refused) >= MAX_REFUSED:
        _refused.clear()
    _refused[digest] = verdict
    return verdict


def _unauthorized(detail: str) -> Problem:
    return Problem(401, detail, headers={"WWW-Authenticate": SCHEME})
