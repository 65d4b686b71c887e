"""Where a question to the assistant arrives, from the page's script or as a plain form."""

import json
import re
from typing import Any

from django import forms
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, redirect, resolve_url
from django.views.decorators.http import require_POST

from budget.api.refusals import shed_response, unlogged
from budget.services import BudgetError, Shed
from claims_demo.claims import assistant
from claims_demo.claims.assistant import Answer, ProviderTrouble, TooSlow
from claims_demo.claims.events import remember
from claims_demo.claims.failures import Failure, failure_of, shed_failure, wrong
from claims_demo.claims.pages import claim_page
from claims_demo.models import Claim
from claims_demo.models.claim import LONGEST_QUESTION

JSON, HTML = "application/json", "text/html"
KEY_HEADER = "Idempotency-Key"
KEY = re.compile(r"[!-~]{1,64}")
KEY_IT = f"{KEY_HEADER}: send 1 to 64 printable ASCII characters without spaces."
WORD_IT = f"Ask something in 1 to {LONGEST_QUESTION} characters."


def _storable(text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValidationError("Half of a surrogate pair is no character.") from None


class QuestionForm(forms.Form):
    """A question as it is sent: written, or one of the suggested."""

    question = forms.CharField(
        max_length=LONGEST_QUESTION,
        validators=[_storable],
        error_messages={"required": WORD_IT, "max_length": WORD_IT},
    )


@require_POST
def ask(request: HttpRequest, number: str) -> HttpResponse:
    """Answer a question about a claim, as JSON or by the claim's page.

    200 the answer · 400 no such question or key · 403 logged out · 409 asked before under that
    key · 422 too large · 429 shed, with when to come back · 502 trouble with the provider ·
    503 the provider is busy, or the budget can't decide · 504 not within two seconds.
    """
    if not request.user.is_authenticated:
        return _logged_out(request, number)
    claim = get_object_or_404(Claim, number=number)
    sent = _sent(request)
    form = QuestionForm(sent)
    if not form.is_valid():
        return _failed(request, claim, sent, wrong("question", str(form.errors["question"][0])))
    key = request.headers.get(KEY_HEADER)
    if key is not None and not KEY.fullmatch(key):
        return _failed(request, claim, sent, wrong(KEY_HEADER, KEY_IT))
    question = form.cleaned_data["question"]
    try:
        # One adjuster's key is not another's.
        answer = assistant.answer(claim, question, key and f"{request.user.pk} {key}")
    except Shed as shed:
        if _wants_json(request):
            return shed_response(request, shed)
        return _failed(request, claim, sent, shed_failure(shed))
    except (TooSlow, ProviderTrouble, BudgetError) as error:
        return _failed(request, claim, sent, failure_of(claim, error))
    remember(claim, request.user.get_username(), question, answer)
    return _answered(request, claim, answer)


def _logged_out(request: HttpRequest, number: str) -> HttpResponse:
    if _wants_json(request):
        return JsonResponse({"detail": "You are not logged in any more."}, status=403)
    return redirect_to_login(resolve_url("claim", number))


def _sent(request: HttpRequest) -> dict[str, Any]:
    """What came, in either form; nothing if it can't be read."""
    if request.content_type != JSON:
        text = request.POST.get("suggestion") or request.POST.get("question")
        return {"question": text}
    try:
        body = json.loads(request.body)
    except (ValueError, RecursionError):
        return {}
    question = body.get("question") if isinstance(body, dict) else None
    return {"question": question} if isinstance(question, str) else {}


def _answered(request: HttpRequest, claim: Claim, answer: Answer) -> HttpResponse:
    if not _wants_json(request):
        return redirect(f"{claim.get_absolute_url()}#answer")
    return JsonResponse(
        {
            "answer": answer.text,
            "seconds": round(answer.seconds, 2),
            "input_tokens": answer.input_tokens,
            "output_tokens": answer.output_tokens,
        }
    )


def _wants_json(request: HttpRequest) -> bool:
    """Whether the page's script asks rather than the form itself."""
    return request.get_preferred_type([JSON, HTML]) != HTML


def _failed(
    request: HttpRequest, claim: Claim, sent: dict[str, Any], failure: Failure
) -> HttpResponse:
    if _wants_json(request):
        body = {"detail": failure.detail, **failure.members}
        response: HttpResponse = JsonResponse(body, status=failure.status)
    else:
        typed = sent.get("question") or ""
        response = claim_page(request, claim, typed, failure.detail, failure.status)
    for name, value in failure.headers.items():
        response.headers[name] = value
    return unlogged(response)
