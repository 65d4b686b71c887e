"""What one transaction decides: the balances at one moment, and what it will write."""

from collections.abc import Iterable
from uuid import UUID

from budget.ledger.balances import Balances
from budget.ledger.clock import MINUTE, minute_of
from budget.ledger.job_rows import StoredJob
from budget.ledger.operations import Admission
from budget.ledger.rows import (
    Changes,
    ClosedMinute,
    DecidedCall,
    StoredCall,
    StoredReport,
    at_end_of,
)
from budget.ledger.tally import OpenMinute, allowance, leading_name
from budget.providers import Tokens, counted
from budget.rule.dequeue import Queue
from budget.rule.terms import ClassTerms, PoolTerms

IDEMPOTENCY_SPAN = 86_400_000_000
"""How long an idempotency key counts, in microseconds."""

Key = tuple[str, str]
"""Prefix of the API key, and idempotency key."""


class Batch:
    """Operations of one pool, decided one after another at one moment.

    `admitting` and `settling` change `balances` through the rule and note in `changes`
    what is to be written.
    """

    def __init__(
        self,
        pool_id: int,
        seq: int,
        terms: PoolTerms,
        balances: Balances,
        calls: Iterable[StoredCall],
        jobs: Iterable[StoredJob] = (),
    ) -> None:
        self.pool_id = pool_id
        self.seq = seq
        self.terms = terms
        self.balances = balances
        self.now = balances.pool.at
        self.stood_at: int | None = None
        """When levels last changed before; None if the balances are the pool's first."""
        self.changes = Changes()
        self.calls: dict[UUID, StoredCall] = {}
        self.keyed: dict[Key, StoredCall] = {}
        self.decided_by_key: dict[Key, tuple[DecidedCall, Admission]] = {}
        self.jobs: dict[UUID, StoredJob] = {}
        self.keyed_jobs: dict[Key, StoredJob] = {}
        self.ready: dict[str, list[StoredJob]] = {}
        """By class: the first jobs of its queue, in its order."""
        self.collectable: dict[UUID, list[StoredJob]] = {}
        """By collecting operation: the first jobs that a batch endpoint may be sent."""
        self.leaked: dict[UUID, dict[str, int]] = {}
        """By observation of before: what was found to have leaked, by unit."""
        self.excusable: list[StoredReport] = []
        self._position = 0
        for call in calls:
            self.calls[call.id] = call
            if call.idempotency_key is not None:
                self.keyed[call.key_prefix, call.idempotency_key] = call
        for job in jobs:
            self.know(job)

    def next_position(self) -> int:
        """The place of one more decision or settlement in the order of the batch."""
        self._position += 1
        return self._position

    def stored(self, call: StoredCall) -> StoredCall:
        """The one object that stands for a call in this batch."""
        return self.calls.setdefault(call.id, call)

    @property
    def queues(self) -> dict[str, Queue]:
        """What is remembered of each class's queue."""
        if self.balances.queues is None:
            self.balances.queues = {}
        return self.balances.queues

    def queue(self, workload_class: str) -> Queue:
        """One class's queue, empty if nothing was enqueued yet."""
        if workload_class not in self.queues:
            self.queues[workload_class] = Queue(paused=self.terms.is_paused(workload_class))
        return self.queues[workload_class]

    def runs_alone(self, workload_class: str) -> bool:
        """Whether a job runs from which others of its kind stay away."""
        return self.queue(workload_class).alone_until > self.now

    def member(self, workload_class: str) -> ClassTerms | None:
        """A class's terms; None once the class is gone."""
        c = self.terms.class_index.get(workload_class)
        return None if c is None else self.terms.classes[c]

    def horizon(self, member: ClassTerms) -> int | None:
        """The first deadline that leaves a class's jobs time for the batch endpoint, if any."""
        if self.terms.batch is None or member.tier != "bulk":
            return None
        return self.now + self.terms.batch.window

    def know(self, job: StoredJob) -> StoredJob:
        """The one object that stands for a job in this batch."""
        known = self.jobs.setdefault(job.id, job)
        if known.idempotency_key is not None:
            self.keyed_jobs[known.key_prefix, known.idempotency_key] = known
        return known

    def forget_key(self, job: StoredJob) -> None:
        """Free a job's idempotency key."""
        if job.idempotency_key is not None:
            self.keyed_jobs.pop((job.key_prefix, job.idempotency_key), None)
            self.changes.forgotten_jobs.append(job.id)
            job.idempotency_key = None

    def change(self, job: StoredJob) -> None:
        """Write what has changed of a job."""
        self.changes.jobs[job.id] = job

    def end(self, job: StoredJob, state: str, error: str) -> None:
        """End a job for good."""
        job.state, job.error, job.finished_at, job.not_before = state, error, self.now, None
        job.note(self.now, state, error)
        self.change(job)

    def close_minute(self) -> None:
        """Start a new minute of usage if the old one is over."""
        minute, start = self.balances.minute, minute_of(self.now)
        if start <= minute.start:
            return
        # Every class has its row: a minute without any is one nobody knows about.
        for member in self.terms.classes:
            minute.of(member.slug)
        end = minute.start + MINUTE
        waiting = {slug: at_end_of(queue, end) for slug, queue in self.queues.items()}
        self.changes.closed = ClosedMinute(
            minute.start,
            leading_name(self.terms),
            allowance(self.terms),
            minute.classes,
            waiting,
        )
        self.balances.minute = OpenMinute(start)


def amounts(terms: PoolTerms, tokens: Tokens) -> dict[str, int]:
    """What a call of that size counts as with the pool's provider, by unit."""
    size = counted(terms.provider, tokens)
    return {
        "requests": 1,
        "input_tokens": size.input,
        "output_tokens": size.output,
        "total_tokens": size.input + size.output,
    }


def units(terms: PoolTerms) -> set[str]:
    """The units the pool's limits count."""
    return {limit.unit for limit in terms.limits}
