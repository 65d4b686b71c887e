"""Where a question to the assistant arrives, from the page's script or as a plain form."""

import json
import logging
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, NamedTuple

from django import forms
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, redirect, resolve_url
from django.views.decorators.http import require_POST

from budget.api.answers import retry_headers, unlogged
from budget.api.refusals import shed_response
from budget.services import BudgetError, LedgerUnavailable, Shed
from claims_demo.claims import assistant
from claims_demo.claims.assistant import Answer, ProviderTrouble, TooSlow
from claims_demo.claims.events import remember
from claims_demo.claims.pages import claim_page
from claims_demo.models import Claim
from claims_demo.models.claim import LONGEST_QUESTION

JSON, HTML = "application/json", "text/html"
LONGEST_KEY = 64
WORD_IT = f"Ask something in 1 to {LONGEST_QUESTION} characters."
TOO_SLOW = "The assistant took longer than two seconds. Your question is still here: try again."
TOO_LARGE = "This claim is more than the assistant can read. Your question is still here."
UNREACHED = "The assistant can't be reached just now. Your question is still here: try again."

logger = logging.getLogger(__name__)


class Failure(NamedTuple):
    """Why there is no answer, for people."""

    status: HTTPStatus
    detail: str
    headers: Mapping[str, str] = {}
    field: str | None = None


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

    200 the answer · 400 no such question · 403 logged out · 429 shed, with when to come back ·
    502 trouble with the provider · 503 the budget can't decide · 504 not within two seconds.
    """
    if not request.user.is_authenticated:
        return _logged_out(request, number)
    claim = get_object_or_404(Claim, number=number)
    sent = _sent(request)
    form = QuestionForm(sent)
    if not form.is_valid():
        wrong = Failure(HTTPStatus.BAD_REQUEST, str(form.errors["question"][0]), field="question")
        return _failed(request, claim, sent, wrong)
    question = form.cleaned_data["question"]
    try:
        answer = assistant.answer(claim, question, _place(request))
    except Shed as shed:
        return _shed(request, claim, sent, shed)
    except (TooSlow, ProviderTrouble, BudgetError) as error:
        return _failed(request, claim, sent, _failure(claim, error))
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


def _shed(request: HttpRequest, claim: Claim, sent: dict[str, Any], shed: Shed) -> HttpResponse:
    """The API's answer for a script; for a person, the page as it was and when to come back."""
    if _wants_json(request):
        return shed_response(request, shed)
    if shed.reason == "never_fits":
        return _failed(request, claim, sent, Failure(HTTPStatus.UNPROCESSABLE_ENTITY, TOO_LARGE))
    headers = retry_headers(shed.admission)
    when = f"in {headers['Retry-After']} s" if headers else "in a while"
    detail = f"Try again shortly: others come first. Your question is still here; send it {when}."
    return _failed(request, claim, sent, Failure(HTTPStatus.TOO_MANY_REQUESTS, detail, headers))


def _place(request: HttpRequest) -> str | None:
    """What keeps the place of a question that is asked again; another for each of us."""
    key = request.headers.get("Idempotency-Key", "")
    return f"{request.user.pk} {key[:LONGEST_KEY]}" if key else None


def _wants_json(request: HttpRequest) -> bool:
    """Whether the page's script asks rather than the form itself."""
    return request.get_preferred_type([JSON, HTML]) != HTML


def _failure(claim: Claim, error: Exception) -> Failure:
    if isinstance(error, TooSlow):
        return Failure(HTTPStatus.GATEWAY_TIMEOUT, TOO_SLOW)
    logger.warning("No answer about %s: %s", claim, error)
    if isinstance(error, ProviderTrouble):
        return Failure(HTTPStatus.BAD_GATEWAY, UNREACHED)
    again = {}
    if isinstance(error, LedgerUnavailable):
        again = {"Retry-After": str(error.retry_after_seconds)}
    return Failure(HTTPStatus.SERVICE_UNAVAILABLE, UNREACHED, again)


def _failed(
    request: HttpRequest, claim: Claim, sent: dict[str, Any], failure: Failure
) -> HttpResponse:
    if _wants_json(request):
        body = {"detail": failure.detail} | ({"field": failure.field} if failure.field else {})
        response: HttpResponse = JsonResponse(body, status=failure.status)
    else:
        typed = sent.get("question") or ""
        response = claim_page(request, claim, typed, failure.detail, failure.status)
    for name, value in failure.headers.items():
        response.headers[name] = value
    return unlogged(response)
