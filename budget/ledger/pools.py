"""Pools by slug, remembered: a slug never changes, and an id is never used again."""

from budget.ledger.errors import UnknownPool
from budget.models import Pool

_ids: dict[str, int] = {}


def pool_id(slug: str) -> int:
    """The id of a pool. Raises UnknownPool."""
    known = _ids.get(slug)
    return _find(slug) if known is None else known


def exists(wanted: int) -> bool:
    """Whether there is, or was a moment ago, a pool of that id."""
    return wanted in _ids.values() or Pool.objects.filter(pk=wanted).exists()


def forget(slug: str) -> None:
    """Look the slug up anew next time: its pool may have been deleted and made again."""
    _ids.pop(slug, None)


def _find(slug: str) -> int:
    found = None
    if "\0" not in slug:
        found = Pool.objects.filter(slug=slug).values_list("pk", flat=True).first()
    if found is None:
        raise UnknownPool(f"There is no pool {slug!r}.")
    _ids[slug] = found
    return found
