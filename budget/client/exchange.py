"""One attempt at a call: from its admission until what it used is known."""

import os
import threading
from collections.abc import Mapping

from budget.client.answer import Answer
from budget.client.call import Call
from budget.client.estimator import Estimator
from budget.client.gate import Gate
from budget.client.lease import Lease
from budget.client.verdict import NOTHING, Admitted, Ending, Outcome
from budget.client.watch import watch
from budget.providers import Tokens
from budget.providers.headers import BUSY

FAILING = range(500, 600)


class Exchange:
    """Watches one attempt, and settles it exactly once, however it ends.

    What it settles: the usage the answer reports; where it reports none, the estimated input
    and what was seen of the output; nothing where the provider refused the request.
    """

    def __init__(self, gate: Gate, estimator: Estimator, call: Call, admitted: Admitted) -> None:
        self._gate, self._estimator = gate, estimator
        self._call, self._admitted = call, admitted
        self._once = threading.Lock()
        self._settled = False
        self._process = os.getpid()
        self._answer: Answer | None = None
        self._lease = Lease(gate, admitted)
        watch.begin(self)

    @property
    def is_open(self) -> bool:
        """Whether it is still under way."""
        return not self._settled

    @property
    def wants_error(self) -> bool:
        """Whether its answer is an error of which more should be read."""
        return self.is_open and self._answer is not None and self._answer.wants_error

    def keep_lease(self) -> None:
        """Renew the lease of a call that takes long."""
        self._lease.keep()

    def never_left(self) -> None:
        """It couldn't be sent: all is given back."""
        self._settle("cancelled", NOTHING)

    def broke(self) -> None:
        """It was sent, and broke off: what was used is at least what was seen of it.

        An error is one also if not all of it came.
        """
        if self._answer is None:
            self._settle("failed", self._estimated())
        elif not self._answer.is_ok:
            self.ended()
        else:
            self._settle_used("failed", self._answer)

    def began(self, status: int, headers: Mapping[str, str]) -> None:
        """The answer's head has come."""
        self._answer = Answer(self._call, status, headers)
        if self._answer.is_ok:
            self._observe()

    def feed(self, chunk: bytes) -> None:
        """A part of the answer's body has come, as it was sent."""
        if self._answer is not None:
            self._answer.feed(chunk)

    def ended(self) -> None:
        """The whole answer has come."""
        answer = self._answer
        assert answer is not None, "an answer begins before it ends"
        if answer.is_ok:
            self._settle_used("failed" if answer.is_cut else "succeeded", answer)
            return
        self._observe()
        if answer.status in BUSY:
            self._settle("rate_limited", NOTHING)
        elif answer.status in FAILING:
            # It arrived, and providers count what failed.
            self._settle("failed", Tokens(self._admitted.ask.input_tokens, 0))
        else:
            self._settle("failed", NOTHING)

    def closed(self) -> None:
        """The caller wants no more of the answer, or has let go of it."""
        if self._settled:
            return
        if self._answer is None or (self._answer.is_ok and not self._answer.is_complete):
            self.broke()
        else:
            self.ended()

    def _settle_used(self, outcome: Outcome, answer: Answer) -> None:
        if answer.tells_error and self.is_open:
            self._observe()
        self._settle(outcome, self._used(answer))

    def _used(self, answer: Answer) -> Tokens:
        """What the answer reports, or else what can be told from what came of it."""
        used, produced_bytes = answer.reported(), answer.produced_bytes()
        if produced_bytes is None or answer.is_complete:
            if used is not None:
                self._estimator.learn(self._call, self._admitted.ask.workload_class, used)
                return used
            if produced_bytes is None:
                return self._estimated()
        produced = self._estimator.output_of(self._call, produced_bytes)
        if self._call.goes_on and not answer.tells_error:
            produced = max(produced, self._admitted.ask.output_tokens)
        if used is None:
            return Tokens(self._admitted.ask.input_tokens, produced)
        return used._replace(output=max(used.output, produced))

    def _estimated(self) -> Tokens:
        return Tokens(self._admitted.ask.input_tokens, self._admitted.ask.output_tokens)

    def _observe(self) -> None:
        assert self._answer is not None, "asked once there is an answer"
        standing = self._answer.standing()
        if standing.says_anything:
            self._gate.observe(self._admitted.ask.pool, standing)

    def _settle(self, outcome: Outcome, used: Tokens) -> None:
        if self._process != os.getpid():
            return  # a forked child has a copy of a call that is its parent's
        with self._once:
            if self._settled:
                return
            self._settled = True
        watch.end(self)
        if self._answer is not None:
            self._answer.forget()
        self._gate.settle(self._admitted, Ending(outcome, used))
