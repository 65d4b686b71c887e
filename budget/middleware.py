"""Django requests that another service makes on behalf of a workload."""

from collections.abc import Awaitable, Callable
from typing import Any, cast

from asgiref.sync import iscoroutinefunction
from django.http import HttpRequest, HttpResponse, HttpResponseBadRequest
from django.utils.decorators import sync_and_async_middleware

from budget.client.headers import incoming
from budget.client.workload import workload

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
            block = _block(request)
            if isinstance(block, HttpResponse):
                return block
            if block is None:
                return await cast(AsyncAnswer, get_response)(request)
            with block:
                return await cast(AsyncAnswer, get_response)(request)

        return answer_async

    def answer(request: HttpRequest) -> HttpResponse:
        block = _block(request)
        if isinstance(block, HttpResponse):
            return block
        if block is None:
            return cast(Answer, get_response)(request)
        with block:
            return cast(Answer, get_response)(request)

    return answer


def _block(request: HttpRequest) -> workload | HttpResponse | None:
    try:
        return incoming(request.headers)
    except ValueError as error:
        return HttpResponseBadRequest(str(error), content_type="text/plain; charset=utf-8")
