"""What Django checks before a project runs the app: its database, and the clusters of jobs."""

from collections.abc import Iterator, Sequence
from typing import Any

from django.apps import apps
from django.conf import settings
from django.core.checks import CheckMessage, Error, Warning
from django.db import connections

from budget import conf

OLDEST = 16
"""Major version of PostgreSQL that the ledger's SQL needs at least."""
OTHER_BROKERS = ("broker_class", "iron_mq", "sqs")
"""Settings of django-q that it prefers to `orm`."""
QUEUED_TIERS = ("near_line", "bulk")


def engine(**_: Any) -> list[CheckMessage]:
    """Refuses another engine than PostgreSQL, without a connection."""
    vendor = connections["default"].vendor
    if vendor == "postgresql":
        return []
    return [
        Error(
            f"The default database is {vendor}, but the budget locks rows as only PostgreSQL does.",
            hint=f"Let DATABASES['default'] be PostgreSQL {OLDEST} or newer.",
            id="budget.E001",
        )
    ]


def version(databases: Sequence[str] | None = None, **_: Any) -> list[CheckMessage]:
    """Refuses an older server, where the database may be asked, as before `migrate`."""
    connection = connections["default"]
    if "default" not in (databases or ()) or connection.vendor != "postgresql":
        return []
    connection.ensure_connection()
    found = connection.connection.info.server_version // 10_000
    if found >= OLDEST:
        return []
    return [
        Error(
            f"The default database is PostgreSQL {found}, which is too old for the budget.",
            hint=f"Use PostgreSQL {OLDEST} or newer.",
            id="budget.E002",
        )
    ]


def clusters(**_: Any) -> list[CheckMessage]:
    """Warns of settings with which jobs would wait for ever, or run where they shouldn't."""
    if not apps.is_installed("django_q"):
        return []
    cluster = getattr(settings, "Q_CLUSTER", {})
    faults = [*_faults_of_clusters(cluster), *_faults_of_tickets(cluster)]
    return [Warning(told, hint=hint, id=id) for id, told, hint in faults]


def _faults_of_clusters(cluster: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    named = conf.clusters()
    served = {tier for tiers in named.values() for tier in tiers}
    own = cluster.get("cluster_name", cluster.get("name", "default"))
    known = {own, *cluster.get("ALT_CLUSTERS", {})}
    if missing := ", ".join(sorted(set(named) - known)):
        yield (
            "budget.W001",
            f"BUDGET_CLUSTERS names clusters that Q_CLUSTER doesn't: {missing}.",
            f"Add them to Q_CLUSTER['ALT_CLUSTERS'], as in {{'{missing.split(',')[0]}': {{}}}}.",
        )
    if idle := ", ".join(tier for tier in QUEUED_TIERS if tier not in served):
        yield (
            "budget.W002",
            f"No cluster of BUDGET_CLUSTERS works for {idle}: its jobs would wait for ever.",
            "Give the tier to a cluster, as in {'near_line': ('near_line',), 'bulk': ('bulk',)}.",
        )
    if odd := ", ".join(sorted(served - set(QUEUED_TIERS))):
        yield (
            "budget.W003",
            f"BUDGET_CLUSTERS names tiers that have no jobs: {odd}.",
            f"Use {' and '.join(QUEUED_TIERS)} only.",
        )


def _faults_of_tickets(cluster: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    if not cluster.get("orm") or any(cluster.get(name) for name in OTHER_BROKERS):
        yield (
            "budget.W004",
            "Q_CLUSTER uses another broker than the database, where no ticket is looked for.",
            "Set Q_CLUSTER['orm'] to 'default', and no other broker.",
        )
    if cluster.get("sync"):
        yield (
            "budget.W005",
            "Q_CLUSTER has 'sync' on: jobs would run in the process that enqueues them.",
            "Leave it out.",
        )
    # A ticket brings its own timeout along; that of Q_CLUSTER is for other tasks.
    retry, longest = cluster.get("retry", 60), conf.ticket_timeout()
    if retry < 4 * longest:
        yield (
            "budget.W006",
            f"Q_CLUSTER has retry {retry}: tickets, which may take {longest} s, would be delivered "
            "again while they wait or run, and crowd out others.",
            f"Set retry to at least {4 * longest}: four times what a ticket may take, which is a "
            "minute more than BUDGET_TICKET_SECONDS.",
        )
    if not cluster.get("ack_failures"):
        yield (
            "budget.W007",
            "Q_CLUSTER has 'ack_failures' off: a ticket that fails would be delivered for ever.",
            "Set it to True.",
        )
    if cluster.get("recycle", 500) or cluster.get("max_rss"):
        yield (
            "budget.W008",
            "Q_CLUSTER has workers recycled: one would do nothing until its longest job ends.",
            "Set recycle to 0, and leave max_rss out.",
        )
