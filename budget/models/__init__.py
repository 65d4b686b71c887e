"""Everything the app stores."""

from budget.models.balance import PolicyRevision, PolicyVersion, PoolLock, PoolState
from budget.models.call import Call, UntaggedCaller
from budget.models.caller import AwayReport, AwayTotal, CallerProcess
from budget.models.job import Job, JobBatch
from budget.models.key import ApiKey, ApiKeyClass, ApiKeyPool
from budget.models.observation import Observation, ProviderLimit
from budget.models.pool import Limit, PolicyHistory, Pool
from budget.models.usage import Usage, UsageHour, UsageMinute, UsageTotal
from budget.models.workload import Reservation, WorkloadClass

__all__ = [
    "ApiKey",
    "ApiKeyClass",
    "ApiKeyPool",
    "AwayReport",
    "AwayTotal",
    "Call",
    "CallerProcess",
    "Job",
    "JobBatch",
    "Limit",
    "Observation",
    "PolicyHistory",
    "PolicyRevision",
    "PolicyVersion",
    "Pool",
    "PoolLock",
    "PoolState",
    "ProviderLimit",
    "Reservation",
    "UntaggedCaller",
    "Usage",
    "UsageHour",
    "UsageMinute",
    "UsageTotal",
    "WorkloadClass",
]
