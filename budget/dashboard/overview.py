"""The way in: all pools."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from budget.dashboard.access import SEE_USAGE, needs
from budget.models import Pool


@needs(SEE_USAGE)
def overview(request: HttpRequest) -> HttpResponse:
    """Every pool, to choose from."""
    return render(request, "budget/dashboard/overview.html", {"pools": Pool.objects.all()})
