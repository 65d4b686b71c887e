"""What both transports do, for whichever HTTP library they are made."""

from collections.abc import Callable
from typing import Any, ClassVar

from budget.client import checked, stand_in
from budget.client.asking import asked, asked_async, gate_to
from budget.client.call import Call, api_of, call_of
from budget.client.gate import Gate
from budget.client.library import Library
from budget.client.meter import Meter
from budget.client.source import BETWEEN
from budget.client.verdict import Admitted, Choice, Refused, Verdict

READABLE = "gzip"
"""The encoding that answers may have, so that what they report can be read."""


class Metering:
    """Keeps a pool's budget on the calls of an official SDK.

    pool: its slug, or a function that gives one for a model's name.
    url, key: of the Token Budget service; unless given, of the environment's
        TOKEN_BUDGET_URL and TOKEN_BUDGET_KEY.
    gate: instead of both, where else to ask, for example a ledger in this process.
    inner: the transport that sends the calls; unless given, the library's own.
    wait: whether a refused call waits, and asks again, if the moment it is told lies before
        its workload's deadline. The SDK's caller hears of it otherwise, and at once.
    when_unavailable: `admit` or `shed`, for calls before the pool was ever heard of; then the
        policy's own choice for each class holds.
    between: names of packages of your own that stand between callers and their calls.

    Raises ValueError, which names the argument, for what can't be used.
    """

    library: ClassVar[Library]
    plain: ClassVar[Callable[[], Any]]
    """Makes the library's own transport."""

    def __init__(
        self,
        pool: str | Callable[[str], str],
        *,
        url: str | None = None,
        key: str | None = None,
        gate: Gate | None = None,
        inner: Any = None,
        wait: bool = True,
        when_unavailable: Choice = "shed",
        between: tuple[str, ...] = (),
    ) -> None:
        gate = gate or gate_to(url, key, when_unavailable)
        if isinstance(pool, str):
            checked.slug("pool", pool, "claims")
        self._meter = Meter(gate, pool, wait, between=BETWEEN.union(between))
        self._inner = inner if inner is not None else type(self).plain()


class SyncMetering(Metering):
    """For clients that wait."""

    def handle_request(self, request: Any) -> Any:
        """Send a request once it is admitted, or answer it with the refusal."""
        misfit = self.library.misfit(request)
        if misfit is not None:
            return misfit
        api = api_of(request.method, request.url.path)
        if api is None:
            return self._inner.handle_request(request)
        call = call_of(api, request.url.path, request.read())
        verdict = self._admit(call)
        if isinstance(verdict, Refused):
            return self.library.refusal(verdict, request)
        return self._send(request, call, verdict)

    def close(self) -> None:
        """Close the transport that sends."""
        self._inner.close()

    def _admit(self, call: Call) -> Verdict:
        return asked(self._meter.gate, self._meter.ask_of(call), self._meter.wait)

    def _send(self, request: Any, call: Call, admitted: Admitted) -> Any:
        request.headers["accept-encoding"] = READABLE
        exchange = self._meter.exchange_of(call, admitted)
        try:
            response = self._inner.handle_request(request)
        except self.library.unreached:
            exchange.never_left()
            raise
        except BaseException:
            exchange.broke()
            raise
        return self.library.metered(response, exchange)


class AsyncMetering(Metering):
    """For clients in an event loop."""

    async def handle_async_request(self, request: Any) -> Any:
        """Send a request once it is admitted, or answer it with the refusal."""
        misfit = self.library.misfit(request)
        if misfit is not None:
            return misfit
        api = api_of(request.method, request.url.path)
        if api is None:
            return await self._inner.handle_async_request(request)
        call = call_of(api, request.url.path, await request.aread())
        verdict = await self._admit(call)
        if isinstance(verdict, Refused):
            return self.library.refusal(verdict, request)
        return await self._send(request, call, verdict)

    async def aclose(self) -> None:
        """Close the transport that sends, and leave the gate."""
        await self._inner.aclose()
        await (stand_in.present() or self._meter.gate).leave(self)

    async def _admit(self, call: Call) -> Verdict:
        return await asked_async(self._meter.gate, self._meter.ask_of(call), self._meter.wait, self)

    async def _send(self, request: Any, call: Call, admitted: Admitted) -> Any:
        request.headers["accept-encoding"] = READABLE
        exchange = self._meter.exchange_of(call, admitted)
        try:
            response = await self._inner.handle_async_request(request)
        except self.library.unreached:
            exchange.never_left()
            raise
        except BaseException:
            exchange.broke()
            raise
        return self.library.metered_async(response, exchange)
