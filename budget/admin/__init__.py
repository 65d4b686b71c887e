"""The admin: policy with its live figures and history, calls, callers, jobs, usage, keys."""

from budget.admin import (
    away_report,
    call,
    caller_process,
    job,
    job_batch,
    key,
    observation,
    policy_history,
    pool,
    untagged,
    usage,
    workload,
)

__all__ = [
    "away_report",
    "call",
    "caller_process",
    "job",
    "job_batch",
    "key",
    "observation",
    "policy_history",
    "pool",
    "untagged",
    "usage",
    "workload",
]
