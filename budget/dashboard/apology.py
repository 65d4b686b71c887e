"""What a page says when it can't show what its address asks for."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.db import InterfaceError, OperationalError
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import render

from budget.dashboard.span import DEFAULT, BadAddress
from budget.services import BudgetError, UnknownPool

Page = Callable[..., HttpResponseBase]


def apologising(page: Page) -> Page:
    """Decorator of a view: names what is wrong with the address, or says the ledger is away.

    400 with the parameter and the fix, or 503 with a page that tries again by itself.
    """

    @wraps(page)
    def apologised(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        try:
            return page(request, *args, **kwargs)
        except BadAddress as fault:
            return _sorry(request, 400, fault=str(fault))
        except UnknownPool as error:
            raise Http404(str(error)) from None
        except (BudgetError, InterfaceError, OperationalError):
            return _sorry(request, 503)

    return apologised


def _sorry(request: HttpRequest, status: int, fault: str = "") -> HttpResponse:
    context = {"fault": fault, "default": DEFAULT}
    return render(request, "budget/dashboard/apology.html", context, status=status)
