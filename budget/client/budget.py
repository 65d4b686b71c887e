"""The budget for callers without an SDK: whoever makes the call says what it needs and used."""

import os
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from typing import Any, get_args
from uuid import uuid4

from budget.client import checked, stand_in
from budget.client.asking import asked, asked_async, gate_to
from budget.client.carried import current
from budget.client.gate import Gate
from budget.client.lease import Lease
from budget.client.source import calling_site
from budget.client.verdict import NOTHING, Admitted, Ask, Choice, Ending, Outcome, Refused, Verdict
from budget.client.watch import watch
from budget.client.workload import workload
from budget.providers import Tokens


class NotAdmitted(Exception):
    """The call may not be made; `refused` says all about it."""

    def __init__(self, refused: Refused) -> None:
        super().__init__(refused.detail)
        self.refused = refused


class Shed(NotAdmitted):
    """Not now, or not at all."""

    @property
    def reason(self) -> str:
        """Of the service's closed set, or `away`."""
        return self.refused.reason

    @property
    def retry_after_seconds(self) -> float | None:
        """When to come back; None if that is of no use."""
        again = self.refused.retry_after_ms
        return None if again is None else again / 1000


class Denied(NotAdmitted):
    """The key, or what was asked under it, is wrong."""


class OpenCall:
    """An admitted call while it is under way; tell it what the call used."""

    def __init__(self, gate: Gate, admitted: Admitted) -> None:
        self.admitted = admitted
        self._gate = gate
        ask = admitted.ask
        self._used = Tokens(ask.input_tokens, ask.output_tokens)
        self._outcome: Outcome | None = None
        self._lease = Lease(gate, admitted)
        self._process = os.getpid()
        self.is_open = True

    def settle(
        self,
        input_tokens: int,
        output_tokens: int,
        cached_input_tokens: int = 0,
        outcome: Outcome = "succeeded",
    ) -> None:
        """Record what the call used; without it the estimate stands. Settled at the block's end.

        Told again, the last counts. Raises ValueError, which names the argument, and
        RuntimeError after the block.
        """
        used = Tokens(
            checked.tokens("input_tokens", input_tokens),
            checked.tokens("output_tokens", output_tokens),
            checked.tokens("cached_input_tokens", cached_input_tokens),
        )
        if used.cached_input > used.input:
            raise ValueError("cached_input_tokens: more than all input tokens.")
        if outcome not in get_args(Outcome):
            raise ValueError(f"outcome: {outcome!r}; write one of {', '.join(get_args(Outcome))}.")
        self._record(used, outcome)

    def cancel(self) -> None:
        """The call was never made: all of it is given back. Raises as `settle` does."""
        self._record(NOTHING, "cancelled")

    def keep_lease(self) -> None:
        """Renew the lease; done for as long as the block lasts."""
        self._lease.keep()

    def closed(self, failed: bool = True) -> None:
        """The block has ended; that of a forked child's copy says nothing."""
        if self.is_open and self._process == os.getpid():
            self.is_open = False
            outcome: Outcome = self._outcome or ("failed" if failed else "succeeded")
            self._gate.settle(self.admitted, Ending(outcome, self._used))

    def _record(self, used: Tokens, outcome: Outcome) -> None:
        if not self.is_open:
            raise RuntimeError("The call was settled when its block ended.")
        self._used, self._outcome = used, outcome


class _Budget:
    """What both have in common."""

    def __init__(
        self,
        url: str | None = None,
        key: str | None = None,
        *,
        gate: Gate | None = None,
        wait: bool = True,
        when_unavailable: Choice = "shed",
    ) -> None:
        self._gate = gate or gate_to(url, key, when_unavailable)
        self._wait = wait

    def _ask(
        self,
        pool: str,
        workload_class: str | None,
        input_tokens: int,
        output_tokens: int,
        deadline: float | None,
        source: str,
        tags: Mapping[str, Any],
    ) -> Ask:
        deadline = checked.seconds("deadline", deadline)
        source, told = checked.text("source", source), checked.tags(tags)
        name, work = workload_class, current()
        if name is None and work is not None:
            name = work.workload_class
        if name is not None:
            with workload.of(name, deadline, source, told) as work:
                pass
        left = deadline if work is None else work.remaining_seconds
        return Ask(
            pool=checked.slug("pool", pool, "claims"),
            workload_class=name,
            input_tokens=checked.tokens("input_tokens", input_tokens),
            output_tokens=checked.tokens("output_tokens", output_tokens),
            deadline_ms=None if left is None else int(1000 * left),
            source=(work.source if work else source) or calling_site(),
            tags=work.tags if work else told,
            key=str(uuid4()),
        )

    def _opened(self, verdict: Verdict) -> OpenCall:
        if isinstance(verdict, Refused):
            raise Shed(verdict) if verdict.reason else Denied(verdict)
        call = OpenCall(stand_in.present() or self._gate, verdict)
        watch.begin(call)
        return call


class Budget(_Budget):
    """Admits calls before they are made, and settles them.

    Address and key are those of the environment's TOKEN_BUDGET_URL and TOKEN_BUDGET_KEY unless
    given; `gate` is where else to ask. `wait`: whether a refused call waits, and asks again, if
    the moment it is told lies before its deadline. Connections are kept, and shared by all
    budgets of a process; threads and forked children may use one alike.
    """

    @contextmanager
    def admit(
        self,
        pool: str,
        workload_class: str | None = None,
        *,
        input_tokens: int,
        output_tokens: int,
        deadline: float | None = None,
        source: str = "",
        tags: Mapping[str, Any] | None = None,
    ) -> Iterator[OpenCall]:
        """Admit a call for the length of a `with` block, and settle it at the end.

        What isn't given is the present `workload`'s; `deadline` is in seconds. An exception in
        the block settles the call as failed. Raises Shed and Denied, and ValueError, which names
        the argument.
        """
        ask = self._ask(
            pool, workload_class, input_tokens, output_tokens, deadline, source, tags or {}
        )
        call = self._opened(asked(self._gate, ask, self._wait))
        try:
            yield call
        except BaseException:
            call.closed()
            raise
        finally:
            watch.end(call)
        call.closed(failed=False)


class AsyncBudget(_Budget):
    """As `Budget`, for callers in an event loop; `aclose` it before the loop ends."""

    @asynccontextmanager
    async def admit(
        self,
        pool: str,
        workload_class: str | None = None,
        *,
        input_tokens: int,
        output_tokens: int,
        deadline: float | None = None,
        source: str = "",
        tags: Mapping[str, Any] | None = None,
    ) -> AsyncIterator[OpenCall]:
        """As `Budget.admit`, in an `async with` block."""
        ask = self._ask(
            pool, workload_class, input_tokens, output_tokens, deadline, source, tags or {}
        )
        call = self._opened(await asked_async(self._gate, ask, self._wait, self))
        try:
            yield call
        except BaseException:
            call.closed()
            raise
        finally:
            watch.end(call)
        call.closed(failed=False)

    async def aclose(self) -> None:
        """Close the running event loop's connections to the service, once nobody uses them."""
        await (stand_in.present() or self._gate).leave(self)
