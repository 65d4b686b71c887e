"""What a page says when it can't show what its address asks for."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.db import InterfaceError, OperationalError
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.template.loader import render_to_string
from psycopg.errors import QueryCanceled

from budget.dashboard.span import DEFAULT, BadAddress
from budget.services import BudgetError, UnknownPool

Page = Callable[..., HttpResponseBase]

AGAIN_SECONDS = 10
"""When a page tries again by itself."""


def apologising(page: Page) -> Page:
    """Decorator of a view: names what is wrong with the address, or says the ledger is away.

    400 with the parameter and the fix, or 503 with a page that tries again by itself.
    """

    @wraps(page)
    def apologised(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        try:
            return page(request, *args, **kwargs)
        except BadAddress as fault:
            context = {"fault": str(fault), "default": DEFAULT}
            return render(request, "budget/dashboard/fault.html", context, status=400)
        except UnknownPool as error:
            raise Http404(str(error)) from None
        except (BudgetError, InterfaceError, OperationalError) as error:
            return _sorry(request, slow=isinstance(error.__cause__, QueryCanceled))

    return apologised


def _sorry(request: HttpRequest, slow: bool) -> HttpResponse:
    """Rendered without the request: who asks, and what waits to be told, are in the database."""
    context = {
        "slow": slow,
        "posted": request.method == "POST",
        "address": request.get_full_path(),
        "seconds": AGAIN_SECONDS,
    }
    page = render_to_string("budget/dashboard/apology.html", context)
    return HttpResponse(page, status=503, headers={"Retry-After": f"{AGAIN_SECONDS}"})
