"""Who does something, and why: what the history remembers of a request."""

from typing import Any

import pghistory
from django import forms
from django.http import HttpRequest

from budget import conf

MAX_REASON = 500
MAX_ADDRESS = 50


def audit(request: HttpRequest) -> Any:
    """Context manager: edits within it are remembered with user, address and reason."""
    user = request.user
    return pghistory.context(
        user=user.pk,
        username=user.get_username(),
        address=client_address(request),
        url=request.path,
        reason=given_reason(request),
    )


def client_address(request: HttpRequest) -> str:
    """Where a request comes from, as far as the proxies before us can be trusted."""
    addresses = request.META.get(conf.client_address_key(), "")
    return addresses.rpartition(",")[2].strip()[:MAX_ADDRESS]


def given_reason(request: HttpRequest) -> str:
    """What the form says about why; empty if nothing."""
    return request.POST.get("reason", "").replace("\0", "").strip()[:MAX_REASON]


def _reason(label: str, help_text: str, keeper: str) -> forms.CharField:
    return forms.CharField(
        label=label,
        max_length=MAX_REASON,
        widget=forms.TextInput(attrs={"class": "budget-reason", "autocomplete": "off"}),
        help_text=help_text,
        error_messages={"required": f"Say why, in a few words: the {keeper}."},
    )


class ReasonForm(forms.Form):
    """Asks why the policy is changed."""

    reason = _reason(
        "Reason for the change",
        "Kept with the change in the history. Example: storm season, adjusters first.",
        "history keeps it",
    )


class CancelForm(forms.Form):
    """Asks why a job is cancelled."""

    reason = _reason("Reason", "Shown on the job. Example: sent twice.", "job shows it")
