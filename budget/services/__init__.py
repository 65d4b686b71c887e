"""The verbs of the budget: whatever decides on, ends or looks at calls and jobs goes here.

The REST API adds HTTP to these and nothing else; code in this process may call them
directly. They commit on their own connection, whatever transaction the caller is in.
"""

from budget.ledger.errors import (
    AlreadySettled,
    BudgetError,
    CallOfJob,
    CallWasShed,
    Forbidden,
    Implausible,
    JobEnded,
    KeyReused,
    LedgerUnavailable,
    Shed,
    UnknownCall,
    UnknownClass,
    UnknownJob,
    UnknownPool,
)
from budget.ledger.floors_since import FloorsSince
from budget.ledger.history import ClassHistory, UsageHistory
from budget.ledger.job_operations import Enqueued, Finished, QueueView, Taken, TakenJob
from budget.ledger.operations import (
    IN_PROCESS,
    Admission,
    AdmissionRequest,
    Caller,
    Observed,
    Outcome,
    Renewed,
    Settled,
)
from budget.ledger.tally import ClassTally
from budget.services.away import AwayCalls, AwayReport, away_calls
from budget.services.call_sites import CallSite, UntaggedCalls, untagged
from budget.services.callers import PoolForCallers, caller_processes, hear
from budget.services.calls import (
    OpenCall,
    admission,
    admit,
    admit_many,
    cancel,
    explain,
    pool_view,
    renew,
    settle,
)
from budget.services.jobs import cancel_job, cancel_jobs, enqueue, job, jobs_by_id
from budget.services.observations import observe, tell
from budget.services.queues import queues, wait_until_green
from budget.services.running import collect, due, finish, keep_minutes, renew_batch, take
from budget.services.snapshot import PoolSnapshot, snapshot
from budget.services.usage import usage, usage_history, usage_totals

__all__ = [
    "IN_PROCESS",
    "Admission",
    "AdmissionRequest",
    "AlreadySettled",
    "AwayCalls",
    "AwayReport",
    "BudgetError",
    "CallOfJob",
    "CallSite",
    "CallWasShed",
    "Caller",
    "ClassHistory",
    "ClassTally",
    "Enqueued",
    "Finished",
    "FloorsSince",
    "Forbidden",
    "Implausible",
    "JobEnded",
    "KeyReused",
    "LedgerUnavailable",
    "Observed",
    "OpenCall",
    "Outcome",
    "PoolForCallers",
    "PoolSnapshot",
    "QueueView",
    "Renewed",
    "Settled",
    "Shed",
    "Taken",
    "TakenJob",
    "UnknownCall",
    "UnknownClass",
    "UnknownJob",
    "UnknownPool",
    "UntaggedCalls",
    "UsageHistory",
    "admission",
    "admit",
    "admit_many",
    "away_calls",
    "caller_processes",
    "cancel",
    "cancel_job",
    "cancel_jobs",
    "collect",
    "due",
    "enqueue",
    "explain",
    "finish",
    "hear",
    "job",
    "jobs_by_id",
    "keep_minutes",
    "observe",
    "pool_view",
    "queues",
    "renew",
    "renew_batch",
    "settle",
    "snapshot",
    "take",
    "tell",
    "untagged",
    "usage",
    "usage_history",
    "usage_totals",
    "wait_until_green",
]
