"""What the page of a class on a pool shows over time."""

from urllib.parse import urlencode

from budget.dashboard.addresses import sheds_address
from budget.dashboard.figure import Figure, Guide, Series, number
from budget.dashboard.finding import calls_finding, floor_finding, tokens_finding
from budget.dashboard.lineup import Member
from budget.dashboard.past import Past
from budget.dashboard.queue_figures import queue_figures
from budget.dashboard.reasons import in_words
from budget.dashboard.steps import Steps
from budget.dashboard.units import in_a_step, unit_in_words
from budget.models import Pool

FLOOR_USE = {
    "floor_tokens": "from its own floor",
    "borrowed_tokens": "borrowed",
    "lent_tokens": "lent",
}
TOKENS = {"estimated_tokens": "estimated", "used_tokens": "used"}


def class_figures(
    pool: Pool, unit: str | None, steps: Steps, member: Member, past: Past
) -> list[Figure]:
    """In the order of the page; calls without a class have no tokens, floor or queue."""
    if not member.slug:
        return [_calls(pool, steps, member, past)]
    return [
        _calls(pool, steps, member, past),
        _tokens(past),
        _floor(unit, steps, member, past),
        *queue_figures(steps, {member: past}),
    ]


def _calls(pool: Pool, steps: Steps, member: Member, past: Past) -> Figure:
    admitted = Series("admitted", 0, past.counts("admitted"))
    shed = [
        Series(
            in_words(reason),
            n,
            column,
            query=urlencode({"class": member.in_address, "reason": reason}),
        )
        for n, (reason, column) in enumerate(past.shed_for().items(), start=1)
    ]
    return Figure(
        name="calls",
        title="Calls admitted and shed",
        kind="bars",
        unit=f"calls {in_a_step(steps.step)}",
        series=[admitted, *shed],
        sheds=sheds_address(pool),
        finding=calls_finding(
            past.total("offered"), past.total("admitted"), past.reasons, past.would_shed
        ),
    )


def _tokens(past: Past) -> Figure:
    return Figure(
        name="tokens",
        title="Tokens estimated and used",
        kind="lines",
        unit="tokens a minute",
        series=_lines(past, TOKENS),
        finding=tokens_finding(past.total("estimated_tokens"), past.total("used_tokens")),
    )


def _floor(unit: str | None, steps: Steps, member: Member, past: Past) -> Figure:
    unit_words = unit_in_words(unit)
    floors = [policy.per_minute.get(member.slug, 0.0) for policy in steps.policies]
    return Figure(
        name="floor",
        title="Floor used, borrowed and lent",
        kind="lines",
        unit=f"{unit_words} a minute",
        series=_lines(past, FLOOR_USE),
        guides=[Guide("floor", 0, [number(floor) for floor in floors])] if any(floors) else [],
        finding=floor_finding(unit_words, *[past.total(name) for name in FLOOR_USE]),
    )


def _lines(past: Past, names: dict[str, str]) -> list[Series]:
    return [
        Series(words, n, past.per_minute(name)) for n, (name, words) in enumerate(names.items())
    ]
