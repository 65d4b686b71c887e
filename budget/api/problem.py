"""Errors as RFC 9457 problem details."""

from http import HTTPStatus
from typing import Any

import msgspec
from django.http import HttpResponse

PROBLEM_JSON = "application/problem+json"
QUOTA_EXCEEDED = "https://iana.org/assignments/http-problem-types#quota-exceeded"
"""The registered problem type of a refusal that a later try may not meet."""
ABOUT_BLANK = "about:blank"
"""The problem type that says no more than the status does."""


class Problem(Exception):
    """An answer other than success; raised anywhere below an endpoint, it becomes the response.

    `detail` tells the caller what to change. `members` are further members of the body.
    """

    def __init__(
        self, status: int, detail: str, *, headers: dict[str, str] | None = None, **members: Any
    ) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail
        self.headers = headers or {}
        self.members = members

    @property
    def body(self) -> dict[str, Any]:
        """The problem details object."""
        return {
            "type": ABOUT_BLANK,
            "title": title(self.status),
            "status": self.status,
            "detail": self.detail,
            **self.members,
        }

    def response(self) -> HttpResponse:
        """The problem as an HTTP response."""
        return json_response(self.body, self.status, self.headers, PROBLEM_JSON)


def title(status: int) -> str:
    """The name of an HTTP status."""
    return HTTPStatus(status).phrase


def json_response(
    body: Any,
    status: int = 200,
    headers: dict[str, str] | None = None,
    content_type: str = "application/json",
) -> HttpResponse:
    """`body` as JSON; never stored by caches on the way."""
    content = msgspec.json.encode(body)
    response = HttpResponse(content, status=status, content_type=content_type)
    response.headers["Content-Length"] = str(len(content))
    response.headers["Cache-Control"] = "no-store"
    for name, value in (headers or {}).items():
        response.headers[name] = value
    return response
