"""Where pages of the dashboard stand, with what they are to show."""

from urllib.parse import urlencode

from django.urls import reverse

from budget.models import Pool


def sheds_address(pool: Pool, span: str = "", **filters: str) -> str:
    """The sheds of a pool, in a span as an address says it, filtered by class or reason."""
    query = "&".join(part for part in (span, urlencode(filters)) if part)
    address = reverse("budget:sheds", args=[pool.slug])
    return f"{address}?{query}" if query else address


def class_address(pool: Pool, name: str, span: str = "") -> str:
    """The page of a class on a pool, by its name in addresses."""
    address = reverse("budget:dashboard_class", args=[pool.slug, name])
    return f"{address}?{span}" if span else address


def pool_address(pool: Pool, span: str = "") -> str:
    """The page of a pool."""
    address = reverse("budget:dashboard_pool", args=[pool.slug])
    return f"{address}?{span}" if span else address
