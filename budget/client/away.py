"""Decides on calls while the service is away, as the policy owner chose for their class."""

import logging
import math
import threading
from collections.abc import Callable, Mapping

from budget.client.book import Book, Line
from budget.client.local import LocalFloor
from budget.client.refusal import LIMITED
from budget.client.terms import ClassTerms, Terms
from budget.client.verdict import Admitted, Ask, Choice, Ending, Refused, Verdict
from budget.providers import Tokens, counted

logger = logging.getLogger("budget.client")

AGAIN_MS = 1000
"""When to come back, if all that can be said is that the service may be back by then."""


class Away:
    """Knows each pool's last terms, and keeps this process's part of every class's floor.

    A pool whose terms were never heard of has the choice `unknown` for every class: a limiter
    that fails must not open the gate by itself.
    """

    def __init__(self, book: Book, unknown: Choice = "shed") -> None:
        if unknown not in ("admit", "shed"):
            raise ValueError(f"when_unavailable: {unknown!r}; write admit or shed.")
        self.book = book
        self._unknown: Choice = unknown
        self._terms: dict[str, Terms] = {}
        self._floors: dict[tuple[str, str], LocalFloor] = {}
        self._guard = threading.Lock()
        self._said: set[Line] = set()

    def heir(self, book: Book) -> "Away":
        """As much as a forked child may go on with: the terms, and shares of its own."""
        heir = Away(book, self._unknown)
        heir._terms = dict(self._terms)
        return heir

    def learn(self, pool: str, terms: Terms) -> None:
        """Take in a pool's present terms. The service is there, so an outage is over."""
        with self._guard:
            self._terms[pool] = terms
            for (of, slug), floor in list(self._floors.items()):
                if of == pool and slug in terms.classes:
                    floor.resize(terms, slug)
                elif of == pool:
                    del self._floors[of, slug]
            self._said = {line for line in self._said if line[0] != pool}

    def knows(self, pool: str) -> bool:
        """Whether the pool's terms were ever heard of."""
        return pool in self._terms

    def decide(self, ask: Ask) -> Verdict:
        """The decision on a call that nobody else can decide on."""
        terms = self._terms.get(ask.pool)
        slug = ask.workload_class or (terms.untagged if terms else None)
        member = terms.classes.get(slug) if terms and slug else None
        if terms is None:
            return self._chosen(ask, self._unknown, "its policy isn't known here yet")
        if slug is None:
            return self._untagged(ask)
        if member is None:
            return self._shed(ask, "shed", "the class isn't known here")
        if member.paused:
            return self._shed(ask, member.when_unavailable, "the class is paused")
        if member.when_unavailable == "local":
            return self._locally(ask, terms, slug, member)
        return self._chosen(ask, member.when_unavailable, "so its class's policy says")

    def settle(self, admitted: Admitted, ending: Ending) -> None:
        """Take in how a call ended that was admitted here."""
        ask = admitted.ask
        assert admitted.away is not None, "only such calls are settled here"
        if ending.outcome not in ("cancelled", "rate_limited"):
            line = (ask.pool, ask.workload_class, admitted.away)
            self.book.used(line, ending.used, _estimated(ask))
        terms = self._terms.get(ask.pool)
        floor = self._floors.get((ask.pool, ask.workload_class or (terms and terms.untagged) or ""))
        if admitted.away == "local" and terms is not None and floor is not None:
            floor.release(_costs(terms, ask))

    def _locally(self, ask: Ask, terms: Terms, slug: str, member: ClassTerms) -> Verdict:
        with self._guard:
            floor = self._floors.get((ask.pool, slug))
            if floor is None:
                floor = self._floors[ask.pool, slug] = LocalFloor(terms, slug)
        wait = floor.wait_for(_costs(terms, ask))
        if wait is None:
            return self._admitted(ask, "local", "within this process's part of the class's floor")
        again = AGAIN_MS if math.isinf(wait) else math.ceil(1000 * wait)
        return self._shed(
            ask, "local", "this process's part of the class's floor is used up", again
        )

    def _chosen(self, ask: Ask, choice: Choice, why: str) -> Verdict:
        decide: Callable[[Ask, Choice, str], Verdict] = (
            self._admitted if choice == "admit" else self._shed
        )
        return decide(ask, choice, why)

    def _admitted(self, ask: Ask, choice: Choice, why: str) -> Verdict:
        self.book.admitted(self._say(ask, choice, "admitted", why), _estimated(ask))
        return Admitted(None, ask, away=choice)

    def _shed(self, ask: Ask, choice: Choice, why: str, again_ms: int = AGAIN_MS) -> Verdict:
        self.book.shed(self._say(ask, choice, "shed", why))
        detail = f"The budget service can't be reached, and the call was shed: {why}."
        return Refused(ask, LIMITED, "away", detail, max(1, again_ms))

    def _untagged(self, ask: Ask) -> Verdict:
        self.book.shed(self._say(ask, "shed", "shed", "it names no workload class"))
        return Refused(ask, LIMITED, "untagged", "The call names no workload class. Name one.")

    def _say(self, ask: Ask, choice: Choice, decision: str, why: str) -> Line:
        """Log the first call of each line in an outage; the others are counted."""
        line = (ask.pool, ask.workload_class, choice)
        if line not in self._said:
            self._said.add(line)
            name = ask.workload_class or "untagged"
            logger.warning(
                "The budget service is away. A call of %s to %s was %s: %s.",
                name,
                ask.pool,
                decision,
                why,
            )
        return line


def _estimated(ask: Ask) -> Tokens:
    return Tokens(ask.input_tokens, ask.output_tokens)


def _costs(terms: Terms, ask: Ask) -> Mapping[str, int]:
    """What a call costs by unit, as the pool's provider counts."""
    tokens = counted(terms.provider, _estimated(ask))
    return {
        "requests": 1,
        "input_tokens": tokens.input,
        "output_tokens": tokens.output,
        "total_tokens": tokens.input + tokens.output,
    }
