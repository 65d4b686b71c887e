"""docs/metrics.md lists what there is."""

import re

from budget.metrics.meters import METERS
from tests.docs.blocks import ROOT

DOCUMENT = (ROOT / "docs" / "metrics.md").read_text()
ROW = re.compile(r"^\| `(budget_\w+)` \|([^|]*)\|", re.MULTILINE)
METRIC = re.compile(r"\bbudget_\w+")
LABEL = re.compile(r"`(\w+)`")


def test_it_lists_every_metric_with_its_labels() -> None:
    listed = {name: tuple(LABEL.findall(labels)) for name, labels in ROW.findall(DOCUMENT)}
    assert listed == {meter.name: meter.labels for meter in METERS}


def test_it_lists_counters_as_counters() -> None:
    counters, gauges = DOCUMENT.split("\nGauges:\n")
    assert all(name.endswith("_total") for name, _ in ROW.findall(counters))
    assert not any(name.endswith("_total") for name, _ in ROW.findall(gauges))


def test_it_names_no_metric_that_is_not_there() -> None:
    assert set(METRIC.findall(DOCUMENT)) == {meter.name for meter in METERS}
