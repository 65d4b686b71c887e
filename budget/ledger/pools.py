"""Pools by slug, remembered: a slug never changes, and an id is never used again."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import InterfaceError, OperationalError

from budget.ledger.errors import LedgerUnavailable, UnknownPool
from budget.models import Pool

_ids: dict[str, int] = {}


def pool_id(slug: str) -> int:
    """The id of a pool. Raises UnknownPool, LedgerUnavailable."""
    known = _ids.get(slug)
    return look_up(slug) if known is None else known


def exists(wanted: int) -> bool:
    """Whether there is, or was a moment ago, a pool of that id. Raises LedgerUnavailable."""
    if wanted in _ids.values():
        return True
    with _asking():
        return Pool.objects.filter(pk=wanted).exists()


def forget(slug: str) -> None:
    """Look the slug up anew next time: its pool may have been deleted and made again."""
    _ids.pop(slug, None)


def look_up(slug: str) -> int:
    """As `pool_id`, anew: the pool may have been deleted and made again."""
    found = None
    if "\0" not in slug:
        with _asking():
            found = Pool.objects.filter(slug=slug).values_list("pk", flat=True).first()
    if found is None:
        forget(slug)
        raise UnknownPool(f"There is no pool {slug!r}.")
    _ids[slug] = found
    return found


@contextmanager
def _asking() -> Iterator[None]:
    """A database that does not answer is the ledger's trouble, whoever's connection it was."""
    try:
        yield
    except (OperationalError, InterfaceError) as error:
        raise LedgerUnavailable("The database does not answer.") from error
