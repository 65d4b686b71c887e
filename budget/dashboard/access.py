"""Who may open which page."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponseBase

from budget.dashboard.apology import apologising
from budget.pages.bounded import bounded

View = Callable[..., HttpResponseBase]

SEE_USAGE = "budget.view_usageminute"
SEE_CALLS = "budget.view_call"
SEE_JOBS = "budget.view_job"
SEE_TERMS = "budget.view_reservation"


def needs(permission: str) -> Callable[[View], View]:
    """Decorator of a view: nobody without a login gets in, and nobody without the permission.

    What it asks the database, who looks included, is bounded, and an apology is made for all
    that goes wrong with it; see `bounded` and `apologising`.
    """

    def decorate(view: View) -> View:
        @wraps(view)
        def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
            if not request.user.has_perm(permission):
                raise PermissionDenied
            return view(request, *args, **kwargs)

        return apologising(bounded()(login_required(guarded)))

    return decorate


def may_open_jobs(request: HttpRequest) -> bool:
    """Whether the user may see jobs, and enter the admin, where they are shown."""
    return request.user.is_staff and request.user.has_perm(SEE_JOBS)


def may_pause_pool(request: HttpRequest) -> bool:
    """Whether the user may pause and resume pools."""
    return _either(request, "pause_pool", "change_pool")


def may_pause_class(request: HttpRequest) -> bool:
    """Whether the user may pause, drain and resume classes."""
    return _either(request, "pause_workloadclass", "change_workloadclass")


def _either(request: HttpRequest, *permissions: str) -> bool:
    return any(request.user.has_perm(f"budget.{permission}") for permission in permissions)
