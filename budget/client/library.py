"""What differs between httpx2 and httpx: whose classes answers, bodies and errors are."""

import sys
from types import ModuleType
from typing import Any

from budget.client.exchange import Exchange
from budget.client.refusal import body_of, headers_of
from budget.client.streams import Metered, MeteredAsync
from budget.client.unreached import unreached
from budget.client.verdict import Refused


class Library:
    """One of the two HTTP libraries."""

    def __init__(self, module: ModuleType) -> None:
        self._module = module
        self.unreached = unreached(module)
        self._stream: Any = type("MeteredStream", (Metered, module.SyncByteStream), {})
        self._async_stream: Any = type(
            "MeteredAsyncStream", (MeteredAsync, module.AsyncByteStream), {}
        )

    def misfit(self, request: Any) -> Any:
        """The answer to a request of the other library; None to one of this."""
        if isinstance(request, self._module.Request):
            return None
        other = sys.modules[type(request).__module__.partition(".")[0]]
        names = ["budget.client", "budget.client.httpx"]
        right, wrong = names if other.__name__ == "httpx2" else names[::-1]
        message = (
            f"This client is on {other.__name__}, and the BudgetTransport of {wrong} isn't: "
            f"import it from {right}."
        )
        error = {"type": "invalid_request_error", "code": "budget", "message": message}
        return other.Response(400, json={"type": "error", "error": error}, request=request)

    def refusal(self, refused: Refused, request: Any) -> Any:
        """A refusal as the answer to a request."""
        return self._module.Response(
            refused.status,
            headers=headers_of(refused),
            content=body_of(refused),
            request=request,
            extensions={"http_version": b"HTTP/1.1", "reason_phrase": b"Shed by Token Budget"},
        )

    def metered(self, response: Any, exchange: Exchange) -> Any:
        """The answer, whose body tells the exchange what comes of it."""
        exchange.began(response.status_code, response.headers)
        response.stream = self._stream(response.stream, exchange)
        return response

    def metered_async(self, response: Any, exchange: Exchange) -> Any:
        """As `metered`, in an event loop."""
        exchange.began(response.status_code, response.headers)
        response.stream = self._async_stream(response.stream, exchange)
        return response
