"""A writer's hold on the database: its connection, and what it remembers between batches."""

import time
from collections.abc import Sequence
from contextlib import suppress
from uuid import UUID

import msgspec
import psycopg

from budget.ledger import queries, store
from budget.ledger.admitting import admit
from budget.ledger.balances import Balances, fresh_balances, restore_balances
from budget.ledger.batch import Batch, Key
from budget.ledger.clock import minute_of
from budget.ledger.connection import connect
from budget.ledger.deciding import decide_job, prepare_queues, read_lapsed_jobs, wanted_jobs
from budget.ledger.errors import BudgetError, UnknownCall, UnknownJob, UnknownPool
from budget.ledger.excusing import excuse, read_excusable
from budget.ledger.finishing import lapse_jobs
from budget.ledger.job_operations import CancelJob, Collect, Enqueue, Finish, JobOperation, Take
from budget.ledger.lineup import ensure_counted
from budget.ledger.observing import observe, read_observed
from budget.ledger.operations import Admit, Excuse, Observe, Renew, RenewMany, Settle
from budget.ledger.protocol import Answer, Operation
from budget.ledger.rows import NewRevision
from budget.ledger.settling import lapse, renew, renew_many, settle
from budget.ledger.submission import Submission
from budget.ledger.terms import Policy, load_policy, load_revision
from budget.rule.terms import SECOND, PoolTerms

REPLAN_EVERY = 256
"""Batches after which plans are made anew."""


class Session:
    """Decides batches of one pool, each in a transaction of its own."""

    def __init__(self, pool_id: int) -> None:
        self.pool_id = pool_id
        self._connection: psycopg.Connection | None = None
        self._known: store.Known | None = None
        self._policy: Policy | None = None
        self._batches = 0
        self._ahead = 0.0
        self.pool_is_gone = False
        """Whether the last batch found no pool to decide on."""

    def clock(self) -> float:
        """The database's time, as of the last batch: seconds since the epoch."""
        return time.time() + self._ahead

    def decide(self, submissions: Sequence[Submission]) -> list[Answer | BudgetError]:
        """Decide submissions in order and commit; one answer each. None only close the minute.

        1. Take the lock; read clock, policy version, newest state and the calls concerned.
        2. Bring the balances to the present, under the policy of the present.
        3. Let leases lapse whose end has passed.
        4. Decide, in memory.
        5. Append the new state, write the calls, commit.

        Raises psycopg.Error when the database does not let it. Then nothing was decided,
        unless `recover` finds the connection lost after step 4: those submissions carry
        the number of the transaction, and the next attempt looks for it.
        """
        connection = self._connected()
        self._batches += 1
        with connection.pipeline() as pipeline:
            if self._batches % REPLAN_EVERY == 0:
                connection.execute(queries.FORGET_PLANS)
            reading = store.lock_and_read(
                connection,
                pipeline,
                self.pool_id,
                self._known,
                _ids(submissions),
                _keys(submissions),
                wanted_jobs(submissions),
            )
            if reading is None or reading.version is None:
                decided = None
            else:
                decided = self._decide(connection, pipeline, reading, submissions)
        self.pool_is_gone = decided is None
        if decided is not None:
            answers, self._known = decided
            return answers
        connection.rollback()
        if reading is None and store.restore_lock(connection, self.pool_id):
            return self.decide(submissions)
        self.close()
        return [unknown_to(submission.operation) for submission in submissions]

    def recover(self) -> bool:
        """Roll back after an error. False if the connection is lost, perhaps with a commit."""
        if self._connection is None:
            return False
        with suppress(psycopg.Error):
            self._connection.rollback()
            if not self._connection.closed:
                return True
        self.close()
        return False

    def close(self) -> None:
        """Give up the connection; the next batch makes another."""
        if self._connection is not None:
            with suppress(psycopg.Error):
                self._connection.close()
            self._connection = None

    def _connected(self) -> psycopg.Connection:
        if self._connection is None:
            self._connection = connect()
        return self._connection

    def _decide(
        self,
        connection: psycopg.Connection,
        pipeline: psycopg.Pipeline,
        reading: store.Reading,
        submissions: Sequence[Submission],
    ) -> tuple[list[Answer | BudgetError], store.Known | None]:
        """Answers that hold once the pipeline has ended, and the newest state from then on."""
        on_jobs = any(isinstance(s.operation, JobOperation) for s in submissions)
        batch = self._open_batch(connection, pipeline, reading, on_jobs)
        before = msgspec.json.encode(batch.queues) if on_jobs else b""
        if on_jobs:
            prepare_queues(connection, pipeline, batch, submissions)
        read_observed(connection, pipeline, batch, submissions)
        read_excusable(connection, pipeline, batch, submissions)
        answers = [_answer(batch, submission) for submission in submissions]
        for submission in submissions:
            submission.attempted = batch.seq
        if on_jobs and msgspec.json.encode(batch.queues) != before:
            batch.changes.queues_changed = True
        changes = batch.changes
        if reading.state and changes.balances_changed and not changes.levels_changed:
            # Nothing stored tells a re-run that there was a batch at this moment.
            batch.balances.stand_still(reading.state.document)
        state = _new_state(batch)
        store.write_and_commit(connection, self.pool_id, batch.changes, state)
        return answers, reading.state if state is None else state.known

    def _open_batch(
        self,
        connection: psycopg.Connection,
        pipeline: psycopg.Pipeline,
        reading: store.Reading,
        on_jobs: bool,
    ) -> Batch:
        terms_before = None if self._policy is None else self._policy.terms
        policy = self._current_policy(connection, pipeline, reading)
        terms = policy.terms
        self._ahead = reading.clock / SECOND - time.time()
        seq, now = 1, reading.clock
        if reading.state is None:
            balances = fresh_balances(terms, now)
        else:
            # Even if the clock was set back, the moments of batches tell them apart.
            seq, now = reading.state.seq + 1, max(now, reading.state.at + 1)
            balances = restore_balances(reading.state.document, terms, now)
        stood_at = None if reading.state is None else balances.pool.at
        revision = None
        if balances.version != terms.version:
            revision = NewRevision(terms, policy.changed_at)
            self._adopt(connection, pipeline, balances, policy, terms_before)
        balances.advance(terms, now)
        batch = Batch(self.pool_id, seq, terms, balances, reading.calls, reading.jobs)
        batch.stood_at = stood_at
        batch.changes.revision = revision
        batch.close_minute()
        if on_jobs:
            ensure_counted(connection, pipeline, batch)
        if batch.now >= balances.next_lapse:
            ended, balances.lapsed_through, balances.next_lapse = store.read_lapsed(
                connection, pipeline, self.pool_id, balances.lapsed_through, batch.now
            )
            lapse(batch, ended)
            if any(call.job_id is not None for call in ended):
                read_lapsed_jobs(connection, pipeline, batch, ended)
                lapse_jobs(batch, ended)
        return batch

    def _current_policy(
        self, connection: psycopg.Connection, pipeline: psycopg.Pipeline, reading: store.Reading
    ) -> Policy:
        if self._policy is None or self._policy.terms.version != reading.version:
            self._policy = load_policy(connection.cursor(), self.pool_id)
            pipeline.sync()
            if self._policy is None:
                raise psycopg.OperationalError("the pool was deleted this very moment")
        return self._policy

    def _adopt(
        self,
        connection: psycopg.Connection,
        pipeline: psycopg.Pipeline,
        balances: Balances,
        policy: Policy,
        terms_before: PoolTerms | None,
    ) -> None:
        """Carry balances over a policy edit; those of a new pool are under it already."""
        old = terms_before
        if old is None or old.version != balances.version:
            old = load_revision(connection.cursor(), self.pool_id, balances.version)
            pipeline.sync()
        balances.carry(old, policy.terms, policy.changed_at)


