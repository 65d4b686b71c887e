"""What the server alone costs: a view that does nothing."""

from typing import Any

from django.http import HttpRequest, HttpResponse

from budget.api.endpoint import Endpoint
from budget.api.problem import json_response


class NullView(Endpoint):
    """Takes the same way through server and middleware as an admission, and stops there.

    It reads neither key nor body, so the baseline is as fast as this server gets.
    """

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """A constant."""
        return json_response({"decision": "admitted"}, 201)
