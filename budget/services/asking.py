"""Putting an operation to the ledger and waiting for what it says."""

from msgspec import structs

from budget.ledger import pools
from budget.ledger.errors import BudgetError, UnknownPool
from budget.ledger.ids import new_id, pool_of
from budget.ledger.protocol import Answer, Operation
from budget.ledger.submission import Submission
from budget.ledger.writers import answer_of, patience, submit


def ask(operation: Operation) -> Answer:
    """The ledger's answer. Raises what it refuses with, or LedgerUnavailable."""
    until = patience()
    return answer_of(submitted(operation), until)


def ask_known(operation: Operation, unknown: BudgetError) -> Answer:
    """As `ask`, and raises `unknown` if the operation's id is of no pool."""
    until = patience()
    if not pools.exists(pool_of(operation.id)):
        raise unknown
    return answer_of(submitted(operation), until)


def answer_by_slug(submission: Submission, slug: str, until: float) -> Answer:
    """The answer, also if the pool was deleted and made again since its slug was looked up."""
    try:
        return answer_of(submission, until)
    except UnknownPool:
        pool_id = pools.look_up(slug)
        if pool_id == pool_of(submission.operation.id):
            raise
        moved = structs.replace(submission.operation, id=new_id(pool_id))
        return answer_of(submitted(moved), until)


def submitted(operation: Operation) -> Submission:
    """The operation on its way to the writer of its pool."""
    return submit(pool_of(operation.id), operation)


def existing_pool(slug: str) -> int:
    """The id of a pool, looked up anew. Raises UnknownPool."""
    return pools.look_up(slug)
