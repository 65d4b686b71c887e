"""The same transports for SDKs that are still on httpx: openai before 3.0, anthropic before 1.0."""

import httpx

from budget.client.library import Library
from budget.client.metering import AsyncMetering, SyncMetering


class BudgetTransport(SyncMetering, httpx.BaseTransport):
    """`OpenAI(http_client=httpx.Client(transport=BudgetTransport("claims")))`."""

    library = Library(httpx)
    plain = httpx.HTTPTransport


class AsyncBudgetTransport(AsyncMetering, httpx.AsyncBaseTransport):
    """`AsyncOpenAI(http_client=httpx.AsyncClient(transport=AsyncBudgetTransport("claims")))`."""

    library = Library(httpx)
    plain = httpx.AsyncHTTPTransport
