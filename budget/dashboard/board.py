"""All that a page shows of a pool, or of one class on it, in a stretch of time."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any, NamedTuple
from zlib import crc32

from budget import services
from budget.dashboard.away import AwayRow, away_rows
from budget.dashboard.class_figures import class_figures
from budget.dashboard.figure import Figure
from budget.dashboard.leaks import Leaks, leaks_of, lowered
from budget.dashboard.levels import Level, levels, still_lowered
from budget.dashboard.lineup import Member, line_up
from budget.dashboard.past import Past
from budget.dashboard.policy_rows import PolicyRows
from budget.dashboard.pool_figures import pool_figures
from budget.dashboard.rows import Row, pool_states, row_of
from budget.dashboard.span import Span
from budget.dashboard.steps import Steps
from budget.dashboard.untagged import Untagged, untagged_in
from budget.models import Pool
from budget.services import UsageHistory

DAY = timedelta(days=1)


class Board(NamedTuple):
    """Figures, the table below them, and what holds now."""

    span: Span
    steps: Steps
    figures: list[Figure]
    rows: list[Row]
    levels: list[Level]
    leaks: Leaks | None
    """None for one class: nobody knows whose they were."""
    away: list[AwayRow]
    """Empty for one class."""
    untagged: Untagged
    states: list[str]
    """Of the pool: paused, and its mode."""
    version: int
    """Of the policy."""

    @property
    def empty(self) -> bool:
        """Whether nothing at all is known of the time."""
        return self.steps.first is None

    @property
    def form(self) -> str:
        """How its moments are written: with the day where there is more than one."""
        return "time" if self.span.end - self.span.start <= DAY else "moment"

    @property
    def exact_form(self) -> str:
        """The same to the second."""
        return "second" if self.form == "time" else "full"

    @property
    def shape(self) -> str:
        """Changes when lines or rows come or go, and not when only their numbers move on."""
        drawn = [
            (f.name, [(s.name, s.place) for s in f.series], [(g.name, g.place) for g in f.guides])
            for f in self.figures
        ]
        rows = [row.member.name for row in self.rows]
        limits = [
            (level.name, [floor.name for floor in level.floors], level.lowered_at)
            for level in self.levels
        ]
        leaks = self.leaks and self.leaks.times
        away = [row.calls for row in self.away]
        return f"{crc32(repr((self.empty, drawn, rows, limits, leaks, away)).encode()):x}"


def board_of(policy: PolicyRows, span: Span, slug: str | None = None) -> Board:
    """The board of a pool, or of one class on it. Raises BudgetError."""
    pool = policy.pool
    history = services.usage_history(pool.slug, span.start, span.end, span.step)
    view = history.now
    steps = Steps(history)
    _add_queues_now(history, steps)
    pasts = {
        member: Past(steps, history.classes.get(member.slug))
        for member in line_up(policy, history, also=slug)
        if slug in (None, member.slug)
    }
    allowed = sum(allowance or 0 for allowance in history.allowance)
    return Board(
        span,
        steps,
        _figures(pool, history, steps, pasts, slug),
        [row_of(m, past, allowed, view["classes"].get(m.slug)) for m, past in pasts.items()],
        _levels(pool, history, slug),
        leaks_of(pool, span.start, span.end) if slug is None else None,
        away_rows(policy, span) if slug is None else [],
        untagged_in(history),
        pool_states(view),
        view["policy_version"],
    )


def _figures(
    pool: Pool,
    history: UsageHistory,
    steps: Steps,
    pasts: Mapping[Member, Past],
    slug: str | None,
) -> list[Figure]:
    if slug is None:
        return pool_figures(pool, history, steps, pasts)
    ((member, past),) = pasts.items()
    return class_figures(pool, history.unit, steps, member, past)


def _levels(pool: Pool, history: UsageHistory, slug: str | None) -> list[Level]:
    """As they are now, and since when those that a leak lowered are."""
    view, now = history.now, history.at
    since = dict(still_lowered(pool, view, lowered(pool, now - DAY), now))
    return [
        level._replace(lowered_at=since.get(level.name)) for level in levels(pool, view, only=slug)
    ]


def _add_queues_now(history: UsageHistory, steps: Steps) -> None:
    """Let the step that goes on have the queues as they are: it has no end of a minute yet."""
    if steps.open is None:
        return
    for slug, past in history.classes.items():
        now = history.now["classes"].get(slug)
        if now is not None and (now["depth"] or _known(past.columns["queue_depth"])):
            _raise(past.columns["queue_depth"], steps.open, now["depth"])
            _raise(past.columns["oldest_wait_seconds"], steps.open, now["oldest_wait_seconds"] or 0)


def _known(column: list[Any]) -> bool:
    return any(value is not None for value in column)


def _raise(column: list[Any], n: int, value: float) -> None:
    column[n] = max(column[n] or 0, value)
