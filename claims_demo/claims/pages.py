"""The claims, and each claim's page."""

from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render

from claims_demo.claims.nightly import take_in_answers
from claims_demo.models import Claim

PAGE_SIZE = 25


@login_required
def claims(request: HttpRequest) -> HttpResponse:
    """All claims, the most urgent first."""
    take_in_answers()
    page = Paginator(Claim.objects.all(), PAGE_SIZE).get_page(request.GET.get("page"))
    return render(request, "claims_demo/claims.html", {"page": page})


@login_required
def claim(request: HttpRequest, number: str) -> HttpResponse:
    """One claim with what happened to it, and the assistant."""
    take_in_answers()
    found = get_object_or_404(Claim, number=number)
    return render(request, "claims_demo/claim.html", {"claim": found})
