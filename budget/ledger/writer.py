"""One pool's writer: a thread that decides what waits, one transaction per batch."""

import logging
import random
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from queue import Empty, SimpleQueue

import psycopg

from budget import conf
from budget.ledger.errors import BudgetError, Implausible, LedgerUnavailable
from budget.ledger.job_operations import CancelJob, Enqueued, Finish, Taken, handed_back
from budget.ledger.operations import Admission, Settle
from budget.ledger.protocol import Answer, Operation
from budget.ledger.session import Session, unknown_to
from budget.ledger.submission import Submission

logger = logging.getLogger(__name__)

FIRST_PAUSE = 0.02
LONGEST_PAUSE = 0.5
"""Seconds between attempts on a database that does not let a batch through."""

PATIENCE = 0.25
"""How long to wait for callers to return, as a part of the last transaction's time."""
LONGEST_PATIENCE = 0.002
"""Seconds: a transaction may have waited long for the lock."""
LAG = (0.5, 3.0)
"""Seconds after the end of an idle minute, other for each writer: the first closes it for all."""

NOBODY = sys.maxsize
"""More callers than can ever wait: the writer isn't gathering."""

POISON = (psycopg.DataError, psycopg.IntegrityError, psycopg.ProgrammingError)
"""Database errors that come from what is written, and would come again."""


class Writer:
    """Decides the operations of one pool in this process.

    Every submitted operation gets exactly one answer, after its transaction has
    committed. The thread outlives lost connections, deadlocks and bad operations, and ends
    by itself once the pool is gone.
    """

    def __init__(self, pool_id: int) -> None:
        self.pool_id = pool_id
        self._session = Session(pool_id)
        # Its own chance: to draw from the common one would upset whoever has seeded that.
        self._lag = random.SystemRandom().uniform(*LAG)
        self._batch_size = conf.ledger_batch_size()
        self._queue_size = conf.ledger_queue_size()
        self._queue: SimpleQueue[Submission | None] = SimpleQueue()
        self._unheard: list[Submission] = []
        """What takes back admissions, places and takings whose callers had given up."""
        self._expected = 1
        """How many callers are about: those just answered, and those that waited meanwhile."""
        self._patience = 0.0
        self._over = False
        self._gathered = threading.Event()
        self._wanted = NOBODY
        """How many must wait for the writer to be woken while it gathers a batch."""
        self._thread = threading.Thread(
            target=self._run, name=f"budget-ledger-{pool_id}", daemon=True
        )
        self._thread.start()

    def submit(self, operation: Operation) -> Submission:
        """Queue an operation. Raises LedgerUnavailable when too many wait already."""
        if self._queue.qsize() >= self._queue_size:
            raise LedgerUnavailable("Too many operations wait for the ledger.")
        submission = Submission(operation)
        self._queue.put(submission)
        if self._queue.qsize() >= self._wanted:
            self._wanted = NOBODY
            self._gathered.set()
        if self._over:
            submission.deliver(unknown_to(operation))
        return submission

    @property
    def is_over(self) -> bool:
        """Whether it has ended because its pool is gone: nothing is decided any more."""
        return self._over

    def stop(self, seconds: float = 5.0) -> None:
        """Answer what waits, then end the thread and its connection."""
        self._queue.put(None)
        self._thread.join(seconds)

    def _run(self) -> None:
        running = True
        while running:
            batch, running = self._take()
            try:
                if batch or not running:
                    self._process(batch)
                else:
                    self._close_minute()
                    running = not self._session.pool_is_gone
            except Exception as error:
                logger.exception("The ledger of pool %s failed; it goes on.", self.pool_id)
                for submission in batch:
                    submission.deliver(_refusal(error))
        self._over = self._session.pool_is_gone
        if self._over:
            self._turn_away()
        self._session.close()

    def _turn_away(self) -> None:
        """Tell those that came meanwhile that the pool is gone; later ones are told at once."""
        with suppress(Empty):
            while True:
                if (submission := self._queue.get_nowait()) is not None:
                    submission.deliver(unknown_to(submission.operation))

    def _take(self) -> tuple[list[Submission], bool]:
        """Everything that waits, up to a batch; False with it when the writer is to stop.

        Nothing when nobody came until after the end of the minute.
        """
        batch, self._unheard = self._unheard, []
        if not batch:
            self._await_return()
        try:
            while len(batch) < self._batch_size:
                submission = self._queue.get_nowait() if batch else self._first()
                if submission is None:
                    return batch, False
                batch.append(submission)
        except Empty:
            pass
        return batch, True

    def _first(self) -> Submission | None:
        """The next that comes. Raises Empty once the minute is over and nobody came."""
        return self._queue.get(timeout=_seconds_of_minute(self._session.clock()) + self._lag)

    def _await_return(self) -> None:
        """Give callers that were just answered a moment to come back.

        Else they split into two groups that take turns, and each waits for two commits
        of half a batch. It costs at most a part of the last transaction's own time.
        """
        wanted = min(self._batch_size, self._expected)
        if wanted <= 1 or self._queue.qsize() >= wanted:
            return
        self._gathered.clear()
        self._wanted = wanted
        self._gathered.wait(self._patience)
        self._wanted = NOBODY

    def _process(self, batch: list[Submission]) -> None:
        """Decide a batch, again and again until the database lets it or nobody waits."""
        pause = FIRST_PAUSE
        while batch := [s for s in batch if _still_wanted(s)]:
            try:
                started = time.perf_counter()
                answers = self._session.decide(batch)
                taken = time.perf_counter() - started
                self._patience = min(taken * PATIENCE, LONGEST_PATIENCE)
            except Exception as error:
                if self._session.recover():
                    for submission in batch:
                        submission.attempted = None
                if isinstance(error, LedgerUnavailable):
                    return self._refuse(batch, error)
                if not isinstance(error, psycopg.Error) or isinstance(error, POISON):
                    return self._isolate(batch, error)
                if pause > FIRST_PAUSE:
                    # Whatever is wrong may be the session's own, such as a plan that went stale.
                    self._session.close()
                logger.warning("The ledger of pool %s tries again: %s", self.pool_id, error)
                time.sleep(pause)
                pause = min(2 * pause, LONGEST_PAUSE)
            else:
                return self._deliver(batch, answers)
        return None

    def _close_minute(self) -> None:
        """Let the minute end although nobody calls, so that it is known that nobody did.

        Whichever process comes first does it; if the database is away, nobody knows.
        """
        try:
            self._session.decide([])
        except (psycopg.Error, BudgetError) as error:
            logger.debug("A minute of pool %s was not closed: %s", self.pool_id, error)
            self._session.recover()
        except Exception:
            self._session.recover()
            raise

    def _refuse(self, batch: list[Submission], error: LedgerUnavailable) -> None:
        """Turn away a whole batch: whatever is wrong is no operation's fault."""
        for submission in batch:
            submission.deliver(error)

    def _isolate(self, batch: list[Submission], error: Exception) -> None:
        """Halve a batch that cannot be written until the culprit is alone, and refuse it."""
        if len(batch) > 1:
            half = len(batch) // 2
            self._process(batch[:half])
            self._process(batch[half:])
            return
        _log(batch[0].operation, error)
        batch[0].deliver(_refusal(error))

    def _deliver(
        self, batch: Sequence[Submission], answers: Sequence[Answer | BudgetError]
    ) -> None:
        self._expected = len(batch) + self._queue.qsize()
        for submission, answer in zip(batch, answers, strict=True):
            if submission.deliver(answer):
                continue
            self._unheard.extend(Submission(undoing) for undoing in _undone(answer))


