"""What the page of a class on a pool shows over time."""

from budget.dashboard.addresses import sheds_address
from budget.dashboard.figure import Figure, Series
from budget.dashboard.finding import calls_finding, floor_finding, tokens_finding
from budget.dashboard.lineup import Member
from budget.dashboard.past import Past
from budget.dashboard.pool_figures import floor_guide
from budget.dashboard.queue_figures import queue_figures
from budget.dashboard.refusals import ORDER
from budget.dashboard.shed_series import shed_series
from budget.dashboard.steps import Steps
from budget.dashboard.units import in_a_step, offers_in_words, unit_in_words
from budget.models import Pool

FLOOR_USE = {
    "floor_tokens": "from its own floor",
    "borrowed_tokens": "borrowed",
    "lent_tokens": "lent",
}
TOKENS = {"estimated_tokens": "estimated", "used_tokens": "used"}
EXPIRED = 13
"""How expired jobs are drawn: after all reasons."""
COLOURS = 8
"""Of places; the first is that of the admitted alone."""


def class_figures(
    pool: Pool, unit: str | None, steps: Steps, member: Member, past: Past
) -> list[Figure]:
    """In the order of the page; untagged calls have no tokens, floor or queue."""
    if not member.slug:
        return [_calls(pool, steps, member, past)]
    return [
        _calls(pool, steps, member, past),
        _tokens(member, past),
        _floor(pool, unit, steps, member, past),
        *queue_figures(steps, {member: past}),
    ]


def _calls(pool: Pool, steps: Steps, member: Member, past: Past) -> Figure:
    noun = offers_in_words([member.queued])
    return Figure(
        name="calls",
        title=f"{noun.capitalize()} admitted and shed",
        kind="bars",
        unit=f"{noun} {in_a_step(steps.step)}",
        series=[
            *_admitted(member, past),
            *[shed_series(member, _place(r), past.shed.columns[r], r) for r in past.shed.counts],
            *_expired(past),
        ],
        sheds=sheds_address(pool),
        finding=calls_finding(
            noun,
            past.total("offered"),
            past.total("admitted"),
            past.shed.counts,
            past.would_shed.counts,
            past.total("expired"),
        ),
    )


def _admitted(member: Member, past: Past) -> list[Series]:
    """What would be shed if the pool enforced stands upon what would be admitted all the same."""
    would = past.would_shed
    if not would.total:
        return [Series("admitted", 0, past.counts("admitted"))]
    columns = zip(past.counts("admitted"), would.column, strict=True)
    sure = [None if n is None else max(0, n - (spared or 0)) for n, spared in columns]
    return [
        Series("admitted in any case", 0, sure),
        *[shed_series(member, _place(r), would.columns[r], r, True) for r in would.counts],
    ]


def _place(reason: str) -> int:
    """From 1 on, the same however frequent it is; strange reasons look alike, and come last."""
    known = ORDER.get(reason)
    return EXPIRED + 1 if known is None else 1 + known + known // (COLOURS - 1)


def _expired(past: Past) -> list[Series]:
    return [Series("expired", EXPIRED, past.counts("expired"))] if past.total("expired") else []


def _tokens(member: Member, past: Past) -> Figure:
    return Figure(
        name="tokens",
        title="Tokens estimated and used",
        kind="lines",
        unit="tokens a minute",
        series=_lines(past, TOKENS),
        finding=tokens_finding(
            offers_in_words([member.queued]),
            past.total("estimated_tokens"),
            past.total("used_tokens"),
        ),
    )


def _floor(pool: Pool, unit: str | None, steps: Steps, member: Member, past: Past) -> Figure:
    unit_words = unit_in_words(unit)
    floor = floor_guide(pool, steps, member, "floor")._replace(place=0)
    return Figure(
        name="floor",
        title="Floor used, borrowed and lent",
        kind="lines",
        unit=f"{unit_words} a minute, as estimated",
        series=_lines(past, FLOOR_USE),
        guides=[floor] if any(floor.values) else [],
        finding=floor_finding(unit_words, *[past.total(name) for name in FLOOR_USE]),
    )


def _lines(past: Past, names: dict[str, str]) -> list[Series]:
    return [
        Series(words, n, past.per_minute(past.counts(name)))
        for n, (name, words) in enumerate(names.items())
    ]
