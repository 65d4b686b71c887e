"""`make bench`: every figure beside its baseline, in one run, on a database of its own."""

import argparse
import sys

from django.core.exceptions import ImproperlyConfigured
from rich.console import Console

from bench.figures import RESULTS, save, show
from bench.rounds import Tell
from bench.world import World, world
from claims_demo.processes import ProcessFailed, end_on_signals

PARTS = ("ledger", "http", "growth")


def measure(world: World, parts: list[str], rounds: int, tell: Tell) -> dict[str, float]:
    """The figures of those parts."""
    from bench import in_process, over_http  # models, once Django is set up

    figures: dict[str, float] = {}
    if "ledger" in parts:
        figures |= in_process.measure(rounds, tell)
    if "http" in parts:
        figures |= over_http.measure(world, rounds, tell)
    if "growth" in parts:
        figures |= over_http.measure_growth(world, 2 * rounds, tell)
    return figures


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(prog="bench", description=__doc__)
    parser.add_argument(
        "--only", choices=PARTS, action="append", help="a part; prints it without saving"
    )
    parser.add_argument("--rounds", type=int, default=3, help="how often each is measured")
    arguments = parser.parse_args()
    end_on_signals()
    console = Console(highlight=False, markup=False)
    progress = Console(stderr=True, highlight=False, markup=False, soft_wrap=True)
    try:
        with world() as here:
            figures = measure(here, arguments.only or list(PARTS), arguments.rounds, progress.print)
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
