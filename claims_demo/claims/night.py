"""Runs the nightly classification by hand, from the list of claims."""

from collections import Counter

from django.contrib import messages
from django.contrib.auth.decorators import login_required, permission_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST

from budget.services import BudgetError
from claims_demo.claims.events import MOST_CLAIMS
from claims_demo.claims.nightly import ENQUEUED, classify

PERMISSION = "claims_demo.classify_claims"


@require_POST
@login_required
@permission_required(PERMISSION, raise_exception=True)
def run_nightly(request: HttpRequest) -> HttpResponse:
    """Enqueue whatever is due, and say on the list what came of it."""
    try:
        messages.info(request, in_words(classify(MOST_CLAIMS)))
    except BudgetError as error:
        messages.error(request, f"Nothing more could be enqueued: {error}")
    return redirect("claims")


def in_words(outcomes: Counter[str]) -> str:
    """What came of a run."""
    if not outcomes:
        return "Nothing is due: no claim has changed since it was classified."
    enqueued, refused = outcomes[ENQUEUED], outcomes.total() - outcomes[ENQUEUED]
    said = f"Enqueued {_claims(enqueued)}; categories appear as the batches end."
    if refused:
        reasons = ", ".join(sorted(set(outcomes) - {ENQUEUED}))
        said += f" {_claims(refused)} refused ({reasons}): due again next time."
    return said


def _claims(count: int) -> str:
    return "1 claim" if count == 1 else f"{count} claims"
