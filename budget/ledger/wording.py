"""Refusals in words, for people."""

from budget.rule.decision import Decision, Standing
from budget.rule.dequeue import Queue
from budget.rule.idle import largest_calls
from budget.rule.terms import PoolTerms

NEVER = {
    "paused": "Nothing is admitted until it is resumed.",
    "untagged": "Name one.",
    "deadline_unmeetable": "",
    "never_fits": "Make it smaller.",
}
"""What there is to say, by reason, where no time to try again can be named."""


SPEND_CAP = "The pool is paused: the provider says that the account's spend cap is reached."


def refusal_in_words(terms: PoolTerms, decision: Decision, spend_cap_reached: bool = False) -> str:
    """One or two sentences: why the call is shed, with the numbers that decided."""
    capped = spend_cap_reached and terms.paused and decision.reason == "paused"
    words = f"{SPEND_CAP if capped else _why(terms, decision)} {_when(decision)}"
    return words.strip()


def with_last(error: str, last: str) -> str:
    """Why a job ended, with what its last attempt came to, if it had one."""
    return f"{error} Last: {last}" if last else error


def refused_place_in_words(terms: PoolTerms, decision: Decision, queue: Queue, tokens: int) -> str:
    """One or two sentences: why a job of so many tokens gets no place in its queue."""
    assert decision.workload_class is not None, "every job has a class"
    member = terms.classes[decision.workload_class]
    match decision.reason:
        case "paused":
            why = f"Class {member.slug} is draining: it takes no new jobs until it is resumed."
        case "queue_full":
            bounds = " and ".join(
                f"{bound:,} {unit}"
                for bound, unit in ((member.queue_limit, "jobs"), (member.queue_tokens, "tokens"))
                if bound is not None
            )
            why = (
                f"The queue of {member.slug} is full: {queue.depth:,} jobs with {queue.tokens:,} "
                f"tokens wait, and {bounds} may."
            )
        case "deadline_unmeetable":
            took = queue.service.value
            why = (
                f"Jobs of class {member.slug} take {took:,.1f} s, longer than the deadline leaves."
            )
        case "never_fits" if decision.limit is None:
            return (
                f"The job's {tokens:,} tokens are more than the whole queue of {member.slug} "
                f"takes: {member.queue_tokens:,}."
            )
        case _:
            why = _why(terms, decision)
    return f"{why} {_when(decision)}".strip()


def _why(terms: PoolTerms, decision: Decision) -> str:
    c = decision.workload_class
    slug = "" if c is None else terms.classes[c].slug
    match decision.reason:
        case "paused":
            return f"{f'Class {slug}' if slug and not terms.paused else 'The pool'} is paused."
        case "untagged":
            return "The call names no workload class, and the pool sheds such calls."
        case "deadline_unmeetable":
            return "The deadline of the call has passed."
        case "provider_backoff":
            return f"The provider asked for a pause in calls of class {slug}."
        case "never_fits" if c is not None and decision.limit is not None:
            largest = largest_calls(terms)[c][terms.limit_index[decision.limit]]
            return (
                f"A call of class {slug} may cost at most {largest:,.0f} of {decision.limit} "
                "even on an idle pool."
            )
    numbers = next((n for n in decision.standings if n.limit == decision.limit), None)
    return "" if numbers is None else _short(slug, decision, numbers)


def _short(slug: str, decision: Decision, numbers: Standing) -> str:
    cost = f"It costs {numbers.cost:,} of {numbers.limit}"
    match decision.reason:
        case "yielding":
            spent = 100 * numbers.interactive_floors_spent
            return f"Class {slug} yields: {spent:.0f} % of the interactive floors are spent."
        case "ceiling":
            left = numbers.ceiling_left or 0.0
            return f"{cost}; the ceiling of class {slug} leaves {left:,.0f}."
        case "floor_protected":
            kept = ", ".join(
                f"{part:,.0f} for {owner}" for owner, part in numbers.protected.items()
            )
            return f"{cost}; of {numbers.available:,.0f} available, floors keep {kept}."
        case "headroom":
            return (
                f"{cost}; {max(0.0, numbers.free):,.0f} are free, and {numbers.headroom:,.0f} "
                "must stay free as headroom for stricter classes."
            )
    return f"{cost}; {max(0.0, numbers.available):,.0f} are available."


def _when(decision: Decision) -> str:
    if decision.retry_after_ms is None:
        return NEVER.get(decision.reason or "", "It cannot be admitted before its deadline.")
    return f"Try again in {decision.retry_after_ms / 1000:,.3f} s."
