"""Random policies and random days on them, for hypothesis.

Strategies draw plain numbers and are built once; pure functions turn the numbers into a
valid policy. Building strategies while drawing made drawing the slowest part of a test.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st
from msgspec.structs import replace

from budget.rule.terms import (
    ALGORITHMS,
    SECOND,
    TIERS,
    UNITS,
    ClassTerms,
    LimitTerms,
    PoolTerms,
    strictness,
)

START = 1_700_000_000 * SECOND
HUGE = 10**12
SLUGS = ("adjuster", "chat", "rescore", "triage", "nightly")
MONTH = 30 * 86_400 * SECOND


@dataclass(frozen=True)
class Offered:
    """A call comes in; tokens in thousandths of the smallest token capacity, or HUGE."""

    caller: int | None
    """Position of its class, modulo how many there are; None for an untagged call."""
    input_share: int
    output_share: int
    patience: int
    """Microseconds until its deadline; may be negative."""
    same_key: bool = False
    """Whether it comes back under the key of its class's last call."""


@dataclass(frozen=True)
class Settled:
    """An open lease ends; `used` in percent of its estimate, None where it never left."""

    lease: int
    used: int | None


@dataclass(frozen=True)
class Expired:
    """An open lease runs out; it may still be settled later."""

    lease: int


@dataclass(frozen=True)
class BackedOff:
    """The provider asks for no calls of a class for a while."""

    caller: int
    span: int


@dataclass(frozen=True)
class Edited:
    """The owner saves another policy."""

    terms: PoolTerms


@dataclass(frozen=True)
class Step:
    """What happens, and how long after the last thing."""

    after: int
    event: Offered | Settled | Expired | BackedOff | Edited


@dataclass(frozen=True)
class Day:
    """A policy and what happens under it."""

    terms: PoolTerms
    steps: tuple[Step, ...]


# policies


def limits(algorithms: Iterable[str] = ALGORITHMS) -> st.SearchStrategy[tuple[LimitTerms, ...]]:
    """One to four limits with names of their own."""
    limit = st.builds(
        _limit,
        st.sampled_from([(unit, algorithm) for algorithm in algorithms for unit in UNITS]),
        st.integers(1, 10**6),
        st.sampled_from((60, 1, 7, 3600, 86_400)),
        st.sampled_from((25.0, 100.0, 1.0, 10.0, 150.0)),
    )
    return st.lists(limit, min_size=1, max_size=4, unique_by=lambda limit: limit.name).map(tuple)


def _limit(name: tuple[str, str], amount: int, period: int, burst: float) -> LimitTerms:
    unit, algorithm = name
    return LimitTerms(
        unit=unit,  # type: ignore[arg-type]
        algorithm=algorithm,  # type: ignore[arg-type]
        amount=2 + amount % 40 if unit == "requests" else amount,
        per_seconds=period,
        burst_percent=max(burst, 50.0) if unit == "requests" else burst,
    )


@dataclass(frozen=True)
class Wish:
    """A class before its terms are made to fit those of the others."""

    tier: str
    minutes: int
    share: int
    lendable: float
    headroom: int
    ceiling: int
    yields_above: float | None
    excepted: int
    """Bit d switches the floor off on limit d."""
    paused: bool


WISHES = st.lists(
    st.builds(
        Wish,
        tier=st.sampled_from(TIERS),
        minutes=st.integers(1, 60),
        share=st.integers(0, 70),
        lendable=st.sampled_from((0.0, 0.7, 1.0, 0.25)),
        headroom=st.sampled_from((0, 5, 10, 40)),
        ceiling=st.sampled_from((100, 100, 100, 60, 30)),
        yields_above=st.sampled_from((None, None, 0.8, 0.1, 1.0)),
        excepted=st.sampled_from((0, 0, 0, 1, 2, 5)),
        paused=st.sampled_from((False,) * 19 + (True,)),
    ),
    min_size=1,
    max_size=len(SLUGS),
)


def policies(
    *, plain: bool = False, algorithms: Iterable[str] = ALGORITHMS
) -> st.SearchStrategy[PoolTerms]:
    """Valid policies of one pool; `plain`: enforced, no ceilings, yielding or pausing."""
    if plain:
        return st.builds(_policy, limits(algorithms), WISHES).map(_made_plain)
    modes = st.sampled_from(("enforce",) * 9 + ("observe",))
    paused = st.sampled_from((False,) * 49 + (True,))
    return st.builds(_policy, limits(algorithms), WISHES, modes, paused)


def _policy(
    chosen: tuple[LimitTerms, ...], wishes: list[Wish], mode: str = "enforce", paused: bool = False
) -> PoolTerms:
    left, headroom, members = 100, 0, []
    wishes = sorted(wishes, key=lambda wish: (TIERS.index(wish.tier), wish.minutes))
    for slug, wish in zip(SLUGS, wishes, strict=False):
        share = min(wish.share, left)
        left -= share
        headroom = max(headroom, wish.headroom)
        members.append(_member(slug, wish, share, headroom, chosen))
    members.sort(key=strictness)
    for c, member in enumerate(members):
        loosest = max(other.headroom for other in members[: c + 1])
        members[c] = replace(member, headroom=loosest)
    return PoolTerms(
        slug="claims",
        version=1,
        limits=chosen,
        classes=tuple(members),
        mode=mode,  # type: ignore[arg-type]
        paused=paused,
    )


