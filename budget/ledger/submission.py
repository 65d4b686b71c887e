"""An operation on its way to the ledger, and its answer on the way back."""

from threading import Lock

from budget.ledger.errors import BudgetError, LedgerUnavailable
from budget.ledger.protocol import Answer, Operation


class Submission:
    """One operation and the one caller that waits for it.

    Either the caller takes the answer or it gives up; `_claim` decides which, once. Bare
    locks, since a Future with its condition costs more than deciding the operation.
    """

    __slots__ = ("_answer", "_claim", "_done", "attempted", "operation")

    def __init__(self, operation: Operation) -> None:
        self.operation = operation
        self.attempted: int | None = None
        """The sequence number of a transaction of unknown fate that included it."""
        self._answer: Answer | BudgetError | None = None
        self._claim = Lock()
        self._done = Lock()
        self._done.acquire()

    def wait(self, seconds: float) -> Answer:
        """The answer. Raises what the ledger refused it with, or LedgerUnavailable."""
        if not self._done.acquire(timeout=seconds):
            if self._claim.acquire(blocking=False):
                raise LedgerUnavailable("The ledger did not answer in time.")
            self._done.acquire()
        if isinstance(self._answer, Exception):
            raise self._answer
        assert self._answer is not None, "answered before it is released"
        return self._answer

    def deliver(self, answer: Answer | BudgetError) -> bool:
        """Hand the answer over; False if the caller has given up."""
        if not self._claim.acquire(blocking=False):
            return False
        self._answer = answer
        self._done.release()
        return True

    @property
    def abandoned(self) -> bool:
        """Whether the caller has given up, as long as nothing was delivered."""
        return self._claim.locked()
