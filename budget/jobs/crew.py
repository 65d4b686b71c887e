"""The threads of this process that run jobs.

They outlive the ticket whose jobs they run. A ticket that had to wait for its longest job
would leave the other threads idle meanwhile; so the next ticket uses those that are free.
"""

import logging
import threading
from collections import deque
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import NamedTuple

from django.db import close_old_connections

from budget import conf
from budget.jobs import attempts
from budget.ledger.job_operations import handed_back
from budget.services import TakenJob
from budget.tasks import Attempt

logger = logging.getLogger(__name__)

IDLE_SECONDS = 0.5
"""How often a thread without a job looks whether its process ends, which waits for it."""
GRACE = timedelta(minutes=1)
"""How long after its lease an attempt may still come to its end, or as long again as that."""


class Run(NamedTuple):
    """A job in the hands of a thread."""

    job: TakenJob
    attempt: Attempt
    begins: bool
    """False: it is only given back."""
    hopeless_at: datetime
    """From when on nobody expects it to end any more."""


@cache
def crew() -> "Crew":
    """This process's."""
    return Crew(conf.job_threads())


class Crew:
    """Up to so many threads; each runs one job at a time and reports what became of it."""

    def __init__(self, size: int) -> None:
        self.size = size
        self._lock = threading.Lock()
        self._arrived = threading.Condition(self._lock)
        self._ended = threading.Condition(self._lock)
        self._waiting: deque[Run] = deque()
        self._running: dict[int, Run] = {}
        """By identity; those that wait for their thread included."""
        self._threads = 0

    @property
    def free(self) -> int:
        """How many more jobs can be started now."""
        with self._lock:
            return self.size - len(self._running)

    @property
    def idle(self) -> bool:
        """Whether no job runs."""
        return self.free == self.size

    @property
    def stuck(self) -> bool:
        """Whether nothing more will come of it: what runs hangs, in attempts long past their lease.

        That needs all of its threads, or a process that only waits for those to end.
        """
        with self._lock:
            ends = [run.hopeless_at for run in self._running.values()]
        needed = self.size if threading.main_thread().is_alive() else 1
        return len(ends) >= needed and max(ends) < datetime.now(UTC)

    def start(self, job: TakenJob) -> None:
        """Run a job at once. Only as many as are `free` may be started."""
        self._hand_over(job, begins=True)

    def give_back(self, job: TakenJob) -> None:
        """Have a thread send a job back unrun: while the ledger is away that takes its time.

        Takes as much room as starting it.
        """
        self._hand_over(job, begins=False)

    def wait_for_room(self, seconds: float) -> bool:
        """Wait until a thread is free; False if none was in time."""
        with self._lock:
            return self._ended.wait_for(lambda: len(self._running) < self.size, seconds)

    def wait_for_end(self, seconds: float) -> None:
        """Wait until a job ends, but no longer than that."""
        with self._lock:
            self._ended.wait(seconds)

    def watch(self) -> None:
        """Tell the running attempts whose job was cancelled, or given to somebody else."""
        with self._lock:
            running = [run.attempt for run in self._running.values()]
        running = [attempt for attempt in running if not attempt.is_cancelled]
        own = attempts.running_calls([attempt.job_id for attempt in running])
        for attempt in running:
            if attempt.call_id not in own:
                attempt.cancel()

    def _hand_over(self, job: TakenJob, begins: bool) -> None:
        lease = job.lease_expires - datetime.now(UTC)
        hopeless_at = job.lease_expires + max(GRACE, lease)
        run = Run(job, attempts.attempt_at(job), begins, hopeless_at)
        with self._lock:
            self._waiting.append(run)
            self._running[id(run)] = run
            if self._threads < len(self._running):
                self._threads += 1
                # No daemon: a process ends when its last job has.
                threading.Thread(target=self._work, name=f"budget-job-{self._threads}").start()
            self._arrived.notify()

    def _work(self) -> None:
        while (run := self._next()) is not None:
            self._run(run)

    def _next(self) -> Run | None:
        with self._lock:
            while not self._arrived.wait_for(lambda: self._waiting, IDLE_SECONDS):
                if not threading.main_thread().is_alive():
                    return None
            return self._waiting.popleft()

    def _run(self, run: Run) -> None:
        job = run.job
        try:
            ending = attempts.run(job, run.attempt) if run.begins else handed_back(job)
            attempts.report(ending)
        except BaseException:
            logger.exception("Attempt %d at job %s is left to its lease.", job.attempt, job.id)
        finally:
            # As after a request: what isn't to be kept is closed, and what broke.
            close_old_connections()
            with self._lock:
                del self._running[id(run)]
                self._ended.notify_all()
