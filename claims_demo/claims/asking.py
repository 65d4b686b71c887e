"""Where a question to the assistant arrives."""

import json
import logging
from typing import Any

from django import forms
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, redirect
from django.views.decorators.http import require_POST

from budget.api.refusals import shed_response
from budget.services import LedgerUnavailable, Shed
from claims_demo.claims import assistant
from claims_demo.claims.assistant import ProviderTrouble, TooSlow
from claims_demo.models import Claim, Question

logger = logging.getLogger(__name__)


class QuestionForm(forms.Form):
    """A question as it is sent."""

    question = forms.CharField(max_length=500)


@login_required
@require_POST
def ask(request: HttpRequest, number: str) -> HttpResponse:
    """Answer a question about a claim, as JSON or with the claim's page."""
    claim = get_object_or_404(Claim, number=number)
    form = QuestionForm(_sent(request))
    if not form.is_valid():
        return JsonResponse({"detail": form.errors["question"][0], "field": "question"}, status=400)
    question = form.cleaned_data["question"]
    try:
        answer = assistant.answer(claim, question)
    except Shed as shed:
        return shed_response(request, shed)
    except TooSlow:
        return JsonResponse({"detail": "The assistant took too long."}, status=504)
    except ProviderTrouble as error:
        logger.warning("No answer about %s: %s", claim, error)
        return JsonResponse({"detail": "The assistant can't be reached just now."}, status=502)
    except LedgerUnavailable as error:
        return JsonResponse(
            {"detail": "The assistant can't be asked just now."},
            status=503,
            headers={"Retry-After": str(error.retry_after_seconds)},
        )
    Question.objects.create(
        claim=claim,
        asked_by=request.user.get_username(),
        text=question,
        answer=answer.text,
        seconds=answer.seconds,
        input_tokens=answer.input_tokens,
        output_tokens=answer.output_tokens,
    )
    if request.accepts("text/html"):
        return redirect(claim)
    return JsonResponse(
        {
            "answer": answer.text,
            "seconds": round(answer.seconds, 3),
            "input_tokens": answer.input_tokens,
            "output_tokens": answer.output_tokens,
        }
    )


def _sent(request: HttpRequest) -> Any:
    if request.content_type != "application/json":
        return request.POST
    try:
        body = json.loads(request.body)
    except ValueError:
        return {}
    return body if isinstance(body, dict) else {}
