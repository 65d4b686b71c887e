"""The storm page: what it shows, what it asks for each second, and its buttons."""

from datetime import UTC, datetime

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST

from budget.models import Pool, WorkloadClass
from claims_demo.claims import ANSWER_SECONDS, POOL
from claims_demo.models.storm import StormControl
from claims_demo.storm.live import SHOWN, live, standing
from claims_demo.storm.service import ADJUSTERS, SERVICES
from claims_demo.storm.weather import STRENGTHS

AUTOMATIC = "automatic"
DIGITS = 10
"""Of seconds since the epoch, for some centuries to come."""


@login_required
@never_cache
@require_GET
def storm(request: HttpRequest) -> HttpResponse:
    """The page, with how things stand; its script brings the charts to life."""
    now = standing(timezone.now())
    context = {
        "now": now,
        "pool": POOL,
        "strengths": STRENGTHS,
        "budget_seconds": ANSWER_SECONDS,
        "deadline_seconds": WorkloadClass.objects.filter(slug=ADJUSTERS.workload_class)
        .values_list("deadline_seconds", flat=True)
        .first(),
        "services": [{"slug": each.workload_class, "name": each.name} for each in SERVICES],
        "pool_id": Pool.objects.filter(slug=POOL).values_list("pk", flat=True).first(),
        "shown_seconds": int(SHOWN.total_seconds()),
    }
    return render(request, "claims_demo/storm.html", context)


@login_required
@never_cache
@require_GET
def storm_live(request: HttpRequest) -> HttpResponse:
    """What is new `after` a moment in seconds since the epoch, or since five minutes ago."""
    text = request.GET.get("after", "0")
    if not (text.isascii() and text.isdigit() and len(text) <= DIGITS):
        return _refused("after: say a moment in whole seconds since the epoch.")
    return JsonResponse(live(datetime.fromtimestamp(int(text), UTC)))


@login_required
@require_POST
def storm_strength(request: HttpRequest) -> HttpResponse:
    """Chooses how strong the storm is, or leaves it to the weather again."""
    text = request.POST.get("strength", "")
    if text not in {AUTOMATIC, *map(str, STRENGTHS)}:
        choices = ", ".join(map(str, STRENGTHS))
        return _refused(f"strength: choose {AUTOMATIC} or one of {choices}.")
    strength = None if text == AUTOMATIC else int(text)
    StormControl.objects.update_or_create(
        defaults={"strength": strength, "chosen_by": request.user.get_username()}
    )
    return redirect("storm")


def _refused(why: str) -> HttpResponse:
    return JsonResponse({"detail": why}, status=400)
