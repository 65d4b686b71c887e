"""Adds everything about jobs up once more, from the tables."""

from collections import Counter
from typing import Any

from django.db import connection

from budget.ledger.balances import Balances, decode_balances
from budget.models import Call, Job, Pool, PoolState, UsageMinute, WorkloadClass

ENDS = ["succeeded", "failed", "expired", "cancelled"]


def balances(pool: Pool) -> Balances:
    """The newest stored balances."""
    return decode_balances(bytes(PoolState.objects.filter(pool_id=pool.pk).latest("seq").state))


def check_accounts(pool: Pool) -> None:
    """Whatever is counted on the way equals what the tables hold."""
    check_queues(pool)
    check_attempts(pool)
    check_usage(pool)
    check_gauges(pool)


def check_queues(pool: Pool) -> None:
    """Depth, tokens and running jobs of each class."""
    with connection.cursor() as cursor:
        cursor.execute(
            """
            SELECT workload_class, count(*) FILTER (WHERE state = 'queued'),
                coalesce(sum(input_tokens + output_tokens) FILTER (WHERE state = 'queued'), 0),
                count(*) FILTER (WHERE state = 'running')
            FROM budget_job WHERE pool_id = %s GROUP BY 1
            """,
            [pool.pk],
        )
        stored = {slug: tuple(map(int, counts)) for slug, *counts in cursor.fetchall()}
    known = balances(pool).queues or {}
    counted = {slug: (q.depth, q.tokens, q.running) for slug, q in known.items()}
    for slug in stored.keys() | counted.keys():
        assert counted.get(slug, (0, 0, 0)) == stored.get(slug, (0, 0, 0)), slug


def check_attempts(pool: Pool) -> None:
    """One open call per running job, none begun too late, none too many."""
    jobs = {job.pk: job for job in Job.objects.filter(pool_id=pool.pk)}
    calls = list(Call.objects.filter(pool_id=pool.pk, job_id__isnull=False).exclude(state="shed"))
    most = dict(WorkloadClass.objects.values_list("slug", "max_attempts"))
    for job in jobs.values():
        assert job.attempts <= most.get(job.workload_class, job.attempts)
        assert (job.finished_at is not None) == (job.state in ENDS)
        if job.state in ENDS:
            assert job.trail[-1]["event"] == job.state
        if job.state == "running":
            (call,) = [call for call in calls if call.pk == job.call_id]
            assert call.state == "open"
    for call in calls:
        job = jobs[call.job_id]
        assert call.offered_at < job.deadline
        if call.state == "open" and job.call_id == call.pk:
            assert job.state in ("running", "cancelled")


def check_usage(pool: Pool) -> None:
    """What was offered, admitted, shed and expired, over all minutes."""
    counted: dict[str, Counter[str]] = {}
    for row in UsageMinute.objects.filter(pool_id=pool.pk).values():
        _add(counted, row["workload_class"], row)
    for slug, tally in balances(pool).minute.classes.items():
        _add(counted, slug, {name: getattr(tally, name) for name in tally.__struct_fields__})
    calls = Call.objects.filter(pool_id=pool.pk)
    for slug in {*counted, *Job.objects.values_list("workload_class", flat=True)}:
        own = calls.filter(workload_class=slug)
        jobs = Job.objects.filter(pool_id=pool.pk, workload_class=slug)
        started = own.filter(job_id__isnull=False).exclude(state="shed")
        again = started.count() - started.values("job_id").distinct().count()
        shed = own.filter(state="shed")
        single = own.filter(job_id__isnull=True).exclude(state="shed")
        expected = Counter(
            offered=jobs.count() + again + shed.count() + single.count(),
            admitted=started.count() + single.count(),
            expired=jobs.filter(state="expired").count(),
            lease_expired=own.filter(lapsed_at__isnull=False).count(),
            **{f"shed {reason}": n for reason, n in Counter(c.reason for c in shed).items()},
        )
        assert counted.get(slug, Counter()) == expected, slug


def check_gauges(pool: Pool) -> None:
    """What the gauges of both sides hold is what open calls were charged."""
    known = balances(pool)
    sides = ((False, known.pool), (True, known.endpoint))
    for of_batch, state in sides:
        if state is None:
            continue
        held = Counter[str]()
        for call in Call.objects.filter(pool_id=pool.pk, state="open", of_batch=of_batch):
            for charge in call.charged:
                d = state.limits.index(charge.limit) if charge.limit in state.limits else None
                if d is not None and charge.at >= state.since[d]:
                    held[charge.limit] += charge.amount
        for name, level in zip(state.limits, state.levels, strict=True):
            if name.endswith("/gauge"):
                assert level.total == held[name], (of_batch, name)


def _add(counted: dict[str, Counter[str]], slug: str, tally: dict[str, Any]) -> None:
    mine = counted.setdefault(slug, Counter())
    for name in ("offered", "admitted", "expired", "lease_expired"):
        mine[name] += tally[name]
    for reason, n in tally["shed"].items():
        mine[f"shed {reason}"] += n
