"""`make demo`: the claims platform in a storm, from nothing."""

import argparse
import contextlib
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from django.core.management import call_command
from rich.console import Console

from claims_demo.claims import POOL
from claims_demo.clusters import ClusterProcess, clusters
from claims_demo.database.errors import REFUSALS, in_words
from claims_demo.environment import data_dir
from claims_demo.processes import (
    PORTS,
    ProcessFailed,
    address,
    end_on_signals,
    free_port,
    port_number,
    prepare,
    require_free,
    web,
)
from claims_demo.provider import point_pool, provider
from claims_demo.scoreboard import Scoreboard
from claims_demo.storm.process import StormProcess
from claims_demo.storm.report import Orders, Report
from claims_demo.storm.weather import Weather
from claims_demo.verdict import verdict

if TYPE_CHECKING:
    from claims_demo.accounts import Account

POLICY = Path(__file__).with_name("policy.yaml")
HOST = "127.0.0.1"
PORTS_TRIED = 20
SHORTEST = 10
"""Seconds a storm takes to exhaust the pool."""
ADJUSTER = "demo-adjuster"
"""As whom the storm's adjusters log in."""
PAGES = {
    "Claims": "/",
    "Storm": "/storm/",
    "Dashboard": "/dashboard/",
    "Admin": "/admin/",
    "API docs": "/api/docs/",
}


def demo(port: int, seconds: float | None, console: Console) -> int:
    """Runs the demo for `seconds` of weather, or until Ctrl-C.

    Returns the exit code: 0 if the storm showed what it is to show, or was cut short.
    """
    prepare(HOST)
    from claims_demo.accounts import demo_accounts, demo_key  # models, once Django is set up
    from claims_demo.claims.seed import seed

    console.print(f"Loading {POLICY.name} ...")
    call_command("load_policy", str(POLICY), reason="make demo")
    seed()
    accounts, key = demo_accounts(), demo_key(POOL)
    port = _port(port, console) if port else free_port(HOST)
    url = address(HOST, port)
    with contextlib.ExitStack() as stack:
        point_pool(POOL, stack.enter_context(provider()))
        jobs = stack.enter_context(clusters())
        server = stack.enter_context(web(HOST, port, log=_web_log()))
        _introduce(url, accounts, key, console)
        storm = StormProcess(_orders(url, accounts, seconds))
        stack.enter_context(contextlib.closing(storm))
        report, cut_short = _watch(storm, server, jobs, seconds, console)
    return _judge(report, cut_short, console)


def _port(wanted: int, console: Console) -> int:
    """The port asked for or, saying so, the next free one."""
    for port in range(wanted, min(wanted + PORTS_TRIED, PORTS)):
        with contextlib.suppress(ProcessFailed):
            require_free(HOST, port)
            if port != wanted:
                console.print(f"Port {wanted} is taken; the demo uses {port}.")
            return port
    raise ProcessFailed(f"None of the ports from {wanted} on is free. Choose another with PORT=…")


def _orders(url: str, accounts: Sequence["Account"], seconds: float | None) -> Orders:
    """A short demo has a short calm, so that most of it is storm."""
    calm = Weather().first_calm
    password = next(each.password for each in accounts if each.username == ADJUSTER)
    return Orders(
        url=url,
        username=ADJUSTER,
        password=password,
        first_calm=calm if seconds is None else min(calm, seconds / 5),
    )


def _introduce(url: str, accounts: Sequence["Account"], key: str, console: Console) -> None:
    """Prints the addresses, the one to begin with first, and what to enter there."""
    console.print()
    for name, path in PAGES.items():
        console.print(f"{name:9} {url}{path}")
    console.print("\nLog in as")
    for account in accounts:
        console.print(f"  {account.username} / {account.password}{_rights(account)}")
    console.print(f"Call the API with\n  Authorization: Api-Key {key}")
    console.print("Passwords and key are new and shown only now.\n")


def _rights(account: "Account") -> str:
    return f"  ({account.group})" if account.group else ""


def _watch(
    storm: StormProcess,
    server: subprocess.Popen[bytes],
    jobs: Sequence[ClusterProcess],
    seconds: float | None,
    console: Console,
) -> tuple[Report | None, bool]:
    """Shows the storm to its end; returns the last report, and whether it was cut short."""
    report = None
    with Scoreboard(console) as board:
        try:
            for report in storm.reports():
                board.show(report, _pool())
                _require_running(server, jobs)
                if seconds is not None and round(report.elapsed) >= seconds:
                    storm.end()
        except KeyboardInterrupt:
            return report, True
    if report is None or seconds is None or round(report.elapsed) < seconds:
        raise ProcessFailed("The storm process ended early: its output above says why.")
    return report, False


def _require_running(server: subprocess.Popen[bytes], jobs: Sequence[ClusterProcess]) -> None:
    """Raises ProcessFailed when one of the service's processes has ended."""
    if server.poll() is not None:
        raise ProcessFailed(f"The web process has ended: {_web_log()} says why.")
    for cluster in jobs:
        cluster.require_running()


def _pool() -> dict[str, Any] | None:
    """The pool as it is now; None once an edit has taken it."""
    from budget import services

    try:
        return services.pool_view(POOL)
    except services.UnknownPool:
        return None


def _web_log() -> Path:
    return data_dir() / "web.log"


def _judge(report: Report | None, cut_short: bool, console: Console) -> int:
    """Says in words what the storm showed."""
    if report is None:
        return 0
    told, broken = verdict(report)
    console.print("\nWhat the storm showed", *told, sep="\n  ")
    if cut_short:
        return 0
    if broken:
        console.print("NOT as promised", *broken, sep="\n  ")
        return 1
    console.print("So the person waiting was served, and the work that can wait was shed.")
    return 0


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=port_number, default=8000, help="0: any free one")
    parser.add_argument("--seconds", type=float, help="how long; until Ctrl-C unless given")
    arguments = parser.parse_args()
    if arguments.seconds is not None and arguments.seconds < SHORTEST:
        parser.error(f"--seconds: give the storm at least {SHORTEST}")
    end_on_signals()
    console = Console(markup=False, highlight=False, emoji=False, soft_wrap=True)
    try:
        return demo(arguments.port, arguments.seconds, console)
    except (ProcessFailed, *REFUSALS) as error:
        print(in_words(error), file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 0


if __name__ == "__main__":
    sys.exit(main())
