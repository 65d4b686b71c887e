"""Django requests that another service makes on behalf of a workload."""

from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, cast

from asgiref.sync import iscoroutinefunction
from django.http import HttpRequest, HttpResponse, HttpResponseBadRequest
from django.utils.decorators import sync_and_async_middleware

from budget.client.carried import current, resumed
from budget.client.headers import incoming

Answer = Callable[[HttpRequest], HttpResponse]
AsyncAnswer = Callable[[HttpRequest], Awaitable[HttpResponse]]


@sync_and_async_middleware
def carried_workload(get_response: Any) -> Any:
    """Tags a request's calls, and bounds their time, as its `Budget-Workload-…` headers say.

    Whoever can send these headers chooses the class: install it only where requests come from
    services one trusts, or behind a proxy that takes the headers off what comes from outside.
    A malformed header is answered with 400. A streamed answer is produced after the middleware;
    its calls want a block of their own.
    """
    if iscoroutinefunction(get_response):

        async def answer_async(request: HttpRequest) -> HttpResponse:
            try:
                block = _block(request)
            except ValueError as error:
                return _malformed(error)
            with resumed(current()), block:
                return await cast(AsyncAnswer, get_response)(request)

        return answer_async

    def answer(request: HttpRequest) -> HttpResponse:
        try:
            block = _block(request)
        except ValueError as error:
            return _malformed(error)
        # A block that a view leaves open, in a generator perhaps, ends with its request.
        with resumed(current()), block:
            return cast(Answer, get_response)(request)

    return answer


def _block(request: HttpRequest) -> AbstractContextManager[object]:
    return incoming(request.headers) or nullcontext()


def _malformed(error: ValueError) -> HttpResponse:
    return HttpResponseBadRequest(str(error), content_type="text/plain; charset=utf-8")