def _seconds_of_minute(clock: float) -> float:
    """How long it is until the minute is over."""
    return 60 - clock % 60


def _log(culprit: Operation, error: Exception) -> None:
    """Name an operation that cannot be decided, but tell nothing of what it carries.

    The database quotes that in what it adds to its message.
    """
    name = type(culprit).__name__
    if isinstance(error, psycopg.Error):
        fault = error.diag.message_primary or type(error).__name__
        logger.error("The ledger cannot decide the %s %s: %s", name, culprit.id, fault)
    else:
        logger.error("The ledger cannot decide the %s %s.", name, culprit.id, exc_info=error)


def _still_wanted(submission: Submission) -> bool:
    """Whether to go on with it: its caller waits, or did before a transaction of unknown fate.

    A settlement is made even if its caller has given up, lest what the call used be lost.
    """
    return (
        submission.attempted is not None
        or not submission.abandoned
        or isinstance(submission.operation, Settle | Finish)
    )


def _undone(answer: Answer | BudgetError) -> list[Operation]:
    """What takes back an answer that nobody heard."""
    if isinstance(answer, Admission) and answer.admitted and not answer.replayed:
        return [Settle(id=answer.id, outcome="cancelled", forget_key=True)]
    if isinstance(answer, Enqueued) and not answer.replayed:
        return [CancelJob(id=answer.id, forget_key=True)]
    if isinstance(answer, Taken):
        return [handed_back(job, "Whoever took it had given up waiting.") for job in answer.jobs]
    return []


def _refusal(error: Exception) -> BudgetError:
    """What the caller of an operation that cannot be decided is told."""
    if isinstance(error, psycopg.DataError | UnicodeError):
        return Implausible("request", "holds something the database cannot store.")
    return LedgerUnavailable("The ledger cannot decide this now.")
