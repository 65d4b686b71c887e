"""Puts what the ledger says into a registry of Prometheus' client."""

from collections.abc import Iterable

from prometheus_client import REGISTRY
from prometheus_client.registry import Collector

from budget.metrics.meters import METERS, UP, Family
from budget.metrics.reading import read_pools
from budget.metrics.samples import samples


def register() -> None:
    """Put the ledger's metrics into the default registry, if they aren't in it yet."""
    global _registered
    if not _registered:
        REGISTRY.register(LedgerCollector())
        _registered = True


_registered = False


class LedgerCollector(Collector):
    """Reads the ledger whenever its registry is scraped, and never before."""

    def describe(self) -> Iterable[Family]:
        """The names, which a registry asks for as the collector is registered."""
        return [meter.family() for meter in METERS]

    def collect(self) -> Iterable[Family]:
        """Every metric with its samples; only `budget_up` if the ledger doesn't answer."""
        pools = read_pools()
        families = {meter: meter.family() for meter in METERS}
        families[UP].add_metric((), pools is not None)
        for pool in pools or []:
            for sample in samples(pool):
                families[sample.meter].add_metric(sample.labels, float(sample.value))
        return families.values()
