"""What would have had to be different for a shed call to be admitted, in words.

Each answer ends the sentence "It would have been admitted …".
"""

from math import ceil, floor

from budget.models import Call
from budget.pages.call import in_time, units
from budget.pages.limits import limit_in_words
from budget.pages.percents import exact_percent
from budget.pages.places import is_refused_place, place_remedies
from budget.pages.revision import Revision
from budget.rule.decision import TOLERANCE
from budget.rule.idle import largest_calls
from budget.rule.remedies import BEFORE, Change, Numbers, Way, unit_of, ways
from budget.rule.terms import PoolTerms

LIFTED = {
    "paused": "had it not been paused",
    "provider_backoff": "had the provider not asked for a pause",
    "deadline_unmeetable": "had it come before its deadline",
}
AT_WORK = "had no stricter class been at work in the 30 s before"
PASSING = frozenset(
    {"provider_backoff", "yielding", "ceiling", "pool_exhausted", "floor_protected", "headroom"}
)
"""Reasons that time alone removes."""


def remedies(call: Call, revision: Revision) -> list[str]:
    """What would have let the call in; empty for an admitted one, or if nobody can say."""
    if is_refused_place(call):
        return place_remedies(call)
    if not call.reason or not call.standings:
        return []
    numbers = numbers_of(call, revision)
    told = (_Way(numbers, revision, call.workload_class).told(way) for way in ways(numbers))
    return [words for words in (*told, _later(call, numbers)) if words]


def numbers_of(call: Call, revision: Revision) -> Numbers:
    """What the decision rested on, as far as it was kept."""
    before = next((reason for reason in BEFORE if reason == call.reason), None)
    if before is None and call.deadline <= call.offered_at:
        # A call too large for the pool is told so first.
        before = "deadline_unmeetable"
    terms, member = revision.terms, revision.member(call.workload_class)
    if terms is None or member is None:
        return Numbers(tuple(call.standings), before)
    most = largest_calls(terms)[terms.class_index[member.slug]]
    return Numbers(
        standings=tuple(call.standings),
        before=before,
        yields_above=member.yields_above,
        largest={limit.name: largest for limit, largest in zip(terms.limits, most, strict=True)},
    )


def _later(call: Call, numbers: Numbers) -> str:
    if call.retry_after_ms is None or call.reason not in PASSING:
        return ""
    wait = in_time(call.retry_after_ms)
    gauge = any(n.limit.endswith("/gauge") and n.shortfall > TOLERANCE for n in numbers.standings)
    about = ", as far as calls under way take their usual time" if gauge else ""
    return f"{wait} later{about}, had nobody called meanwhile but those told to come back"


class _Way:
    """Puts the changes of one way into words; None where the policy couldn't have held them."""

    def __init__(self, numbers: Numbers, revision: Revision, slug: str) -> None:
        self._numbers = numbers
        self._periods = revision.periods
        self._terms = revision.terms
        self._member = revision.member(slug)

    def told(self, way: Way) -> str | None:
        """All changes, which are needed together."""
        parts = [self._change(change) for change in way]
        return None if None in parts else ", and ".join(part for part in parts if part)

    def _change(self, change: Change) -> str | None:
        amount = change.amount or 0.0
        match change.what:
            case "reason":
                return LIFTED[change.where]
            case "cost":
                return self._smaller(change.where, int(amount))
            case "own_floor":
                return self._own_floor(change.where, amount)
            case "protected":
                return self._less_protected(change.where, amount)
            case "headroom":
                return self._less_headroom(change.where, amount)
            case "ceiling":
                return self._higher_ceiling(change.where, amount)
        return self._yields_later(change.amount)

    def _smaller(self, unit: str, most: int) -> str:
        cost = next(n.cost for n in self._numbers.standings if unit_of(n.limit) == unit)
        name = unit.replace("_", " ")
        return f"with {units(cost - most)} fewer {name}: {units(most)} instead of {units(cost)}"

    def _own_floor(self, limit: str, amount: float) -> str | None:
        left = f"with {units(amount)} of an own floor left on {self._name(limit)}"
        if self._terms is None or self._member is None:
            return left
        capacity, member = self._capacity(self._terms, limit), self._member
        had = 0.0 if limit in member.except_limits else member.share
        if had * capacity >= amount - TOLERANCE:
            spent = units(self._numbers.of(limit).own_floor)
            return f"{left}, which holds {units(had * capacity)} when unspent and had {spent}"
        needed = ceil(amount / capacity * 10_000 - TOLERANCE) / 10_000
        others = sum(other.share for other in self._terms.classes if other is not member)
        if needed > min(1 - others, member.ceiling) + TOLERANCE or limit in member.except_limits:
            return None
        share = f"a share of at least {exact_percent(needed)} instead of {exact_percent(had)}"
        return f"{left}: {share}, neither spent nor lent"

    def _less_protected(self, limit: str, amount: float) -> str:
        numbers = self._numbers.of(limit)
        kept = numbers.available - numbers.free
        return (
            f"had floors kept at most {units(floor(amount))} of {self._name(limit)} for others "
            f"instead of {units(kept)}"
        )

    def _less_headroom(self, limit: str, amount: float) -> str:
        if self._member is None:
            return AT_WORK
        kept = self._numbers.of(limit).headroom
        most = floor(self._member.headroom * amount / kept * 10_000 + TOLERANCE) / 10_000
        if most <= 0:
            return AT_WORK
        had = exact_percent(self._member.headroom)
        return f"with a headroom of at most {exact_percent(most)} instead of {had}, or {AT_WORK}"

    def _higher_ceiling(self, limit: str, amount: float) -> str:
        if self._terms is None or self._member is None:
            return "with a higher ceiling"
        left = self._numbers.of(limit).ceiling_left or 0.0
        had = self._member.ceiling
        more = (amount - left) / self._capacity(self._terms, limit)
        needed = ceil((had + more) * 10_000 - TOLERANCE) / 10_000
        if needed >= 1:
            return f"without its ceiling of {exact_percent(had)}"
        return f"with a ceiling of {exact_percent(needed)} instead of {exact_percent(had)}"

    def _yields_later(self, bound: float | None) -> str:
        if bound is None or self._member is None:
            return "had its class not yielded to the interactive ones"
        had = self._member.yields_above or 0.0
        needed = ceil(bound * 10_000 - TOLERANCE) / 10_000
        return (
            f"had its class yielded above {exact_percent(needed)} instead of {exact_percent(had)}"
        )

    def _name(self, limit: str) -> str:
        return limit_in_words(limit, self._periods)

    @staticmethod
    def _capacity(terms: PoolTerms, limit: str) -> float:
        return terms.limits[terms.limit_index[limit]].capacity
