"""Whether the process lives, and whether it can decide."""

from django.db import DatabaseError, InterfaceError, connection
from django.db.migrations.executor import MigrationExecutor
from django.http import HttpRequest, HttpResponse

from budget import services
from budget.api.problem import Problem, json_response
from budget.ledger.errors import BudgetError
from budget.models import Pool

METHODS = ("GET", "HEAD")


def healthz(request: HttpRequest) -> HttpResponse:
    """200 as long as the process answers at all."""
    if request.method not in METHODS:
        return _use_get()
    return json_response({"status": "ok"})


def readyz(request: HttpRequest) -> HttpResponse:
    """200 once calls can be decided, else 503 naming the first check that failed."""
    if request.method not in METHODS:
        return _use_get()
    for name, check in (("database", _database), ("migrations", _migrations), ("ledger", _ledger)):
        try:
            fault = check()
        except (DatabaseError, InterfaceError, BudgetError):
            fault = f"The {name} does not answer."
        if fault:
            headers = {"Retry-After": "1"}
            return Problem(503, fault, headers=headers, check=name).response()
    return json_response({"status": "ready"})


def _database() -> str:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
    return ""


def _migrations() -> str:
    executor = MigrationExecutor(connection)
    missing = executor.migration_plan(executor.loader.graph.leaf_nodes())
    return f"{len(missing)} migrations are not applied: run manage.py migrate." if missing else ""


def _ledger() -> str:
    slug = Pool.objects.values_list("slug", flat=True).first()
    if slug is not None:
        services.pool_view(slug)
    return ""


def _use_get() -> HttpResponse:
    allowed = ", ".join(METHODS)
    return Problem(405, f"Use {allowed} here.", headers={"Allow": allowed}).response()
