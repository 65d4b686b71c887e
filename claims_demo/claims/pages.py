"""The claims, and each claim's page."""

from http import HTTPStatus

from django.contrib import messages
from django.contrib.auth.decorators import login_required, permission_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from budget.services import BudgetError
from claims_demo.claims.events import MOST_CLAIMS
from claims_demo.claims.nightly import classify, in_words
from claims_demo.claims.wanted import Wanted
from claims_demo.models import Claim
from claims_demo.models.claim import LONGEST_QUESTION

MAY_CLASSIFY = "claims_demo.classify_claims"
SUGGESTIONS = (
    "What is still missing before this can be settled?",
    "What should I tell the claimant now?",
    "Does anything here look unusual?",
)


@require_safe
@never_cache
@login_required
def claims(request: HttpRequest) -> HttpResponse:
    """The claims that are wanted, the most urgent first."""
    wanted = Wanted(request.GET, label_suffix="")
    context = {"wanted": wanted, "page": wanted.page(request.GET.get("page"))}
    return render(request, "claims_demo/claims.html", context)


@require_safe
@never_cache
@login_required
def claim(request: HttpRequest, number: str) -> HttpResponse:
    """One claim with what happened to it, and the assistant."""
    return claim_page(request, get_object_or_404(Claim, number=number))


def claim_page(
    request: HttpRequest,
    claim: Claim,
    typed: str = "",
    notice: str = "",
    status: HTTPStatus = HTTPStatus.OK,
) -> HttpResponse:
    """A claim's page, with a question that was typed, and why it wasn't answered."""
    context = {
        "claim": claim,
        "events": claim.events.order_by("-at", "-pk"),
        "questions": claim.questions.order_by("-pk"),
        "suggestions": SUGGESTIONS,
        "longest_question": LONGEST_QUESTION,
        "typed": typed,
        "notice": notice,
    }
    return render(request, "claims_demo/claim.html", context, status=status)


@require_POST
@login_required
@permission_required(MAY_CLASSIFY, raise_exception=True)
def run_nightly(request: HttpRequest) -> HttpResponse:
    """Run the nightly classification by hand, and say on the list what came of it."""
    try:
        messages.info(request, in_words(classify(MOST_CLAIMS)))
    except BudgetError as error:
        messages.error(request, f"Nothing more could be enqueued: {error}")
    return redirect("claims")
