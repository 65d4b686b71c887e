"""What a call will use: from defaults at first, then from what calls like it used."""

import math
import os
import threading
from collections import OrderedDict

from budget.client.call import MOST_TOKENS, Call
from budget.client.past import Past
from budget.providers.tokens import Tokens

BYTES_PER_TOKEN = 3.0
"""Until it is learned. English has about 4 and code 3.3; JSON and other scripts have fewer."""
OUTPUT = 1000
"""Tokens of a choice without a cap, until it is learned."""
ENOUGH = 50
"""Calls from which a reservation is learned."""
MOST_PASTS = 64
"""Models and classes that are remembered, those seen last."""
BYTES_OF_A_TOKEN = (1.0, 12.0)
"""Between which a token's bytes lie, whatever was learned."""

Key = tuple[str, str | None, bool]

_lock = threading.Lock()
if hasattr(os, "register_at_fork"):
    # Nobody may be at work in the moment of a fork: the child would wait for them for ever.
    os.register_at_fork(
        before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_lock.release
    )


class Estimator:
    """Learns from calls what the next will use. Thread-safe, also across forks.

    Calls whose input the request doesn't show, because it goes on with a conversation that the
    provider keeps, are learned like all others: by what calls of their size and class used.
    """

    def __init__(self) -> None:
        self._pasts: OrderedDict[Key, Past] = OrderedDict()

    def estimate(
        self, call: Call, workload_class: str | None, *, counts_cap: bool | None = None
    ) -> Tokens:
        """The tokens to reserve for a call.

        counts_cap: whether the provider's limiter itself counts the caller's cap from the start,
        as OpenAI's and Azure's do; then nothing less is reserved. Unless said, everybody but
        Anthropic is taken to.
        """
        counts_cap = call.api != "messages" if counts_cap is None else counts_cap
        with _lock:
            reserved = self._reserved(call, workload_class, counts_cap)
        return Tokens(*map(_whole, reserved))

    def learn(self, call: Call, workload_class: str | None, used: Tokens) -> None:
        """Take in what a call used that came to its end."""
        if used.input <= 0:
            return
        with _lock:
            for name in {workload_class, None}:
                self._learn(call, name, used)

    def output_of(self, call: Call, produced_bytes: int) -> int:
        """The tokens of text that a call has brought so far."""
        if call.api == "embeddings":
            return 0
        with _lock:
            past = self._known(call, None)
            ratio = BYTES_PER_TOKEN / past.usual_scale() if past else BYTES_PER_TOKEN
        least, most = BYTES_OF_A_TOKEN
        return math.ceil(produced_bytes / min(most, max(least, ratio)))

    def _reserved(
        self, call: Call, workload_class: str | None, counts_cap: bool
    ) -> tuple[float, float]:
        past = self._known(call, workload_class)
        plain, cap = plain_input(call), capped_output(call)
        if past is None:
            return plain, default_output(call) if cap is None else cap
        if call.api == "embeddings":
            return past.input_of(plain), 0
        if cap is not None and counts_cap:
            return past.input_of(plain), cap
        return past.both_of(plain, call.choices, math.inf if cap is None else cap)

    def _learn(self, call: Call, workload_class: str | None, used: Tokens) -> None:
        key = _key(call, workload_class)
        past = self._pasts.pop(key, None) or Past()
        self._pasts[key] = past
        if len(past) >= ENOUGH:
            reserved = past.both_of(plain_input(call), call.choices, math.inf)
            past.correct(sum(map(_whole, reserved)) < used.input + used.output)
        past.add(plain_input(call), used.input, used.output / call.choices)
        if len(self._pasts) > MOST_PASTS:
            self._pasts.popitem(last=False)

    def _known(self, call: Call, workload_class: str | None) -> Past | None:
        """The past of the call's class, or of all of its model's calls; None until enough is."""
        for name in (workload_class, None):
            past = self._pasts.get(_key(call, name))
            if past is not None and len(past) >= ENOUGH:
                return past
        return None


def plain_input(call: Call) -> float:
    """A call's input before anything is learned."""
    text = call.text_bytes / BYTES_PER_TOKEN if call.text_tokens is None else call.text_tokens
    return max(1.0, call.fixed_input_tokens + text)


def capped_output(call: Call) -> int | None:
    """The most that all choices may have; None if the caller sets no bound."""
    if call.api == "embeddings":
        return 0
    return None if call.output_cap is None else call.output_cap * call.choices


def default_output(call: Call) -> int:
    """What is taken as the output of a call without a cap, before anything is learned."""
    return OUTPUT * call.choices


def _whole(tokens: float) -> int:
    """Rounded up, but not for what is left of rounding errors."""
    return math.ceil(round(min(MOST_TOKENS, tokens), 6))


def _key(call: Call, workload_class: str | None) -> Key:
    return f"{call.api} {call.model}", workload_class, call.text_tokens is not None
