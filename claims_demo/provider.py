"""Where the demo's calls go: a provider on this machine, or a real account."""

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urljoin, urlsplit

import httpx2
from django.db.models import Max

from budget.policy.audit import audit
from claims_demo.claims import POOL
from claims_demo.environment import data_dir
from claims_demo.processes import ProcessFailed, address, free_port, stop

COMMAND = "make demo"
"""As the history names it."""
HOST = "127.0.0.1"
KEY = "ANTHROPIC_API_KEY"
ACCOUNT = "DEMO_ACCOUNT"
REAL, LOCAL = "real", "local"
"""Its values. A key alone is no permission to spend money with it."""
LOCAL_KEY = "local"
"""What the local provider takes for a key: anything."""
READY_SECONDS = 30.0
LOOK_SECONDS = 2.0
AT_ITS_COST = (
    f"Calls go to the account of {KEY}, at its cost: "
    "the policy allows {tokens:,} tokens a minute, and batches besides."
)


class Provider(NamedTuple):
    """What answers the demo's calls."""

    base_url: str
    """For the pool; empty for a real account, since the SDK knows its address."""
    process: "subprocess.Popen[bytes] | None" = None
    """On this machine."""

    def require_running(self) -> None:
        """Raises ProcessFailed when it was started here and has ended."""
        if self.process is not None and self.process.poll() is not None:
            raise ProcessFailed(f"The local provider has ended: {log_file()} says why.")


@contextlib.contextmanager
def provider() -> Iterator[Provider]:
    """What the demo's calls go to while the block runs; then the pool forgets its address.

    Unless `DEMO_ACCOUNT` is `real`, a provider is started here, which logs to a file in the
    data directory; processes started within the block inherit a key for it instead of the one
    in the environment. With `DEMO_ACCOUNT=real` calls go to the account of
    `ANTHROPIC_API_KEY`, by way of `ANTHROPIC_BASE_URL` if that is set, too, and what that may
    cost is printed. Raises ProcessFailed when the provider doesn't come up or has no key.
    """
    if _is_real():
        print(AT_ITS_COST.format(tokens=_tokens_a_minute(POOL)), flush=True)
        yield Provider("")
        return
    key = os.environ.get(KEY)
    os.environ[KEY] = LOCAL_KEY
    try:
        with _local_provider() as here:
            yield here
    finally:
        _restore(key)
        forget_local(POOL)


def point_pool(slug: str, there: Provider) -> None:
    """Have a pool's calls go there; the history says that `make demo` did.

    Raises ProcessFailed when keys may not be sent there.
    """
    from django.core.exceptions import ValidationError

    from budget.models import Pool

    pool = Pool.objects.get(slug=slug)
    pool.base_url = there.base_url
    try:
        pool.full_clean()
    except ValidationError as error:
        raise ProcessFailed(f"The pool {slug}: {error.messages[0]}") from None
    with audit(COMMAND, "where the demo's calls go"):
        pool.save(update_fields=["base_url"])


def forget_local(slug: str) -> None:
    """Clear the address of a pool that a demo pointed at a provider which is gone.

    Whatever listens there next is nobody to send a key to. An address that somebody else has
    set stays, as does that of a demo that runs.
    """
    from budget.models import Pool

    pool = Pool.objects.filter(slug=slug).first()
    if pool is None or not _was_set_by_the_demo(pool.pk, pool.base_url) or _answers(pool.base_url):
        return
    with audit(COMMAND, "the demo's provider is gone"):
        # An edit made meanwhile stands.
        Pool.objects.filter(pk=pool.pk, base_url=pool.base_url).update(base_url="")


def log_file() -> Path:
    """What the local provider writes."""
    return data_dir() / "provider.log"


def _is_real() -> bool:
    chosen = os.environ.get("DEMO_ACCOUNT") or LOCAL
    if chosen not in (REAL, LOCAL):
        raise ProcessFailed(f"{ACCOUNT} is {chosen!r}; set it to {REAL} or {LOCAL}.")
    if chosen == REAL and not os.environ.get(KEY):
        raise ProcessFailed(f"{ACCOUNT}={REAL} needs the account's key: set {KEY}.")
    return chosen == REAL


def _restore(key: str | None) -> None:
    if key is None:
        del os.environ[KEY]
    else:
        os.environ[KEY] = key


def _tokens_a_minute(slug: str) -> int:
    """What the tightest limit of a pool lets through, apart from batches; 0 without a pool."""
    from budget.models import Limit

    rates = Limit.objects.filter(
        pool__slug=slug, of_batch=False, unit__endswith="tokens", per_seconds__isnull=False
    )
    return min((limit.amount * 60 // limit.per_seconds for limit in rates), default=0)


def _was_set_by_the_demo(pool_id: int, base_url: str) -> bool:
    """Whether the change of a pool that brought its present, local address was a demo's."""
    if urlsplit(base_url).hostname != HOST:
        return False
    from budget.models import Pool

    events = Pool.pgh_event_model.objects.filter(pgh_obj_id=pool_id)  # type: ignore[attr-defined]
    others = events.exclude(base_url=base_url).aggregate(last=Max("pgh_id", default=0))
    brought = events.filter(pgh_id__gt=others["last"]).order_by("pgh_id").first()
    return brought is not None and (brought.pgh_context or {}).get("command") == COMMAND


def _answers(base_url: str) -> bool:
    """Whether the provider at that address runs."""
    health = urljoin(base_url, "/health")
    try:
        return httpx2.get(health, trust_env=False, timeout=LOOK_SECONDS).is_success
    except httpx2.HTTPError:
        return False


@contextlib.contextmanager
def _local_provider() -> Iterator[Provider]:
    port = free_port(HOST)
    command = [sys.executable, "-m", "claims_demo.local_model", "--port", str(port), "--attached"]
    with log_file().open("wb") as output:
        # A session of its own: Ctrl-C reaches this process only, which then stops the other.
        # That one ends as well when this one is killed, which closes the pipe.
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=output, stderr=output, start_new_session=True
        )
        try:
            here = Provider(f"{address(HOST, port)}/anthropic", process)
            _wait_until_ready(here)
            yield here
        finally:
            stop(process)
            assert process.stdin is not None, "a pipe"
            process.stdin.close()


def _wait_until_ready(here: Provider) -> None:
    until = time.monotonic() + READY_SECONDS
    while time.monotonic() < until:
        here.require_running()
        if _answers(here.base_url):
            return
        time.sleep(0.1)
    raise ProcessFailed(f"The local provider did not come up: {log_file()} says why.")
