"""Bodies of answers that tell an exchange what comes of them."""

from collections.abc import AsyncIterator, Iterator
from typing import Any
from weakref import finalize

from budget.client.exchange import Exchange
from budget.client.watch import watch


class Metered:
    """A synchronous body; made a stream of its HTTP library by `Library`."""

    def __init__(self, inner: Any, exchange: Exchange) -> None:
        self._inner, self._exchange = inner, exchange
        # Whoever drops an answer without closing it has ended the call, too.
        finalize(self, watch.drop, exchange, inner.close)

    def __iter__(self) -> Iterator[bytes]:
        try:
            for chunk in self._inner:
                self._exchange.feed(chunk)
                yield chunk
        except GeneratorExit:
            self._exchange.closed()
            raise
        except BaseException:
            self._exchange.broke()
            raise
        self._exchange.ended()

    def close(self) -> None:
        """The caller wants no more of it; of an error, what the SDK leaves unread is read."""
        try:
            if self._exchange.wants_error:
                for chunk in self._inner:
                    self._exchange.feed(chunk)
                    if not self._exchange.wants_error:
                        break
        except Exception:
            self._exchange.broke()
        try:
            self._inner.close()
        finally:
            self._exchange.closed()


class MeteredAsync:
    """An asynchronous body; made a stream of its HTTP library by `Library`."""

    def __init__(self, inner: Any, exchange: Exchange) -> None:
        self._inner, self._exchange = inner, exchange
        finalize(self, watch.drop, exchange)

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            async for chunk in self._inner:
                self._exchange.feed(chunk)
                yield chunk
        except GeneratorExit:
            self._exchange.closed()
            raise
        except BaseException:
            self._exchange.broke()
            raise
        self._exchange.ended()

    async def aclose(self) -> None:
        """The caller wants no more of it; of an error, what the SDK leaves unread is read."""
        try:
            if self._exchange.wants_error:
                async for chunk in self._inner:
                    self._exchange.feed(chunk)
                    if not self._exchange.wants_error:
                        break
        except Exception:
            self._exchange.broke()
        try:
            await self._inner.aclose()
        finally:
            self._exchange.closed()
