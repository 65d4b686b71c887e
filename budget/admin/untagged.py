"""Untagged callers: where calls come from that name no class."""

from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import URLPattern, path, reverse
from django.utils.http import urlencode

from budget import services
from budget.models import Pool, UntaggedCaller
from budget.services import CallSite

DAYS = {"1": "24 hours", "7": "7 days"}
"""How far back the page may look, by what its address says: the first unless it says."""


class Site(NamedTuple):
    """A place in the code, and the list of its calls."""

    site: CallSite
    calls_url: str


@admin.register(UntaggedCaller)
class UntaggedCallerAdmin(admin.ModelAdmin):
    """A page of call sites, newest first; each leads to its calls."""

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Only calls make them."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """They are tagged in the code that calls."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """They go as nobody calls from there any more."""
        return False

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Whoever may see calls."""
        return request.user.has_perm("budget.view_call")

    def get_urls(self) -> list[URLPattern]:
        """The list alone; rows have no pages."""
        view = self.admin_site.admin_view(self.changelist_view)
        return [path("", view, name="budget_untaggedcaller_changelist")]

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        """Call sites of the time that the address names."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        chosen = request.GET.get("days", "1")
        days = chosen if chosen in DAYS else "1"
        now = datetime.now(UTC)
        found = services.untagged(None, now - timedelta(days=int(days)), now)
        pools = dict(Pool.objects.values_list("slug", "pk"))
        context = {
            **self.admin_site.each_context(request),
            "title": "Untagged callers",
            "opts": self.opts,
            "choices": [(name, words, name == days) for name, words in DAYS.items()],
            "span": DAYS[days],
            "sites": [Site(site, _calls_url(site, pools)) for site in found.call_sites],
            "truncated": found.truncated,
        }
        return render(request, "budget/admin/untagged.html", context)


def _calls_url(site: CallSite, pools: dict[str, int]) -> str:
    """The calls of a site in the list of calls."""
    query = {
        "untagged__exact": 1,
        "pool_id": pools.get(site.pool, ""),
        "source__exact": site.source,
        "key_prefix__exact": site.key,
        "workload_class": site.workload_class or "",
    }
    named = {name: value for name, value in query.items() if value != ""}
    return f"{reverse('admin:budget_call_changelist')}?{urlencode(named)}"
