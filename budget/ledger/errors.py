"""What the ledger's verbs raise."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from budget.ledger.operations import Admission


class BudgetError(Exception):
    """Anything the ledger refuses or cannot do; its text is meant for the caller."""


class UnknownPool(BudgetError):
    """No pool has that slug."""


class UnknownClass(BudgetError):
    """No workload class has that slug."""


class Forbidden(BudgetError):
    """The caller's key is not allowed that pool or class."""


class UnknownCall(BudgetError):
    """No call has that id, or it is another key's."""


class UnknownJob(BudgetError):
    """No job has that id, or it is another key's."""


class JobEnded(BudgetError):
    """The job has ended: there is nothing to cancel."""


class CallWasShed(BudgetError):
    """The call was shed: there is nothing to settle or renew."""


class AlreadySettled(BudgetError):
    """The call was settled with other numbers, or its lease is over."""


class CallOfJob(BudgetError):
    """The call is an attempt at a job: only whoever runs the job ends or extends it."""


class KeyReused(BudgetError):
    """The idempotency key came before: with another request, or for a block of its own."""


class Implausible(BudgetError):
    """A value that cannot be right; `field` names it."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(f"{field}: {message}")
        self.field = field
        self.message = message


class LedgerUnavailable(BudgetError):
    """The ledger could not decide in time; nothing was charged, or it will be given back."""

    def __init__(self, message: str, retry_after_seconds: int = 1) -> None:
        super().__init__(message)
        self.retry_after_seconds = retry_after_seconds


class Shed(BudgetError):
    """A call or a job was refused; `services.admission` and `services.enqueue` raise it."""

    def __init__(self, admission: "Admission") -> None:
        super().__init__(admission.detail)
        self.admission = admission

    @property
    def reason(self) -> str:
        """Why, one of `budget.rule.decision.REASONS`."""
        return self.admission.reason or ""

    @property
    def retry_after_ms(self) -> int | None:
        """When another attempt would fit, in milliseconds from now; None if never in time."""
        return self.admission.retry_after_ms
