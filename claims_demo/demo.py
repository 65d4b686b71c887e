"""`make demo`: the claims platform in a storm, from nothing."""

from claims_demo.interrupts import end_at_once, end_on_signals

if __name__ == "__main__":
    end_at_once()

import argparse
import contextlib
import sys
from typing import TYPE_CHECKING

from rich.console import Console

from claims_demo.alone import alone
from claims_demo.claims import POOL
from claims_demo.database.errors import REFUSALS, in_words
from claims_demo.processes import (
    PORTS,
    ProcessFailed,
    free_port,
    port_number,
    require_free,
)
from claims_demo.running import HOST, Running, running
from claims_demo.scoreboard import Scoreboard
from claims_demo.storm.process import StormProcess
from claims_demo.storm.report import Orders, Report
from claims_demo.storm.weather import Weather
from claims_demo.verdict import verdict

if TYPE_CHECKING:
    from claims_demo.accounts import Account

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
    with contextlib.ExitStack() as stack:
        stack.enter_context(alone())
        port = _port(port, console) if port else free_port(HOST)
        platform = stack.enter_context(running(port, "make demo"))
        _introduce(platform, console)
        storm = stack.enter_context(contextlib.closing(StormProcess(_orders(platform, seconds))))
        report, cut_short = _watch(storm, platform, seconds, console)
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


def _orders(platform: Running, seconds: float | None) -> Orders:
    """A short demo has a short calm, so that most of it is storm."""
    calm = Weather().first_calm
    return Orders(
        url=platform.url,
        username=ADJUSTER,
        password=platform.accounts[ADJUSTER].password,
        first_calm=calm if seconds is None else min(calm, seconds / 5),
    )


def _introduce(platform: Running, console: Console) -> None:
    """Prints the addresses, the one to begin with first, and what to enter there."""
    console.print()
    for name, path in PAGES.items():
        console.print(f"{name:9} {platform.url}{path}")
    console.print("\nLog in as")
    for account in platform.accounts.values():
        console.print(f"  {account.username} / {account.password}{_rights(account)}")
    console.print(f"Call the API with\n  Authorization: Api-Key {platform.key}")
    console.print("Calls and jobs of more than an hour ago are deleted while the storm runs.")
    console.print("Passwords and key are new and shown only now.\n")


def _rights(account: "Account") -> str:
    return f"  ({account.group})" if account.group else ""


def _watch(
    storm: StormProcess,
    platform: Running,
    seconds: float | None,
    console: Console,
) -> tuple[Report | None, bool]:
    """Shows the storm to its end; returns the last report, and whether it was cut short."""
    from claims_demo.lookout import Lookout  # models, once Django is set up

    report = None
    lookout = Lookout(POOL)
    with Scoreboard(console) as board:
        try:
            for report in storm.reports():
                board.show(report, lookout.look())
                platform.require_running()
                if seconds is not None and round(report.elapsed) >= seconds:
                    storm.end()
        except KeyboardInterrupt:
            return report, True
    if report is None or seconds is None or round(report.elapsed) < seconds:
        raise ProcessFailed("The storm process ended early: its output above says why.")
    return report, False


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
    console = Console(markup=False, highlight=False, emoji=False, soft_wrap=True)
    try:
        end_on_signals()
        return demo(arguments.port, arguments.seconds, console)
    except (ProcessFailed, *REFUSALS) as error:
        print(in_words(error), file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 0


if __name__ == "__main__":
    sys.exit(main())
