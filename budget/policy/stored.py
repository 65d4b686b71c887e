"""Policies as they stand in the database, and what is wrong with them."""

from django.db import connection, models

from budget.models import Limit, PolicyVersion, Pool, Reservation, WorkloadClass
from budget.models.terms import pool_terms
from budget.policy.endpoint import endpoint_problems
from budget.rule import checks
from budget.rule.checks import Problem
from budget.rule.terms import PoolTerms

Problems = dict[str, list[Problem]]
"""By slug of the pool."""


def stored_terms(pool: Pool, edited: WorkloadClass | None = None) -> PoolTerms:
    """The terms of one pool as the ledger would read them now, or with a class as edited."""
    version = PolicyVersion.objects.filter(pool_id=pool.pk).values_list("version", flat=True)
    return pool_terms(
        pool,
        Limit.objects.filter(pool=pool),
        Reservation.objects.filter(pool=pool).select_related("workload_class"),
        _classes(edited),
        version=version.first() or 0,
    )


def _classes(edited: WorkloadClass | None) -> list[WorkloadClass]:
    if edited is None:
        return list(WorkloadClass.objects.all())
    return [*WorkloadClass.objects.exclude(pk=edited.pk), edited]


def stored_problems(edited: WorkloadClass | None = None) -> Problems:
    """What is wrong with each pool, by its slug; pools without a problem too."""
    pools = Pool.objects.select_related("untagged_class")
    return {pool.slug: causes(stored_terms(pool, edited)) for pool in pools}


def causes(terms: PoolTerms) -> list[Problem]:
    """What is wrong with a policy, without what follows from a fault named before.

    One fault a field is enough; and while shares are over 100 %, no class's share is
    worth a word.
    """
    found: dict[tuple[str, str], Problem] = {}
    for problem in (*endpoint_problems(terms), *checks.problems(terms)):
        if ("", problem.field) not in found:
            found.setdefault((problem.owner, problem.field), problem)
    return list(found.values())


def new_problems(before: Problems, now: Problems | None = None) -> Problems:
    """What is wrong now and wasn't in `before`; pools without a new problem left out."""
    now = stored_problems() if now is None else now
    found = {
        slug: [problem for problem in faults if problem not in before.get(slug, [])]
        for slug, faults in now.items()
    }
    return {slug: faults for slug, faults in found.items() if faults}


def hold_policy() -> None:
    """Wait for other policy edits and keep them out until this transaction ends.

    Rows come first and versions last, the order in which any statement and its trigger
    take them, so that edits wait for each other and never in a circle. Admissions only
    read these rows, so they go on.
    """
    for model in (WorkloadClass, Pool, Limit, Reservation):
        _lock(model)
    _lock(PolicyVersion)


def _lock(model: type[models.Model]) -> None:
    rows = model._default_manager.select_for_update(no_key=True, of=("self",))
    list(rows.order_by("pk").values_list("pk"))


def check_deferred() -> None:
    """Run the checks that wait for the commit now. Raises `IntegrityError`."""
    with connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        cursor.execute("SET CONSTRAINTS ALL DEFERRED")
