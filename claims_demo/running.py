"""The whole claims platform, set up anew and running: what `make demo` and its pictures show."""

import contextlib
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from django.core.management import call_command

from claims_demo.claims import POOL
from claims_demo.clusters import ClusterProcess, clusters
from claims_demo.environment import data_dir
from claims_demo.processes import ProcessFailed, address, prepare, web
from claims_demo.provider import Provider, provider

if TYPE_CHECKING:
    from claims_demo.accounts import Account

POLICY = Path(__file__).with_name("policy.yaml")
HOST = "127.0.0.1"


class Running(NamedTuple):
    """The platform's processes, and how to enter."""

    url: str
    accounts: dict[str, "Account"]
    """By username."""
    key: str
    """To the API."""
    server: subprocess.Popen[bytes]
    jobs: list[ClusterProcess]
    provider: Provider

    def require_running(self) -> None:
        """Raises ProcessFailed when one of the processes has ended."""
        if self.server.poll() is not None:
            raise ProcessFailed(f"The web process has ended: {_web_log()} says why.")
        for cluster in self.jobs:
            cluster.require_running()
        self.provider.require_running()


@contextlib.contextmanager
def running(port: int, reason: str) -> Iterator[Running]:
    """Puts the policy into force, for that reason, and runs the platform while the block runs.

    It begins as if no demo had been here before, but for the claims. Raises ProcessFailed when
    a process doesn't come up.
    """
    prepare(HOST)
    from claims_demo.accounts import demo_accounts, demo_key  # models, once Django is set up
    from claims_demo.claims.seed import seed
    from claims_demo.leftovers import clear

    call_command("load_policy", os.path.relpath(POLICY), reason=reason)
    seed()
    accounts = {account.username: account for account in demo_accounts()}
    key = demo_key(POOL)
    with contextlib.ExitStack() as stack:
        there = stack.enter_context(provider())
        clear(POOL, there)
        jobs = stack.enter_context(clusters())
        server = stack.enter_context(web(HOST, port, log=_web_log()))
        yield Running(address(HOST, port), accounts, key, server, jobs, there)


def _web_log() -> Path:
    return data_dir() / "web.log"
