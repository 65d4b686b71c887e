"""The storm's progress: a live table on a terminal, plain lines elsewhere."""

from functools import reduce
from types import TracebackType
from typing import Any, Self

from rich.console import Console
from rich.live import Live
from rich.table import Table

from claims_demo.storm.report import Report
from claims_demo.storm.tally import Tally
from claims_demo.storm.weather import CALM

UNITS = ("total_tokens", "output_tokens", "input_tokens", "requests")
"""Whose levels to show: of the first of these the pool has, and of a rate before a gauge."""
GONE, NONE = "gone", "–"
PLAIN_EVERY = 5.0
"""Seconds between plain reports."""
COLUMNS = (
    *("class", "offered", "admitted", "batched", "shed", "expired", "waiting"),
    *("drawn", "level", "floor"),
)


class Scoreboard:
    """Shows reports beside the pool's balances while its block runs.

    `offered`, `admitted`, `shed` and `expired` are decisions of the ledger: a refused question
    is offered again when its adjuster comes back. `batched` are the jobs that the provider's
    batch endpoint takes: they draw nothing on the pool, so its row leaves them out. `drawn` is
    what the pool gave, less what was given back. `level` is what is left: of a class's floor,
    in the last row of the pool; `floor` is the whole of it, in the last row the capacity. These
    three are in tokens, unless the headline names another limit. The policy may change
    meanwhile: what it has no more is `gone`.
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

    def show(self, report: Report, pool: dict[str, Any] | None) -> None:
        """Shows the report; `pool` is the body of `GET /pools/{slug}`, None if it is gone."""
        limit = _leading(pool)
        rows = _rows(report, pool, limit)
        headline = _headline(report, limit)
        if self._live:
            self._live.update(_table(rows, headline), refresh=True)
        elif report.elapsed >= self._next_plain:
            self._next_plain += PLAIN_EVERY
            self._console.print(headline)
            for row in rows:
                self._console.print(_line(row))


def shed_in_words(tally: Tally) -> str:
    """`12 (8 headroom, 4 floor_protected)`, most frequent reason first."""
    if not tally.shed:
        return "0"
    reasons = sorted(tally.shed.items(), key=lambda item: (-item[1], item[0]))
    return f"{tally.shed_total:,} ({', '.join(f'{count:,} {name}' for name, count in reasons)})"


def _headline(report: Report, limit: dict[str, Any] | None) -> str:
    weather = "calm" if report.strength == CALM else f"storm: {report.strength} times the claims"
    of = f" (levels of {limit['unit']})" if limit and limit["unit"] != UNITS[0] else ""
    return f"{report.elapsed:4.0f} s  {weather}, at the provider: {report.at_provider:,}{of}"


def _rows(
    report: Report, pool: dict[str, Any] | None, limit: dict[str, Any] | None
) -> list[tuple[str, ...]]:
    """One row per class that calls or that the pool has, and the pool's."""
    classes = pool["classes"] if pool else {}
    tallies = {slug: Tally() for slug in classes} | report.tallies
    rows = [
        (*_counts(slug, tally, report.waiting.get(slug, 0)), *_floor(slug, classes, limit))
        for slug, tally in tallies.items()
    ]
    if pool is None:
        return [*rows, (*_sums(report), GONE, NONE)]
    if limit is None:
        return [*rows, (*_sums(report), NONE, NONE)]
    return [*rows, (*_sums(report), f"{limit['available']:,.0f}", f"{limit['capacity']:,.0f}")]


def _counts(slug: str, tally: Tally, waiting: int) -> tuple[str, ...]:
    return (
        slug,
        f"{tally.offered:,}",
        f"{tally.admitted:,}",
        f"{tally.batched:,}",
        shed_in_words(tally),
        f"{tally.expired:,}",
        f"{waiting:,}",
        f"{tally.drawn:,}",
    )


def _sums(report: Report) -> tuple[str, ...]:
    whole = reduce(Tally.plus, report.tallies.values(), Tally())
    counts = _counts("pool", whole, sum(report.waiting.values()))
    others = {"shed": f"{whole.shed_total:,}", "batched": NONE}
    return tuple(others.get(name, count) for name, count in zip(COLUMNS, counts, strict=False))


def _floor(slug: str, classes: dict[str, Any], limit: dict[str, Any] | None) -> tuple[str, str]:
    """A class's level and floor."""
    if slug not in classes:
        return GONE, NONE
    if limit is None:
        return NONE, NONE
    floor = limit["floors"][slug]
    whole = floor["share_percent"] * limit["capacity"] / 100
    return f"{floor['effective']:,.0f}", f"{whole:,.0f}"


def _leading(pool: dict[str, Any] | None) -> dict[str, Any] | None:
    def rank(limit: dict[str, Any]) -> tuple[bool, int]:
        return limit["algorithm"] == "gauge", UNITS.index(limit["unit"])

    return min(pool["limits"], key=rank, default=None) if pool else None


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
