"""What is wrong with a policy as a whole, before anyone is admitted by it."""

from collections.abc import Iterator
from typing import NamedTuple

from budget.rule.idle import largest_calls
from budget.rule.terms import PoolTerms

ROUNDING = 1e-9
"""Fractions come from percentages with two decimals."""


class Problem(NamedTuple):
    """One fault: who it concerns, which field, and what to do about it."""

    owner: str
    """Slug of the class whose reservation it is; empty when it concerns the whole pool."""
    field: str
    """Name of the field in the policy file and the admin, such as `share_percent`."""
    message: str


def problems(terms: PoolTerms) -> list[Problem]:
    """Every fault of a pool's policy, in the order in which an owner would mend them."""
    return [
        *_shares(terms),
        *_ceilings(terms),
        *_headrooms(terms),
        *_exceptions(terms),
        *_largest_calls(terms),
        *_largest_batch_calls(terms),
    ]


def _shares(terms: PoolTerms) -> list[Problem]:
    total = sum([member.share for member in terms.classes])
    if total <= 1 + ROUNDING:
        return []
    shares = " + ".join(
        f"{member.slug} {_percent(member.share)}" for member in terms.classes if member.share
    )
    message = (
        f"Shares add up to {_percent(total)} ({shares}). "
        f"Lower some by {_percent(total - 1)} in all, so that they are at most 100 %."
    )
    return [Problem("", "share_percent", message)]


def _ceilings(terms: PoolTerms) -> list[Problem]:
    return [
        Problem(
            member.slug,
            "ceiling_percent",
            f"The ceiling of {member.slug}, {_percent(member.ceiling)}, is below its share, "
            f"{_percent(member.share)}. Raise the ceiling or lower the share.",
        )
        for member in terms.classes
        if member.ceiling < member.share - ROUNDING
    ]


def _headrooms(terms: PoolTerms) -> list[Problem]:
    found = []
    for stricter, looser in zip(terms.classes, terms.classes[1:], strict=False):
        if looser.headroom < stricter.headroom - ROUNDING:
            found.append(
                Problem(
                    looser.slug,
                    "headroom_percent",
                    f"The headroom of {looser.slug}, {_percent(looser.headroom)}, is below that "
                    f"of the stricter {stricter.slug}, {_percent(stricter.headroom)}, so "
                    f"{stricter.slug} would be shed first. Raise it to at least that.",
                )
            )
    return found


def _exceptions(terms: PoolTerms) -> list[Problem]:
    names = ", ".join(terms.limit_index) or "none"
    return [
        Problem(
            member.slug,
            "except_limits",
            f"The pool has no limit {name}. Name one of its limits: {names}.",
        )
        for member in terms.classes
        for name in member.except_limits
        if name not in terms.limit_index
    ]


def _largest_calls(terms: PoolTerms) -> list[Problem]:
    remedy = "this share or the ceiling, lower other shares, or lower the class's max_call_tokens."
    return [
        Problem(
            slug,
            "share_percent",
            f"On {misfit}. Raise the limit's amount or burst, {remedy}",
        )
        for slug, misfit in _misfits(terms)
    ]


def _largest_batch_calls(terms: PoolTerms) -> list[Problem]:
    """Only bulk jobs go to the batch endpoint, and nobody has a floor there."""
    if terms.batch is None:
        return []
    bulk = {member.slug for member in terms.classes if member.tier == "bulk"}
    remedy = "Raise the limit's amount or burst, or lower the class's max_call_tokens."
    return [
        Problem(slug, "batch", f"On the batch endpoint's {misfit}. {remedy}")
        for slug, misfit in _misfits(terms.at_endpoint)
        if slug in bulk
    ]


def _misfits(terms: PoolTerms) -> Iterator[tuple[str, str]]:
    """Classes that can't make one request, or their largest call in tokens, on some limit.

    A class without a reservation was not meant for this pool by its owner, and is not judged.
    """
    for c, member in enumerate(terms.classes):
        if not member.reserved:
            continue
        for limit, largest in zip(terms.limits, largest_calls(terms)[c], strict=True):
            counts_calls = limit.unit == "requests"
            needed = 1 if counts_calls else member.max_call_tokens
            if largest < needed - ROUNDING:
                asked = "one request" if counts_calls else f"its max_call_tokens of {needed:,}"
                yield (
                    member.slug,
                    f"{limit.name} the largest that fits of {member.slug} is "
                    f"{largest:,.10g}, less than {asked}",
                )


def _percent(fraction: float) -> str:
    return f"{fraction * 100:.10g} %"
