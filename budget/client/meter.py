"""What a transport does about each attempt; sync and async ones differ only in how they wait."""

from collections.abc import Callable
from dataclasses import dataclass
from uuid import uuid4

from budget.client import stand_in
from budget.client.call import Call
from budget.client.carried import Workload, current
from budget.client.estimator import Estimator
from budget.client.exchange import Exchange
from budget.client.gate import Gate
from budget.client.source import BETWEEN, calling_site
from budget.client.verdict import Admitted, Ask

estimates = Estimator()
"""What all transports of a process learn together."""
UNTAGGED = Workload("")


@dataclass(frozen=True)
class Meter:
    """Knows what to ask for a request, and watches what comes of it."""

    gate: Gate
    pool: str | Callable[[str], str]
    """A slug, or what gives one for a model."""
    wait: bool
    """Whether a refused call may wait and ask again."""
    estimator: Estimator = estimates
    between: frozenset[str] = BETWEEN

    def ask_of(self, call: Call) -> Ask:
        """What to ask the gate for a call that is made here and now."""
        work = current() or UNTAGGED
        workload_class, remaining = work.workload_class or None, work.remaining_seconds
        tokens = self.estimator.estimate(call, workload_class)
        return Ask(
            pool=self.pool if isinstance(self.pool, str) else self.pool(call.model),
            workload_class=workload_class,
            input_tokens=tokens.input,
            output_tokens=tokens.output,
            deadline_ms=None if remaining is None else int(1000 * remaining),
            source=work.source or calling_site(self.between),
            tags=work.tags,
            key=str(uuid4()),
        )

    def exchange_of(self, call: Call, admitted: Admitted) -> Exchange:
        """The attempt that may be made now."""
        return Exchange(stand_in.present() or self.gate, self.estimator, call, admitted)
