"""Admissions inside one process: the naive ways against the ledger."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from itertools import cycle

from django.db import connections

from bench.callers import Admit, Line, admissions_per_second
from bench.naive import POOL, admit_by_orm, admit_by_sql, connect, fill_balance
from bench.rounds import Tell, in_turn, medians
from budget import services
from budget.ledger.operations import AdmissionRequest
from budget.ledger.writers import stop_writers

CLASSES = ("adjuster", "rescore", "nightly")
INPUT_TOKENS, OUTPUT_TOKENS = 800, 200
CONTENDED = 32
LEDGER_CALLERS = (1, 8, CONTENDED, 128)


@contextmanager
def orm_line() -> Iterator[Admit]:
    """One thread's admissions through the ORM."""
    classes = cycle(CLASSES)
    try:
        yield lambda: admit_by_orm(next(classes), INPUT_TOKENS + OUTPUT_TOKENS)
    finally:
        connections.close_all()


@contextmanager
def sql_line() -> Iterator[Admit]:
    """One thread's admissions by raw SQL."""
    classes = cycle(CLASSES)
    with connect() as connection:
        yield lambda: admit_by_sql(connection, next(classes), INPUT_TOKENS + OUTPUT_TOKENS)


@contextmanager
def ledger_line() -> Iterator[Admit]:
    """One thread's admissions through the ledger."""
    requests = cycle(
        AdmissionRequest(
            pool=POOL,
            workload_class=workload_class,
            input_tokens=INPUT_TOKENS,
            output_tokens=OUTPUT_TOKENS,
        )
        for workload_class in CLASSES
    )
    yield lambda: services.admit(next(requests))


def measure(seconds: float, rounds: int, tell: Tell) -> dict[str, float]:
    """Durable admissions per second, and how often the ledger's fit into the naive ones."""
    fill_balance()
    lines: dict[str, tuple[Line, int]] = {
        f"naive_orm_per_s_{CONTENDED}": (orm_line, CONTENDED),
        f"naive_sql_per_s_{CONTENDED}": (sql_line, CONTENDED),
        **{f"ledger_per_s_{callers}": (ledger_line, callers) for callers in LEDGER_CALLERS},
    }
    contenders = {
        name: partial(admissions_per_second, line, callers, seconds)
        for name, (line, callers) in lines.items()
    }
    figures = medians(in_turn(contenders, rounds, tell))
    stop_writers()
    ledger = figures[f"ledger_per_s_{CONTENDED}"]
    for way in ("naive_orm", "naive_sql"):
        figures[f"ledger_over_{way}_{CONTENDED}"] = ledger / figures[f"{way}_per_s_{CONTENDED}"]
    return figures
