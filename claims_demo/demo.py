"""`make demo`: the claims storm on a running service, from nothing."""

import argparse
import contextlib
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx2
from django.core.management import call_command
from rich.console import Console

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
from claims_demo.scoreboard import Scoreboard
from claims_demo.storm.call import POOL
from claims_demo.storm.process import StormProcess
from claims_demo.storm.report import Orders, Report
from claims_demo.storm.service import SERVICES
from claims_demo.storm.weather import Weather
from claims_demo.verdict import verdict

if TYPE_CHECKING:
    from claims_demo.accounts import Account

POLICY = Path(__file__).with_name("policy.yaml")
HOST = "127.0.0.1"
PORTS_TRIED = 20


def demo(port: int, seconds: float | None, console: Console) -> int:
    """Runs the demo for `seconds` of weather, or until Ctrl-C.

    Returns the exit code: 0 if the storm showed what it is to show, or was cut short.
    """
    prepare(HOST)
    from claims_demo.accounts import demo_accounts, demo_key  # models, once Django is set up

    console.print(f"Loading {POLICY.name} ...")
    call_command("load_policy", str(POLICY), reason="make demo")
    accounts, key = demo_accounts(), demo_key(POOL)
    keys = {service.workload_class: demo_key(POOL, service.workload_class) for service in SERVICES}
    port = _port(port, console) if port else free_port(HOST)
    url = address(HOST, port)
    with clusters() as jobs, web(HOST, port, log=_web_log()):
        _introduce(url, accounts, key, console)
        storm = StormProcess(Orders(url=url, keys=keys, first_calm=_first_calm(seconds)))
        with contextlib.closing(storm):
            report, cut_short = _watch(storm, jobs, url, key, seconds, console)
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


def _first_calm(seconds: float | None) -> float:
    """A short demo has a short calm, so that most of it is storm."""
    calm = Weather().first_calm
    return calm if seconds is None else min(calm, seconds / 5)


def _introduce(url: str, accounts: list["Account"], key: str, console: Console) -> None:
    """Prints the addresses and what to enter there."""
    console.print(f"\nAdmin     {url}/admin/")
    for account in accounts:
        console.print(f"          {account.username} / {account.password}  ({account.group})")
    console.print(f"API docs  {url}/api/docs/\n          Authorization: Api-Key {key}")
    console.print("Passwords and key are new and shown only now.\n")


def _watch(
    storm: StormProcess,
    jobs: Sequence[ClusterProcess],
    url: str,
    key: str,
    seconds: float | None,
    console: Console,
) -> tuple[Report, bool]:
    """Shows the storm to its end; returns the last report, and whether it was cut short."""
    report = Report(elapsed=0, is_storm=False, storms=0, tallies={})
    headers = {"Authorization": f"Api-Key {key}"}
    with (
        httpx2.Client(base_url=url, headers=headers, trust_env=False) as client,
        Scoreboard(console) as board,
    ):
        try:
            for report in storm.reports():
                board.show(report, _pool(client))
                for cluster in jobs:
                    cluster.require_running()
                if seconds is not None and round(report.elapsed) >= seconds:
                    storm.end()
        except KeyboardInterrupt:
            return report, True
    if seconds is None or round(report.elapsed) < seconds:
        raise ProcessFailed("The storm process ended early: its output above says why.")
    return report, False


def _pool(client: httpx2.Client) -> dict[str, Any] | None:
    """The pool as the API shows it; None once an edit has taken it, or the key's way to it."""
    try:
        response = client.get(f"/api/v1/pools/{POOL}")
        return None if response.is_client_error else dict(response.raise_for_status().json())
    except httpx2.HTTPError as error:
        raise ProcessFailed(
            f"The service stopped answering ({error}): {_web_log()} says why."
        ) from error


def _web_log() -> Path:
    return data_dir() / "web.log"


def _judge(report: Report, cut_short: bool, console: Console) -> int:
    """Says in words what the storm showed."""
    if not report.tallies:
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
    if arguments.seconds is not None and arguments.seconds < 5:
        parser.error("--seconds: give the storm at least 5")
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
