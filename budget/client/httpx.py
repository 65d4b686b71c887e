"""The same transports for SDKs that are still on httpx: openai before 3.0, anthropic before 1.0."""

from functools import partial

import httpx

from budget.client.library import Library
from budget.client.metering import AsyncMetering, SyncMetering

LIMITS = httpx.Limits(max_connections=1000, max_keepalive_connections=100)
"""Those of the SDKs' own transports; a library's default would hold them up at 100."""


class BudgetTransport(SyncMetering, httpx.BaseTransport):
    """`OpenAI(http_client=httpx.Client(transport=BudgetTransport("claims")))`."""

    library = Library(httpx)
    plain = partial(httpx.HTTPTransport, limits=LIMITS)


class AsyncBudgetTransport(AsyncMetering, httpx.AsyncBaseTransport):
    """`AsyncOpenAI(http_client=httpx.AsyncClient(transport=AsyncBudgetTransport("claims")))`."""

    library = Library(httpx)
    plain = partial(httpx.AsyncHTTPTransport, limits=LIMITS)
