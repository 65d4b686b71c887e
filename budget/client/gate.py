"""Where calls are let through: the service over HTTP, the ledger in this process, or a script."""

from typing import Protocol

from budget.client.verdict import Admitted, Ask, Ending, Verdict
from budget.providers.standing import Standing


class Gate(Protocol):
    """Decides on calls, and takes in how they ended.

    All of it may be used from any thread and any event loop, and in a forked child.
    """

    def admit(self, ask: Ask) -> Verdict:
        """The decision on a call. Raises nothing: whoever is away or wrong is told by it."""

    async def admit_async(self, ask: Ask, user: object) -> Verdict:
        """As `admit`, in the running event loop, for a user who will `leave` it in the end."""

    async def leave(self, user: object) -> None:
        """A user in the running event loop asks no more."""

    def settle(self, admitted: Admitted, ending: Ending) -> None:
        """Take in how a call ended. Neither waits nor raises; it is told as soon as can be."""

    def renew(self, admitted: Admitted, seconds: float) -> None:
        """Let a call's lease last so many seconds longer. Neither waits nor raises."""

    def observe(self, pool: str, standing: Standing) -> None:
        """Take in what the provider said about its limits. Neither waits nor raises."""
