"""Where the demo's calls go: a provider on this machine, or a real account."""

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import httpx2

from claims_demo.claims import POOL
from claims_demo.environment import data_dir
from claims_demo.processes import ProcessFailed, address, free_port, stop

HOST = "127.0.0.1"
KEY = "ANTHROPIC_API_KEY"
ACCOUNT = "DEMO_ACCOUNT"
REAL, LOCAL = "real", "local"
"""Its values. A key alone is no permission to spend money with it."""
LOCAL_KEY = "local"
"""What the local provider takes for a key: anything."""
KEYS = (KEY, "OPENAI_API_KEY")
BASE_URLS = "BUDGET_PROVIDER_BASE_URLS"
PATHS = {"anthropic": "/anthropic", "openai": "/v1"}
"""Where the local provider stands in for which."""
READY_SECONDS = 30.0
LOOK_SECONDS = 2.0
AT_ITS_COST = (
    f"Calls go to the account of {KEY}, at its cost: "
    "the policy allows {tokens:,} tokens a minute, and batches besides."
)


class Provider(NamedTuple):
    """What answers the demo's calls."""

    url: str = ""
    """Its address if it is on this machine, without a path."""
    process: "subprocess.Popen[bytes] | None" = None
    """On this machine."""

    @property
    def base_urls(self) -> dict[str, str]:
        """Where calls of each provider go instead; none for a real account."""
        return {kind: self.url + path for kind, path in PATHS.items()} if self.url else {}

    def require_running(self) -> None:
        """Raises ProcessFailed when it was started here and has ended."""
        if self.process is not None and self.process.poll() is not None:
            raise ProcessFailed(f"The local provider has ended: {log_file()} says why.")


@contextlib.contextmanager
def provider() -> Iterator[Provider]:
    """What the demo's calls go to while the block runs.

    Unless `DEMO_ACCOUNT` is `real`, a provider is started here, which logs to a file in the
    data directory; processes started within the block inherit its address, which goes before
    that of any policy, and a key for it instead of those in the environment. With
    `DEMO_ACCOUNT=real` calls go to the account of `ANTHROPIC_API_KEY`, by way of
    `ANTHROPIC_BASE_URL` if that is set, too, and what that may cost is printed.

    Raises ProcessFailed when the provider doesn't come up or has no key.
    """
    if _is_real():
        print(AT_ITS_COST.format(tokens=_tokens_a_minute(POOL)), flush=True)
        yield Provider()
        return
    with _environment(dict.fromkeys(KEYS, LOCAL_KEY)), _local_provider() as here:
        urls = ",".join(f"{kind}={url}" for kind, url in here.base_urls.items())
        with _environment({BASE_URLS: urls}):
            yield here


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


@contextlib.contextmanager
def _environment(changes: Mapping[str, str]) -> Iterator[None]:
    """Has those values in the environment while the block runs."""
    before = {name: os.environ.pop(name, None) for name in changes}
    os.environ.update(changes)
    try:
        yield
    finally:
        for name, value in before.items():
            del os.environ[name]
            if value is not None:
                os.environ[name] = value


def _tokens_a_minute(slug: str) -> int:
    """What the tightest limit of a pool lets through, apart from batches; 0 without a pool."""
    from budget.models import Limit

    rates = Limit.objects.filter(
        pool__slug=slug, of_batch=False, unit__endswith="tokens", per_seconds__isnull=False
    )
    return min((limit.amount * 60 // limit.per_seconds for limit in rates), default=0)


def _answers(url: str) -> bool:
    """Whether the provider at that address runs."""
    try:
        return httpx2.get(f"{url}/health", trust_env=False, timeout=LOOK_SECONDS).is_success
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
            here = Provider(address(HOST, port), process)
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
        if _answers(here.url):
            return
        time.sleep(0.1)
    raise ProcessFailed(f"The local provider did not come up: {log_file()} says why.")
