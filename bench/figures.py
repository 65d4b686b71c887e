"""The figures: what each means, what it should reach, and where they are written."""

import json
from pathlib import Path
from typing import NamedTuple

from rich.console import Console
from rich.table import Table

RESULTS = Path(__file__).with_name("results.json")


class Meaning(NamedTuple):
    """A figure in words, and the bound it should keep."""

    words: str
    least: float | None = None
    most: float | None = None

    @property
    def bound(self) -> str:
        """The bound as printed."""
        if self.least is not None:
            return f"≥ {self.least:g}"
        return "" if self.most is None else f"≤ {self.most:g}"

    def is_kept_by(self, value: float) -> bool:
        """Whether the value keeps the bound."""
        enough = self.least is None or value >= self.least
        return enough and (self.most is None or value <= self.most)


FIGURES = {
    "naive_orm_per_s_32": Meaning("one locked transaction per admission, ORM, 32 callers"),
    "naive_sql_per_s_32": Meaning("the same by raw SQL, 32 callers"),
    "ledger_per_s_1": Meaning("ledger in process, 1 caller"),
    "ledger_per_s_8": Meaning("8 callers"),
    "ledger_per_s_32": Meaning("32 callers"),
    "ledger_per_s_128": Meaning("128 callers"),
    "ledger_over_naive_orm_32": Meaning("ledger : ORM, 32 callers", least=20),
    "ledger_over_naive_sql_32": Meaning("ledger : raw SQL, 32 callers", least=10),
    "null_view_per_s_16": Meaning("a Django view that does nothing, 16 connections"),
    "null_endpoint_per_s_16": Meaning("the same past the middleware, as the API goes"),
    "http_per_s_1": Meaning("admissions over HTTP, 1 connection"),
    "http_per_s_16": Meaning("16 connections"),
    "http_per_s_64": Meaning("64 connections"),
    "http_over_null_16": Meaning("admissions : null view, 16 connections", least=0.45),
    "http_over_null_endpoint_16": Meaning("admissions : null endpoint, 16 connections"),
    "http_p99_ms_16": Meaning("99th percentile in ms, 16 connections", most=25),
    "p99_growth_1m": Meaning("99th percentile, 1 million stored calls : none", most=1.2),
    "web_rss_mb": Meaning("resident memory of the web process in MB", most=200),
    "enqueue_per_s": Meaning("jobs enqueued in process, 32 callers", least=2000),
    "jobs_per_s": Meaning("jobs that do nothing, end to end, one cluster of 2 workers", least=300),
    "expire_100k_s": Meaning("seconds until 100,000 late jobs are gone", most=2),
    "expire_slowest_take_ms": Meaning("slowest taking meanwhile, in ms", most=250),
    "overload_late_jobs": Meaning("jobs begun past their deadline at 3 × capacity", most=0),
    "overload_in_time": Meaning("part of capacity spent on results in time", least=0.9),
    "overload_wait_s": Meaning("median wait of jobs served, in seconds"),
    "overload_wait_over_fifo": Meaning("the same : oldest first", most=0.33),
    "dashboard_ms": Meaning("slowest page over a month, 1 million calls, in ms", most=150),
    "sheds_ms": Meaning("slowest filter of the shed history there, in ms", most=200),
    "live_ms": Meaning("a live update, in ms", most=20),
    "live_kb": Meaning("its size in KB", most=5),
    "metrics_ms": Meaning("a scrape of the metrics, in ms", most=50),
    "watched_p99_over_alone": Meaning(
        "99th percentile of admissions, five live dashboards : none", most=1.2
    ),
    "client_bare_ms": Meaning("a call of the bare SDK, 16 callers, in ms"),
    "client_overhead_ms_http": Meaning("what our transport adds over HTTP, in ms", most=3),
    "client_overhead_ms_inprocess": Meaning("the same in process, in ms", most=1.5),
    "client_stream_leases": Meaning("leases left by 1,000 streams, half of them dropped", most=0),
    "client_stream_mb": Meaning("memory left by them, in MB", most=5),
    "estimate_reserved_over_used_p95": Meaning(
        "95th percentile of reserved : used tokens of a call, on Azure's traces", most=1.5
    ),
    "estimate_overrun_percent": Meaning("calls there that use more than reserved, in %", most=5),
}


def show(figures: dict[str, float], console: Console) -> None:
    """Prints the figures measured, in their order."""
    table = Table(title="Durable admissions; medians of rounds taken in turn", title_justify="left")
    table.add_column("figure")
    table.add_column("value", justify="right")
    table.add_column("to reach", justify="right")
    table.add_column("")
    table.add_column("meaning")
    for name, meaning in FIGURES.items():
        if name in figures:
            mark = "" if not meaning.bound else "✓" if meaning.is_kept_by(figures[name]) else "✗"
            table.add_row(name, _written(figures[name]), meaning.bound, mark, meaning.words)
    console.print(table)


def save(figures: dict[str, float]) -> None:
    """Writes the figures measured as one flat JSON object."""
    rounded = {name: round(figures[name], 3) for name in FIGURES if name in figures}
    RESULTS.write_text(json.dumps(rounded, indent=2) + "\n")


def _written(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.2f}"
