"""The admin: policy with its live figures and history, calls, jobs, usage, keys."""

from budget.admin import call, job, job_batch, key, policy_history, pool, usage, workload

__all__ = ["call", "job", "job_batch", "key", "policy_history", "pool", "usage", "workload"]
