"""API requests in the counters that django-prometheus keeps of pages."""

from functools import lru_cache
from time import perf_counter

from django.http import HttpRequest, HttpResponseBase
from django.urls import ResolverMatch
from django_prometheus.middleware import Metrics
from prometheus_client import Counter, Histogram

METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"})
OTHER = "<invalid method>"


def count(
    request: HttpRequest, match: ResolverMatch, response: HttpResponseBase, since: float
) -> None:
    """Counts an answered request by status, view and method, and its seconds since `since`.

    Only these two: each label of each metric would cost an admission time.
    """
    method = request.method if request.method in METHODS else OTHER
    answers, seconds = _meters(match.view_name, str(method), response.status_code)
    answers.inc()
    seconds.observe(perf_counter() - since)


@lru_cache(maxsize=1024)
def _meters(view: str, method: str, status: int) -> tuple[Counter, Histogram]:
    """Remembered, as finding them takes longer than counting."""
    metrics = Metrics.get_instance()
    return (
        metrics.responses_by_status_view_method.labels(
            status=str(status), view=view, method=method
        ),
        metrics.requests_latency_by_view_method.labels(view=view, method=method),
    )
