"""The page that Prometheus scrapes."""

import os

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe
from prometheus_client import (
    CONTENT_TYPE_LATEST,
    REGISTRY,
    CollectorRegistry,
    generate_latest,
)
from prometheus_client.multiprocess import MultiProcessCollector

from budget.metrics.collector import LedgerCollector


@require_safe
def metrics(request: HttpRequest) -> HttpResponse:
    """What was counted by this process or, with PROMETHEUS_MULTIPROC_DIR, by all; and the ledger.

    The ledger's collector is registered with the default registry, which the processes'
    common one doesn't see.
    """
    registry = REGISTRY
    if "PROMETHEUS_MULTIPROC_DIR" in os.environ:
        registry = CollectorRegistry()
        MultiProcessCollector(registry)
        registry.register(LedgerCollector())
    return HttpResponse(generate_latest(registry), content_type=CONTENT_TYPE_LATEST)