def _member(
    slug: str, wish: Wish, share: int, headroom: int, chosen: tuple[LimitTerms, ...]
) -> ClassTerms:
    return ClassTerms(
        slug=slug,
        tier=wish.tier,  # type: ignore[arg-type]
        deadline=wish.minutes * 60 * SECOND,
        paused=wish.paused,
        share=share / 100,
        lendable=wish.lendable,
        headroom=headroom / 100,
        ceiling=max(wish.ceiling, share) / 100,
        yields_above=wish.yields_above,
        except_limits=_excepted(wish.excepted, chosen),
    )


def _excepted(bits: int, chosen: tuple[LimitTerms, ...]) -> tuple[str, ...]:
    return tuple(limit.name for d, limit in enumerate(chosen) if bits >> d & 1)


def _made_plain(terms: PoolTerms) -> PoolTerms:
    members = tuple(
        replace(member, ceiling=1.0, yields_above=None, paused=False) for member in terms.classes
    )
    return replace(terms, classes=members)


# edits


@dataclass(frozen=True)
class EditWish:
    """An edit before it is fitted to the policy it changes."""

    kept: int
    """Bit d keeps limit d as it is."""
    limits: tuple[LimitTerms, ...]
    """Limits that are new, or resize one that has their name."""
    rotation: int
    """By how many places the shares move on among the classes."""
    excepted: int


EDIT_WISHES = st.builds(
    EditWish,
    kept=st.integers(0, 15),
    limits=limits(),
    rotation=st.integers(0, 4),
    excepted=st.sampled_from((0, 0, 1, 2)),
)


def _edited(old: PoolTerms, wish: EditWish) -> PoolTerms:
    kept = [limit for d, limit in enumerate(old.limits) if wish.kept >> d & 1]
    resized = [_with_period_of(old, limit) for limit in wish.limits]
    by_name = {limit.name: limit for limit in [*kept, *resized]}
    chosen = tuple(by_name.values())[:4]
    places = len(old.classes)
    shares = [old.classes[(c + wish.rotation) % places].share for c in range(places)]
    members = tuple(
        replace(
            member,
            share=share,
            ceiling=max(member.ceiling, share),
            except_limits=_excepted(wish.excepted, chosen),
        )
        for member, share in zip(old.classes, shares, strict=True)
    )
    return replace(old, version=old.version + 1, limits=chosen, classes=members)


def _with_period_of(old: PoolTerms, limit: LimitTerms) -> LimitTerms:
    """A window keeps its period: what was charged when can't be told apart to the slot."""
    d = old.limit_index.get(limit.name)
    if d is None or limit.algorithm != "sliding_window":
        return limit
    return replace(limit, per_seconds=old.limits[d].per_seconds)


# days

SPANS = st.one_of(
    st.integers(0, 999),
    st.integers(1, 2 * SECOND),
    st.integers(1, 70).map(lambda seconds: seconds * SECOND),
    st.integers(1, 2 * 3600 * SECOND),
)
"""From nothing over microseconds to hours."""

SIZES = st.one_of(
    st.integers(0, 300),
    st.integers(0, 300),
    st.integers(0, 700),
    st.sampled_from((0, 0, 100, 200, 300, 1200, HUGE)),
)


def offers(*, untagged: bool = True) -> st.SearchStrategy[Offered]:
    """Mostly calls of a size that matters, now and then empty or hopeless ones."""
    places: tuple[int | None, ...] = (0, 1, 2, 3, 4) * 5
    return st.builds(
        Offered,
        caller=st.sampled_from((*places, None) if untagged else places),
        input_share=SIZES,
        output_share=SIZES,
        patience=st.sampled_from((*[MONTH] * 10, 3600 * SECOND, 60 * SECOND, SECOND, 0, -1)),
        same_key=st.booleans(),
    )


def settles(*, overruns: bool = True) -> st.SearchStrategy[Settled]:
    """Mostly under-use; overruns and calls that never left too."""
    percents = (0, 1, 10, 25, 50, 50, 75, 90, 99, 100, None)
    used = st.sampled_from((*percents, 101, 150, 300) if overruns else percents)
    return st.builds(Settled, lease=st.integers(0, 20), used=used)


def days(
    *,
    plain: bool = False,
    editing: bool = True,
    overruns: bool = True,
    algorithms: Iterable[str] = ALGORITHMS,
    shortest: int = 1,
    longest: int = 16,
) -> st.SearchStrategy[Day]:
    """A policy, and offers, settles, expiries and edits with time passing between them."""
    events: list[st.SearchStrategy[Any]] = [offers(untagged=not plain) for _ in range(8)]
    events += [settles(overruns=overruns) for _ in range(3)]
    events.append(st.builds(Expired, lease=st.integers(0, 20)))
    if not plain:
        events.append(
            st.builds(BackedOff, caller=st.integers(0, 4), span=st.integers(1, 90 * SECOND))
        )
    if editing:
        events.append(EDIT_WISHES)
    steps = st.lists(st.tuples(SPANS, st.one_of(events)), min_size=shortest, max_size=longest)
    return st.builds(_day, policies(plain=plain, algorithms=algorithms), steps)


def _day(terms: PoolTerms, drawn: list[tuple[int, Any]]) -> Day:
    """Fit each edit to the policy that stands when it comes."""
    current, steps = terms, []
    for after, event in drawn:
        if isinstance(event, EditWish):
            current = _edited(current, event)
            event = Edited(current)
        steps.append(Step(after, event))
    return Day(terms, tuple(steps))
