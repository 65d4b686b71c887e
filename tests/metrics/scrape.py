"""Reads what Prometheus is served."""

from typing import NamedTuple

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.parser import text_string_to_metric_families

from budget.metrics.collector import LedgerCollector

CLASS = {"pool": "claims", "workload_class": "adjuster"}


class Scrape(NamedTuple):
    """A scrape's values, by name and labels."""

    text: str
    values: dict[tuple[str, frozenset[tuple[str, str]]], float]

    def __call__(self, name: str, **labels: str) -> float | None:
        """The value of the one sample of that name and those labels; None without any."""
        return self.values.get((name, frozenset(labels.items())))

    def of(self, name: str, workload_class: str = "adjuster", **labels: str) -> float | None:
        """The value for a class of the claims pool."""
        return self(name, pool="claims", workload_class=workload_class, **labels)

    def labelled(self, **labels: str) -> set[str]:
        """The names of all samples that have those labels."""
        return {name for name, own in self.values if set(labels.items()) <= own}

    @property
    def counters(self) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
        """The ledger's own values that may never fall."""
        return {
            key: value
            for key, value in self.values.items()
            if key[0].startswith("budget_") and key[0].endswith("_total")
        }


def read(text: str) -> Scrape:
    """What a page says. Fails if it says anything twice."""
    values: dict[tuple[str, frozenset[tuple[str, str]]], float] = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            key = sample.name, frozenset(sample.labels.items())
            assert key not in values, f"{sample.name} {sample.labels} stands there twice"
            values[key] = sample.value
    return Scrape(text, values)


def scrape() -> Scrape:
    """The ledger's own metrics, collected in this process."""
    registry = CollectorRegistry()
    registry.register(LedgerCollector())
    return read(generate_latest(registry).decode())
