"""The process of a cluster that starts its workers, and new ones for those that died."""

from collections.abc import Callable
from multiprocessing import Event
from multiprocessing.process import BaseProcess
from typing import Any
from uuid import UUID

from django_q.cluster import Sentinel
from django_q.monitor import monitor
from django_q.pusher import pusher

from budget.jobs.orphans import end_if_orphan, end_with_parent
from budget.jobs.queue_lock import QueueLock
from budget.jobs.stopping import StopEvent


class JobSentinel(Sentinel):
    """django-q's, which shows that it lives and outlives what was killed beside it.

    django-q asks it for its `status` each time round its loops, which is where that is done:
    a thread of its own might hold a lock as workers are forked.
    """

    def __init__(self, cluster_id: UUID, pulse: Any) -> None:
        """Runs until the cluster is stopped. `pulse.value` changes as long as it lives."""
        self._pulse = pulse
        self._locks: list[QueueLock] = []
        super().__init__(StopEvent(), Event(), cluster_id)

    def spawn_cluster(self) -> None:
        """Start all processes."""
        self._locks = [
            QueueLock(self.task_queue, "a ticket"),
            QueueLock(self.result_queue, "the end of a ticket"),
        ]
        super().spawn_cluster()

    def spawn_pusher(self) -> BaseProcess:
        """Start the process that fetches tickets."""
        return self.spawn_process(_child, pusher, self.task_queue, self.event_out, self.broker)

    def spawn_monitor(self) -> BaseProcess:
        """Start the process that takes note of tickets that ended."""
        return self.spawn_process(_child, monitor, self.result_queue, self.broker)

    def status(self) -> str:
        """What django-q calls the state it is in."""
        status: str = super().status()
        end_if_orphan()
        for lock in self._locks:
            lock.check()
        self._pulse.value += 1
        return status


def _child(target: Callable[..., None], *args: Any) -> None:
    end_with_parent()
    target(*args)
