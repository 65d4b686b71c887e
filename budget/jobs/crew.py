"""The threads of this process that run jobs.

They outlive the ticket whose jobs they run. A ticket that had to wait for its longest job
would leave the other threads idle meanwhile; so the next ticket uses those that are free.
"""

import logging
import threading
from collections import deque
from datetime import UTC, datetime
from functools import cache

from django.db import close_old_connections

from budget import conf
from budget.jobs import attempts
from budget.services import TakenJob
from budget.tasks import Attempt

logger = logging.getLogger(__name__)

LOOK_SECONDS = 0.5
"""How often a thread without a job looks whether its process ends, which waits for it."""


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
        self._waiting: deque[tuple[TakenJob, Attempt]] = deque()
        self._running: list[Attempt] = []
        """Those that wait for their thread included."""
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
        """Whether no thread will be free again: all hang in attempts whose lease is over."""
        with self._lock:
            leases = [attempt.lease_expires for attempt in self._running]
        return len(leases) == self.size and max(leases) < datetime.now(UTC)

    def start(self, job: TakenJob) -> None:
        """Run a job at once. Only as many as are `free` may be started."""
        attempt = attempts.attempt_at(job)
        with self._lock:
            self._waiting.append((job, attempt))
            self._running.append(attempt)
            if self._threads < len(self._running):
                self._threads += 1
                # No daemon: a process ends when its last job has.
                threading.Thread(target=self._work, name=f"budget-job-{self._threads}").start()
            self._arrived.notify()

    def wait_for_room(self, seconds: float) -> bool:
        """Wait until a thread is free; False if none was in time."""
        with self._lock:
            return self._ended.wait_for(lambda: len(self._running) < self.size, seconds)

    def wait_for_end(self, seconds: float) -> None:
        """Wait until a job ends, but no longer than that."""
        with self._lock:
            self._ended.wait(seconds)

    def wait_until_idle(self, seconds: float) -> bool:
        """Wait until no job runs; False if that took too long."""
        with self._lock:
            return self._ended.wait_for(lambda: not self._running, seconds)

    def watch(self) -> None:
        """Tell the running attempts whose job was cancelled, or given to somebody else."""
        with self._lock:
            running = [attempt for attempt in self._running if not attempt.cancelled.is_set()]
        own = attempts.current([attempt.job_id for attempt in running])
        for attempt in running:
            if attempt.call_id not in own:
                attempt.cancelled.set()

    def _work(self) -> None:
        while (next_one := self._next()) is not None:
            self._run(*next_one)

    def _next(self) -> tuple[TakenJob, Attempt] | None:
        with self._lock:
            while not self._arrived.wait_for(lambda: self._waiting, LOOK_SECONDS):
                if not threading.main_thread().is_alive():
                    return None
            return self._waiting.popleft()

    def _run(self, job: TakenJob, attempt: Attempt) -> None:
        try:
            attempts.report(attempts.run(job, attempt))
        except BaseException:
            logger.exception("Attempt %d at job %s is left to its lease.", job.attempt, job.id)
        finally:
            # As after a request: what isn't to be kept is closed, and what broke.
            close_old_connections()
            with self._lock:
                self._running.remove(attempt)
                self._ended.notify_all()
