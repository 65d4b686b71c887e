"""Where pools and classes stand now: live figures beside what can be edited."""

from typing import Any, NamedTuple

from budget import services
from budget.ledger.errors import BudgetError
from budget.models import Pool
from budget.pages.limits import limit_in_words, periods_of
from budget.pages.percents import exact_percent, percent
from budget.policy.stored import stored_terms
from budget.rule.idle import largest_calls, reach
from budget.rule.terms import LimitTerms, PoolTerms


class ClassStanding(NamedTuple):
    """One class on one limit, in the limit's unit; percentages 0 to 100."""

    slug: str
    share_percent: float
    floor: float
    """What its floor holds when full."""
    effective: float | None
    reach_percent: float
    largest_fit: float
    """The largest single call that could ever be admitted."""

    @property
    def share(self) -> str:
        """In words."""
        return exact_percent(self.share_percent / 100)

    @property
    def reach(self) -> str:
        """In words."""
        return percent(self.reach_percent)


class LimitStanding(NamedTuple):
    """One limit with what is left of it now; None when the ledger doesn't answer."""

    terms: LimitTerms
    available: float | None
    classes: list[ClassStanding]
    """Empty for a limit of the batch endpoint, which has no floors."""
    of_batch: bool = False

    @property
    def name(self) -> str:
        """In words."""
        return limit_in_words(self.terms.name, periods_of([self.terms]), self.of_batch)

    @property
    def used_percent(self) -> float | None:
        """How much of the capacity is taken; more than all of it while in debt."""
        if self.available is None:
            return None
        return 100 * (1 - self.available / self.terms.capacity)

    @property
    def used(self) -> str:
        """The same in words; empty if nobody knows."""
        return "" if self.used_percent is None else percent(max(0.0, self.used_percent))

    @property
    def free(self) -> float | None:
        """What is available beyond all effective floors, and so promised to nobody."""
        floors = [own.effective for own in self.classes if own.effective is not None]
        if self.available is None or not floors:
            return None
        return max(0.0, self.available - sum(floors))


def standings(pool: Pool) -> list[LimitStanding]:
    """Every limit of a pool with every class's part in it, the leading limit first.

    Those of the batch endpoint come last.
    """
    terms = stored_terms(pool)
    view = _live(pool.slug)
    live, of_batch = _by_name(view, "limits"), _by_name(view, "batch_limits")
    order = sorted(range(len(terms.limits)), key=lambda d: d != terms.leading)
    return [_limit_standing(terms, d, live.get(terms.limits[d].name, {})) for d in order] + [
        LimitStanding(limit, of_batch.get(limit.name, {}).get("available"), [], of_batch=True)
        for limit in (terms.batch.limits if terms.batch else ())
    ]


def _limit_standing(terms: PoolTerms, d: int, live: dict[str, Any]) -> LimitStanding:
    classes = [_class_standing(terms, c, d, live) for c in range(len(terms.classes))]
    return LimitStanding(terms.limits[d], live.get("available"), classes)


def _class_standing(terms: PoolTerms, c: int, d: int, live: dict[str, Any]) -> ClassStanding:
    member, limit = terms.classes[c], terms.limits[d]
    share = 0.0 if limit.name in member.except_limits else member.share
    floors = live.get("floors", {}).get(member.slug, {})
    return ClassStanding(
        member.slug,
        share * 100,
        share * limit.capacity,
        floors.get("effective"),
        round(reach(terms, c, d) * 100, 6),
        max(0.0, largest_calls(terms)[c][d]),
    )


def _live(slug: str) -> dict[str, Any]:
    """The ledger's view of a pool; nothing if it doesn't answer."""
    try:
        return services.pool_view(slug)
    except BudgetError:
        return {}


def _by_name(view: dict[str, Any], part: str) -> dict[str, Any]:
    return {f"{limit['unit']}/{limit['algorithm']}": limit for limit in view.get(part, ())}


class PoolStanding(NamedTuple):
    """One class on one limit of one pool."""

    pool: Pool
    limit: LimitStanding
    own: ClassStanding


def standings_of(slug: str) -> list[PoolStanding]:
    """Where a class stands on every limit of every pool."""
    return [
        PoolStanding(pool, limit, own)
        for pool in Pool.objects.select_related("untagged_class")
        for limit in standings(pool)
        for own in limit.classes
        if own.slug == slug
    ]
