"""Transports for the official SDKs, on httpx2; for older SDKs see `budget.client.httpx`."""

import httpx2

from budget.client.library import Library
from budget.client.metering import AsyncMetering, SyncMetering


class BudgetTransport(SyncMetering, httpx2.BaseTransport):
    """`OpenAI(http_client=DefaultHttpxClient(transport=BudgetTransport("claims")))`."""

    library = Library(httpx2)
    plain = httpx2.HTTPTransport


class AsyncBudgetTransport(AsyncMetering, httpx2.AsyncBaseTransport):
    """`AsyncOpenAI(http_client=DefaultAsyncHttpxClient(transport=AsyncBudgetTransport(…)))`."""

    library = Library(httpx2)
    plain = httpx2.AsyncHTTPTransport
