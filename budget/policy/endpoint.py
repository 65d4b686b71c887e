"""Whether a pool's batch endpoint is one that its provider has, and of use to a class."""

from collections.abc import Iterator

from budget.providers.batches import BATCH_ENDPOINTS, BatchEndpoint
from budget.rule.checks import Problem
from budget.rule.terms import SECOND, BatchTerms, PoolTerms

HOUR = 3600 * SECOND


def endpoint_problems(terms: PoolTerms) -> list[Problem]:
    """What the provider wouldn't take; each fault names a field of the pool itself."""
    if terms.batch is None:
        return []
    endpoint = BATCH_ENDPOINTS.get(terms.provider)
    if endpoint is None:
        return [Problem("", "batch", _unknown(terms.provider))]
    return list(_exceeded(terms.provider, endpoint, terms.batch))


def endpoint_notes(terms: PoolTerms) -> list[str]:
    """What is no fault, but probably not meant."""
    if terms.batch is None:
        return []
    window = terms.batch.window
    if any(member.tier == "bulk" and member.deadline > window for member in terms.classes):
        return []
    return [
        f"no bulk class has a deadline beyond the batch window of {window // HOUR} h, "
        "so nothing will use the batch endpoint."
    ]


def _unknown(provider: str) -> str:
    known = " and ".join(BATCH_ENDPOINTS)
    return (
        f"There is no batch endpoint here for {provider}, only for {known}. "
        "Turn it off; in a file, leave `batch` out."
    )


def _exceeded(provider: str, endpoint: BatchEndpoint, batch: BatchTerms) -> Iterator[Problem]:
    for name, unit in (("max_requests", "requests"), ("max_bytes", "bytes")):
        most = getattr(endpoint, name)
        if getattr(batch, name) > most:
            message = f"{provider} takes at most {most:,} {unit} a batch. Lower it to that."
            yield Problem("", f"batch_{name}", message)
