"""Addresses of the dashboard's pages."""

from django.urls import reverse


def pool_page(pool: str = "claims", query: str = "range=1h") -> str:
    """A pool's page."""
    return f"{reverse('budget:dashboard_pool', args=[pool])}?{query}"


def class_page(name: str, pool: str = "claims", query: str = "range=1h") -> str:
    """The page of a class on a pool."""
    return f"{reverse('budget:dashboard_class', args=[pool, name])}?{query}"


def live_page(pool: str = "claims", query: str = "range=1h") -> str:
    """What is new on a pool."""
    return f"{reverse('budget:dashboard_live', args=[pool])}?{query}"
