"""Where the demo's calls go: a provider on this machine, or a real account."""

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import httpx2

from claims_demo.environment import data_dir
from claims_demo.processes import ProcessFailed, address, free_port, stop

HOST = "127.0.0.1"
KEY = "ANTHROPIC_API_KEY"
LOCAL_KEY = "local"
"""What the local provider takes for a key: anything."""
READY_SECONDS = 30.0
REAL = ""
"""The base URL of a real account: the SDK knows it."""
AT_ITS_COST = (
    f"Calls go to the account of {KEY}, at its cost. "
    "Unset it to have them answered on this machine."
)


@contextlib.contextmanager
def provider() -> Iterator[str]:
    """The base URL for the pool, whose provider answers while the block runs.

    With `ANTHROPIC_API_KEY` set it is empty, and that is printed: calls go to that account,
    at its cost, by way of `ANTHROPIC_BASE_URL` if that is set, too. Else a provider is started
    here, which logs to a file in the data directory, and processes started within the block
    inherit a key for it. Raises ProcessFailed when it doesn't come up.
    """
    if os.environ.get(KEY):
        print(AT_ITS_COST, flush=True)
        yield REAL
        return
    os.environ[KEY] = LOCAL_KEY
    try:
        with _local_provider() as base_url:
            yield base_url
    finally:
        del os.environ[KEY]


def point_pool(slug: str, base_url: str) -> None:
    """Have a pool's calls go to that address; the history says that `make demo` did.

    Raises ProcessFailed when keys may not be sent there.
    """
    import pghistory
    from django.core.exceptions import ValidationError

    from budget.models import Pool

    pool = Pool.objects.get(slug=slug)
    pool.base_url = base_url
    try:
        pool.full_clean()
    except ValidationError as error:
        raise ProcessFailed(f"The pool {slug}: {error.messages[0]}") from None
    with pghistory.context(command="make demo", reason="where the demo's calls go"):
        pool.save(update_fields=["base_url"])


def log_file() -> Path:
    """What the local provider writes."""
    return data_dir() / "provider.log"


@contextlib.contextmanager
def _local_provider() -> Iterator[str]:
    port = free_port(HOST)
    command = [sys.executable, "-m", "claims_demo.local_model", "--port", str(port)]
    with log_file().open("wb") as output:
        # A session of its own: Ctrl-C reaches this process only, which then stops the other.
        process = subprocess.Popen(command, stdout=output, stderr=output, start_new_session=True)
        try:
            url = address(HOST, port)
            _wait_until_ready(process, url)
            yield f"{url}/anthropic"
        finally:
            stop(process)


def _wait_until_ready(process: "subprocess.Popen[bytes]", url: str) -> None:
    until = time.monotonic() + READY_SECONDS
    while process.poll() is None and time.monotonic() < until:
        with contextlib.suppress(httpx2.TransportError):
            if httpx2.get(f"{url}/health", trust_env=False).is_success:
                return
        time.sleep(0.1)
    raise ProcessFailed(f"The local provider did not come up: {log_file()} says why.")
