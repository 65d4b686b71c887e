"""From rows to the terms the rule reads. Pure: it looks at what it is given, saved or not."""

from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Literal, TypeVar, cast

import msgspec

from budget.models.pool import Limit, Pool
from budget.models.workload import Reservation, WorkloadClass
from budget.rule.terms import SECOND, BatchTerms, ClassTerms, PoolTerms, Tier, strictness

Default = TypeVar("Default")

LENDABLE: Mapping[Tier, float] = {"interactive": 0.0, "near_line": 0.7, "bulk": 1.0}
"""How much of an unspent floor stricter classes may take, unless the reservation says."""
HEADROOM: Mapping[Tier, float] = {"interactive": 0.0, "near_line": 0.05, "bulk": 0.10}
"""Part of the unreserved capacity left free for stricter classes, unless the reservation says."""


def pool_terms(
    pool: Pool,
    limits: Iterable[Limit],
    reservations: Iterable[Reservation],
    classes: Iterable[WorkloadClass],
    version: int,
) -> PoolTerms:
    """The whole policy of one pool, every class included, strictest first.

    `reservations` and `pool` need their `workload_class` and `untagged_class` at hand.
    """
    reserved = {row.workload_class.slug: row for row in reservations}
    limits = sorted(limits, key=lambda row: row.terms.name)
    terms = sorted((_class_terms(row, reserved.get(row.slug)) for row in classes), key=strictness)
    return PoolTerms(
        slug=pool.slug,
        version=version,
        provider=pool.provider,
        mode=cast(Literal["enforce", "observe"], pool.mode),
        paused=pool.paused,
        untagged=pool.untagged_class.slug if pool.untagged_class else None,
        strategies=pool.strategies,
        limits=tuple(row.terms for row in limits if not row.of_batch),
        classes=_with_implied_headroom(terms, reserved),
        batch=_batch_terms(pool, limits) if pool.batch else None,
    )


def _batch_terms(pool: Pool, limits: Iterable[Limit]) -> BatchTerms:
    return BatchTerms(
        limits=tuple(row.terms for row in limits if row.of_batch),
        max_requests=pool.batch_max_requests,
        max_bytes=pool.batch_max_bytes,
        collect_seconds=pool.batch_collect_seconds,
        window=pool.batch_window_hours * 3600 * SECOND,
    )


def _class_terms(row: WorkloadClass, reserved: Reservation | None) -> ClassTerms:
    reservation = reserved or Reservation()
    tier = cast(Tier, row.tier)
    return ClassTerms(
        slug=row.slug,
        tier=tier,
        deadline=row.deadline_seconds * SECOND,
        paused=row.paused,
        reserved=reserved is not None,
        share=_fraction(reservation.share_percent, 0.0),
        lendable=_fraction(reservation.lendable_percent, LENDABLE[tier]),
        headroom=_fraction(reservation.headroom_percent, HEADROOM[tier]),
        ceiling=_fraction(reservation.ceiling_percent, 1.0),
        weight=float(reservation.weight),
        yields_above=_fraction(reservation.yields_above_percent, None),
        except_limits=tuple(reservation.except_limits),
        max_call_time=row.max_call_seconds * SECOND,
        max_call_tokens=row.max_call_tokens,
        draining=row.draining,
        queue_limit=row.queue_limit,
        queue_tokens=row.queue_tokens,
        max_attempts=row.max_attempts,
    )


def _with_implied_headroom(
    classes: list[ClassTerms], reserved: Mapping[str, Reservation]
) -> tuple[ClassTerms, ...]:
    """Fit classes without a reservation between their reserved neighbours.

    Headroom must not fall with looseness, and nobody chose theirs: it is the default of
    the tier, but no less than any stricter and no more than any looser reserved class has.
    """
    return tuple(
        terms
        if terms.slug in reserved
        else _replace_headroom(
            terms,
            least=max([c.headroom for c in classes[:position] if c.slug in reserved], default=0.0),
            most=min([c.headroom for c in classes[position:] if c.slug in reserved], default=1.0),
        )
        for position, terms in enumerate(classes)
    )


def _replace_headroom(terms: ClassTerms, least: float, most: float) -> ClassTerms:
    headroom = min(max(terms.headroom, least), max(least, most))
    return msgspec.structs.replace(terms, headroom=headroom)


def _fraction(percent: Decimal | None, default: Default) -> float | Default:
    return default if percent is None else float(percent) / 100
