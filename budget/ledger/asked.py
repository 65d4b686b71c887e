"""What a request for a call or a job asks for in its pool: a class, and a deadline."""

from budget.ledger.batch import Batch
from budget.ledger.clock import MILLISECOND
from budget.ledger.errors import Forbidden, Implausible, UnknownClass
from budget.ledger.operations import Caller


def class_of(batch: Batch, slug: str, caller: Caller) -> int:
    """The position of a class. Raises UnknownClass, Forbidden when the caller may not use it."""
    c = batch.terms.class_index.get(slug)
    if c is None:
        raise UnknownClass(f"There is no workload class {slug!r}.")
    if caller.classes is not None and slug not in caller.classes:
        raise Forbidden(f"This key may not use the workload class {slug!r}.")
    return c


def deadline_of(batch: Batch, c: int, deadline_ms: int | None) -> int:
    """The class's deadline from now on, or a shorter one. Raises Implausible for a longer."""
    member = batch.terms.classes[c]
    if deadline_ms is None:
        return batch.now + member.deadline
    if deadline_ms * MILLISECOND > member.deadline:
        raise Implausible(
            "deadline_ms",
            f"may only shorten the deadline of {member.slug}, "
            f"which is {member.deadline // MILLISECOND} ms.",
        )
    return batch.now + deadline_ms * MILLISECOND