def _new_state(batch: Batch) -> store.NewState | None:
    """What to append after the batch; None if it changed no balance.

    Of those that changed levels the first of each minute is kept, to re-run decisions from.
    """
    if not batch.changes.balances_changed:
        return None
    return store.NewState(
        store.Known(batch.seq, batch.now, batch.balances.encode()),
        kept=batch.stood_at is None
        or (batch.changes.levels_changed and minute_of(batch.stood_at) != minute_of(batch.now)),
        version=batch.terms.version,
    )


def _answer(batch: Batch, submission: Submission) -> Answer | BudgetError:
    operation = submission.operation
    try:
        if isinstance(operation, Admit):
            return admit(batch, operation, submission.attempted)
        if isinstance(operation, Settle):
            return settle(batch, operation)
        if isinstance(operation, Renew):
            return renew(batch, operation)
        if isinstance(operation, RenewMany):
            return renew_many(batch, operation)
        if isinstance(operation, Observe):
            return observe(batch, operation)
        if isinstance(operation, Excuse):
            return excuse(batch)
        return decide_job(batch, operation, submission.attempted)
    except BudgetError as error:
        return error


def unknown_to(operation: Operation) -> BudgetError:
    """What is said to an operation on a pool that is gone."""
    if isinstance(operation, Admit | Enqueue):
        return UnknownPool(f"There is no pool {operation.request.pool!r}.")
    if isinstance(operation, Observe):
        return UnknownPool(f"There is no pool {operation.pool!r}.")
    if isinstance(operation, Take | Collect | RenewMany | Excuse):
        return UnknownPool("The pool is gone.")
    if isinstance(operation, Finish | CancelJob):
        return UnknownJob(f"There is no job {operation.id}.")
    return UnknownCall(f"There is no call {operation.id}.")


def _ids(submissions: Sequence[Submission]) -> list[UUID]:
    """Calls to look up: those to end or extend, and those that may be decided already."""
    ids = []
    for submission in submissions:
        operation = submission.operation
        if isinstance(operation, Finish):
            ids.append(operation.call_id)
        elif isinstance(operation, Settle | Renew):
            ids.append(operation.id)
        elif isinstance(operation, RenewMany):
            ids.extend(operation.calls)
        elif isinstance(operation, Enqueue):
            # Its refusal stands under the same id.
            ids.extend([operation.id] if submission.attempted is not None else [])
        elif not isinstance(operation, Admit):
            continue
        elif submission.attempted is not None:
            ids.append(operation.id)
            if operation.moved is not None:
                ids.append(operation.moved)
    return ids


def _keys(submissions: Sequence[Submission]) -> set[Key]:
    keys = set()
    for submission in submissions:
        operation = submission.operation
        if isinstance(operation, Admit) and operation.request.idempotency_key is not None:
            keys.add((operation.caller.key_prefix, operation.request.idempotency_key))
    return keys
