"""Transports for the official SDKs, on httpx2; for older SDKs see `budget.client.httpx`."""

from functools import partial

import httpx2

from budget.client.library import Library
from budget.client.metering import AsyncMetering, SyncMetering

LIMITS = httpx2.Limits(max_connections=1000, max_keepalive_connections=100)
"""Those of the SDKs' own transports; a library's default would hold them up at 100."""


class BudgetTransport(SyncMetering, httpx2.BaseTransport):
    """`OpenAI(http_client=DefaultHttpxClient(transport=BudgetTransport("claims")))`."""

    library = Library(httpx2)
    plain = partial(httpx2.HTTPTransport, limits=LIMITS)


class AsyncBudgetTransport(AsyncMetering, httpx2.AsyncBaseTransport):
    """`AsyncOpenAI(http_client=DefaultAsyncHttpxClient(transport=AsyncBudgetTransport(…)))`."""

    library = Library(httpx2)
    plain = partial(httpx2.AsyncHTTPTransport, limits=LIMITS)
