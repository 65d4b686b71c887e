"""The ledger's own counts, second by second."""

from budget import services
from claims_demo.claims import POOL
from claims_demo.storm.endpoint import Batched
from claims_demo.storm.service import SERVICES
from claims_demo.storm.tally import Tally


class Books:
    """What the ledger has counted, whoever asked it, since it was last looked at.

    The figures of a second in which somebody took the pool away are lost.
    """

    def __init__(self) -> None:
        self._before = _totals()
        self._batched = Batched()

    def turn(self) -> dict[str, Tally]:
        """By workload class: what is new."""
        before, self._before = self._before, _totals()
        new = {slug: tally.since(before.get(slug, Tally())) for slug, tally in self._before.items()}
        for slug, jobs in self._batched.turn().items():
            if slug in new:
                new[slug].batched, new[slug].admitted = jobs, new[slug].admitted - jobs
        return {slug: tally for slug, tally in new.items() if tally.offered >= 0}


def _totals() -> dict[str, Tally]:
    try:
        totals = services.usage_totals(POOL)
    except services.UnknownPool:
        return {}
    slugs = {service.workload_class for service in SERVICES}
    return {
        slug: Tally(
            offered=total.offered,
            admitted=total.admitted,
            shed=total.shed,
            expired=total.expired,
            drawn=total.charged,
        )
        for slug, total in totals.items()
        if slug in slugs
    }
