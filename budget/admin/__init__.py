"""The admin: policy with its live figures and history, calls, usage, keys."""

from budget.admin import call, key, policy_history, pool, usage, workload

__all__ = ["call", "key", "policy_history", "pool", "usage", "workload"]
