"""The storm's progress: a live table on a terminal, plain lines elsewhere."""

from types import TracebackType
from typing import Any, Self

from rich.console import Console
from rich.live import Live
from rich.table import Table

from claims_demo.storm.report import Report, Tally

LEADING = ("total_tokens", "token_bucket")
PLAIN_EVERY = 5.0
"""Seconds between plain reports."""
COLUMNS = ("class", "offered", "admitted", "shed", "settled tokens", "level", "floor")


class Scoreboard:
    """Shows reports beside the pool's balances while its block runs.

    `level` is what is left: of a class's floor, in the last row of the pool; `floor` is
    the whole of it, in the last row the capacity. Both in tokens.
    """

    def __init__(self, console: Console) -> None:
        self._console = console
        self._live = Live(console=console, auto_refresh=False) if console.is_terminal else None
        self._next_plain = 0.0

    def __enter__(self) -> Self:
        if self._live:
            self._live.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._live:
            self._live.stop()

    def show(self, report: Report, pool: dict[str, Any]) -> None:
        """Shows the report; `pool` is the body of `GET /pools/{slug}`."""
        rows = _rows(report, pool)
        if self._live:
            self._live.update(_table(rows, _headline(report)), refresh=True)
        elif report.elapsed >= self._next_plain:
            self._next_plain += PLAIN_EVERY
            self._console.print(_headline(report))
            for row in rows:
                self._console.print(_line(row))


def shed_in_words(tally: Tally) -> str:
    """`12 (8 headroom, 4 floor_protected)`, most frequent reason first."""
    if not tally.shed:
        return "0"
    reasons = sorted(tally.shed.items(), key=lambda item: (-item[1], item[0]))
    return f"{tally.shed_total:,} ({', '.join(f'{count:,} {name}' for name, count in reasons)})"


def _headline(report: Report) -> str:
    weather = "storm: all services spike together" if report.is_storm else "calm"
    return f"{report.elapsed:4.0f} s  {weather}"


def _rows(report: Report, pool: dict[str, Any]) -> list[tuple[str, ...]]:
    limit = _leading(pool)
    rows: list[tuple[str, ...]] = [
        (
            workload_class,
            f"{tally.offered:,}",
            f"{tally.admitted:,}",
            shed_in_words(tally),
            f"{tally.settled_tokens:,}",
            f"{limit['floors'][workload_class]['effective']:,.0f}",
            f"{limit['floors'][workload_class]['share_percent'] * limit['capacity'] / 100:,.0f}",
        )
        for workload_class, tally in report.tallies.items()
    ]
    whole = report.tallies.values()
    rows.append(
        (
            "pool",
            f"{sum(tally.offered for tally in whole):,}",
            f"{sum(tally.admitted for tally in whole):,}",
            f"{sum(tally.shed_total for tally in whole):,}",
            f"{sum(tally.settled_tokens for tally in whole):,}",
            f"{limit['available']:,.0f}",
            f"{limit['capacity']:,.0f}",
        )
    )
    return rows


def _leading(pool: dict[str, Any]) -> dict[str, Any]:
    return next(limit for limit in pool["limits"] if (limit["unit"], limit["algorithm"]) == LEADING)


def _line(row: tuple[str, ...]) -> str:
    cells = (f"{name} {cell}" for name, cell in zip(COLUMNS[1:], row[1:], strict=True))
    return f"  {row[0]}: {' · '.join(cells)}"


def _table(rows: list[tuple[str, ...]], headline: str) -> Table:
    table = Table(title=headline, title_justify="left")
    for name in COLUMNS:
        table.add_column(name, justify="left" if name in {"class", "shed"} else "right")
    for row in rows[:-1]:
        table.add_row(*row)
    table.add_section()
    table.add_row(*rows[-1])
    return table
