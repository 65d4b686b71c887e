"""`make bench`: every figure beside its baseline, in one run, on a database of its own."""

from claims_demo.interrupts import end_at_once, end_on_signals

if __name__ == "__main__":
    end_at_once()

import argparse
import os
import sys
from pathlib import Path

from django.core.exceptions import ImproperlyConfigured
from rich.console import Console

from bench.figures import RESULTS, save, show
from bench.rounds import Tell
from bench.world import World, world
from claims_demo.processes import ProcessFailed

PARTS = ("ledger", "http", "growth", "queues", "clusters", "pages", "estimates", "client")


def measure(
    world: World, parts: list[str], seconds: float, rounds: int, traces: Path | None, tell: Tell
) -> dict[str, float]:
    """The figures of those parts, each measured for so many seconds in so many rounds."""
    from bench import (
        client,
        clusters,
        estimates,
        in_process,
        over_http,
        pages,
        queues,
    )  # models, once Django is set up

    figures: dict[str, float] = {}
    if "ledger" in parts:
        figures |= in_process.measure(seconds, rounds, tell)
    if "http" in parts:
        figures |= over_http.measure(world, seconds, rounds, tell)
    if "growth" in parts:
        figures |= over_http.measure_growth(world, seconds, 2 * rounds, tell)
    if "queues" in parts:
        figures |= queues.measure(seconds, rounds, tell)
    if "clusters" in parts:
        figures |= clusters.measure(rounds, tell)
    if "pages" in parts:
        figures |= pages.measure(world, seconds, rounds, tell)
    if "estimates" in parts:
        figures |= estimates.measure(traces, tell)
    if "client" in parts:
        figures |= client.measure(world, seconds, rounds, tell)
    return figures


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(prog="bench", description=__doc__)
    parser.add_argument(
        "--only", choices=PARTS, action="append", help="a part; prints it without saving"
    )
    parser.add_argument("--rounds", type=int, default=3, help="how often each is measured")
    parser.add_argument("--seconds", type=float, default=3, help="how long each time")
    parser.add_argument(
        "--traces",
        type=Path,
        default=os.environ.get("TRACES") or None,
        help="a directory with Azure's traces, for `estimates`; unless given, of TRACES",
    )
    arguments = parser.parse_args()
    parts = arguments.only or list(PARTS)
    console = Console(highlight=False, markup=False)
    progress = Console(stderr=True, highlight=False, markup=False, soft_wrap=True)
    try:
        end_on_signals()
        with world() as here:
            figures = measure(
                here,
                parts,
                arguments.seconds,
                arguments.rounds,
                arguments.traces,
                progress.print,
            )
    except (ImproperlyConfigured, ProcessFailed, RuntimeError) as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    show(figures, console)
    if not arguments.only:
        save(figures)
        console.print(f"Written to {RESULTS}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
