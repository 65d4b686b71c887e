"""Whether the process lives, and whether it can decide."""

from contextlib import suppress
from functools import cache

from django.db import DatabaseError, InterfaceError, connection
from django.db.migrations.executor import MigrationExecutor
from django.http import HttpRequest, HttpResponse
from django.views.decorators.csrf import csrf_exempt

from budget import services
from budget.api.problem import Problem, json_response
from budget.ledger.errors import BudgetError, UnknownCall
from budget.ledger.ids import new_id
from budget.models import Pool

METHODS = ("GET", "HEAD")


@csrf_exempt
def healthz(request: HttpRequest) -> HttpResponse:
    """200 as long as the process answers at all."""
    if request.method not in METHODS:
        return _use_get()
    return json_response({"status": "ok"})


@csrf_exempt
def readyz(request: HttpRequest) -> HttpResponse:
    """200 once calls can be decided, else 503 naming the first check that failed.

    Of several pools one is tried: a fault of a single pool is no reason to take a process
    out of service, and one that all have shows on any.
    """
    if request.method not in METHODS:
        return _use_get()
    for name, check in (("database", _database), ("migrations", _migrations), ("ledger", _ledger)):
        try:
            check()
        except _NotReady as reason:
            return _unready(name, str(reason))
        except (DatabaseError, InterfaceError, BudgetError):
            return _unready(name, f"The {name} does not answer.")
    return json_response({"status": "ready"})


class _NotReady(Exception):
    """A check failed; the message says what to do."""


def _database() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")


@cache
def _migrations() -> None:
    """Remembered once all are applied: reading their graph takes a while."""
    executor = MigrationExecutor(connection)
    missing = executor.migration_plan(executor.loader.graph.leaf_nodes())
    if missing:
        raise _NotReady(f"{len(missing)} migrations are not applied: run manage.py migrate.")


def _ledger() -> None:
    """Ends a call that nobody made: it takes the way of a real one, through queue and lock."""
    pool_id = Pool.objects.values_list("pk", flat=True).first()
    if pool_id is not None:
        with suppress(UnknownCall):
            services.cancel(new_id(pool_id))


def _unready(name: str, fault: str) -> HttpResponse:
    return Problem(503, fault, headers={"Retry-After": "1"}, check=name).response()


def _use_get() -> HttpResponse:
    allowed = ", ".join(METHODS)
    return Problem(405, f"Use {allowed} here.", headers={"Allow": allowed}).response()
