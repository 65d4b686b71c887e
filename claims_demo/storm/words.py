"""Figures as words."""

import math

NOT_KNOWN = "–"


def in_number(count: int | None) -> str:
    """`1,234`, or a dash for what isn't known."""
    return NOT_KNOWN if count is None else f"{count:,}"


def in_seconds(milliseconds: float | None) -> str:
    """`0.8 s`, or a dash for what isn't known."""
    return NOT_KNOWN if milliseconds is None else f"{milliseconds / 1000:.1f} s"


def in_percent(percent: float | None) -> str:
    """`34 %`, where a few are never none and nearly all never all."""
    if percent is None:
        return NOT_KNOWN
    return f"{max(1, math.floor(percent)) if percent > 0 else 0} %"
