"""Pausing, draining and resuming: what somebody on call turns in one step, and says why."""

from collections.abc import Mapping
from functools import partial
from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.utils.html import format_html
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.csrf import csrf_protect
from django.views.decorators.http import require_http_methods

from budget.dashboard.access import SEE_USAGE, may_pause_class, may_pause_pool, needs
from budget.dashboard.addresses import pool_address
from budget.dashboard.stakes import RECENT, stakes
from budget.models import PolicyVersion, Pool, WorkloadClass
from budget.pages.audit import ReasonForm, audit
from budget.policy.history import Change
from budget.policy.switches import CLASS_SWITCHES, ON_CALL, POOL_SWITCHES, UNCHANGED, Switch

Row = Pool | WorkloadClass

MOST_NAMED = 5
"""Pools whose policy version a message names."""

shown = require_http_methods(["GET", "HEAD", "POST"])


def switch_links(request: HttpRequest, row: Row, back: str = "") -> list[tuple[str, str]]:
    """Label and address of the switches that would change something about a row.

    None for those without the right. Afterwards they lead to `back`, a path; by default to
    the page of this request.
    """
    if not _may_turn(request, row):
        return []
    query = urlencode({"next": back or request.get_full_path()})
    return [
        (f"{switch.label}…", f"{_address(row, verb)}?{query}")
        for verb, switch in _switches(row).items()
        if switch.suits(row)
    ]


def switching(request: HttpRequest, row: Row | None, named: bool = False) -> dict[str, Any]:
    """What a page needs to offer the switches of a row, and to say who turned one.

    `named` if the page is about more than that row.
    """
    if row is None:
        return {}
    stopped = row.paused or (isinstance(row, WorkloadClass) and row.draining)
    return {
        "row": row,
        "named": named,
        "switch_links": switch_links(request, row),
        "turned": turned(request, row) if stopped else None,
    }


def turned(request: HttpRequest, row: Row) -> Change | None:
    """Since which change a row is paused, or else drains; None to those who may not know."""
    if not request.user.has_perm("budget.view_policyhistory"):
        return None
    switches = [switch for verb, switch in _switches(row).items() if verb != "resume"]
    found = (switch.turned(row) for switch in switches)
    return next((change for change in found if change), None)


@needs(SEE_USAGE)
@shown
@csrf_protect
def switch_pool(request: HttpRequest, slug: str, verb: str) -> HttpResponse:
    """Ask why, then pause or resume a pool."""
    if not may_pause_pool(request):
        raise PermissionDenied
    return _page(request, get_object_or_404(Pool, slug=slug), verb)


@needs(SEE_USAGE)
@shown
@csrf_protect
def switch_class(request: HttpRequest, slug: str, verb: str) -> HttpResponse:
    """Ask why, then pause, drain or resume a class, on all pools at once."""
    if not may_pause_class(request):
        raise PermissionDenied
    return _page(request, get_object_or_404(WorkloadClass, slug=slug), verb)


def _page(request: HttpRequest, row: Row, verb: str) -> HttpResponse:
    """What will happen, in words and numbers; posted with a reason, it does."""
    switch = _switches(row).get(verb)
    if switch is None:
        raise Http404
    form = ReasonForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        _turn(request, switch, row)
        return HttpResponseRedirect(_back(request, row))
    pools = _pools(row)
    context = {
        "title": f"{switch.label} {_named(row)}",
        "switch": switch,
        "verb": verb,
        "row": row,
        "pool_address": pool_address(row) if isinstance(row, Pool) else "",
        "where": "" if isinstance(row, Pool) else _where(row, pools),
        "stakes": stakes(pools, None if isinstance(row, Pool) else row),
        "recent_minutes": RECENT.seconds // 60,
        "suits": switch.suits(row),
        "turned": turned(request, row),
        "form": form,
        "back": _back(request, row),
    }
    return render(request, "budget/dashboard/switch.html", context)


def _turn(request: HttpRequest, switch: Switch, row: Row) -> None:
    """Turn it under the user's name, and say since when it holds."""
    with audit(request):
        done = switch.turn(type(row)._default_manager.filter(pk=row.pk))
    if not done:
        messages.info(request, UNCHANGED, fail_silently=True)
        return
    words = format_html("{} {}", done, _in_force(_pools(row)))
    # The change is certain once it is committed, which may fail.
    transaction.on_commit(partial(messages.success, request, words, fail_silently=True))


def _in_force(pools: list[Pool]) -> str:
    """Since when, and under which policy versions: `In force since 02:14:03 UTC, …`."""
    slugs = {pool.pk: pool.slug for pool in pools}
    versions = list(PolicyVersion.objects.filter(pool_id__in=slugs).order_by("pool_id"))
    if not versions:
        return ""
    since = max(row.changed_at for row in versions)
    numbers = ", ".join(f"{row.version} on {slugs[row.pool_id]}" for row in versions)
    return format_html(
        'In force since <time datetime="{}" data-format="second">{}</time>{}.',
        since.isoformat(),
        f"{since:%H:%M:%S} UTC",
        f", policy version {numbers}" if len(versions) <= MOST_NAMED else " on all pools",
    )


def _switches(row: Row) -> Mapping[str, Switch]:
    """What can be turned here, by verb; an interactive class has no queue to drain."""
    known = POOL_SWITCHES if isinstance(row, Pool) else CLASS_SWITCHES
    queued = isinstance(row, WorkloadClass) and row.tier != "interactive"
    return {
        verb: switch
        for verb, switch in known.items()
        if verb in ON_CALL and (queued or verb != "drain")
    }


def _may_turn(request: HttpRequest, row: Row) -> bool:
    return may_pause_pool(request) if isinstance(row, Pool) else may_pause_class(request)


def _pools(row: Row) -> list[Pool]:
    """Where it takes effect."""
    return [row] if isinstance(row, Pool) else list(Pool.objects.all())


def _where(row: WorkloadClass, pools: list[Pool]) -> str:
    """All pools by name, those marked on which the class has a reservation."""
    reserved = set(row.reservations.values_list("pool_id", flat=True))
    mark = {True: " (where it has a reservation)", False: ""}
    named = [f"{pool}{mark[pool.pk in reserved]}" for pool in pools]
    return ", ".join(named) or "there are none yet"


def _named(row: Row) -> str:
    return f"pool {row}" if isinstance(row, Pool) else f"class {row}"


def _address(row: Row, verb: str) -> str:
    name = "budget:switch_pool" if isinstance(row, Pool) else "budget:switch_class"
    return reverse(name, args=[row.slug, verb])


def _back(request: HttpRequest, row: Row) -> str:
    """Where the user came from, if that is a path of this site."""
    address = request.GET.get("next", "")
    if address.startswith("/") and url_has_allowed_host_and_scheme(address, allowed_hosts=None):
        return address
    if isinstance(row, Pool):
        return reverse("budget:dashboard_pool", args=[row.slug])
    return reverse("budget:dashboard")
