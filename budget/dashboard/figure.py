"""What a figure shows, as its page and its live updates carry it."""

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

from budget.dashboard.sentence import Sentence

Value = float | None
Kind = Literal["stack", "bars", "lines"]


class Series(NamedTuple):
    """One number per step; None where nothing is known."""

    name: str
    place: int
    """Which of the ways to draw: colour, pattern, dashes."""
    values: list[Value]
    query: str = ""
    """What it adds to the address of the sheds of a step; empty if it counts no sheds."""
    would_be: bool = False
    """Whether it counts what would be shed, to be drawn lighter."""


class Guide(NamedTuple):
    """A line to compare with. Floors stand on those of stricter classes."""

    name: str
    place: int | None
    """That of the class whose floor it is; None for a limit."""
    values: list[Value]
    nominal: bool = False
    """Whether it is a floor that moves with demand, of which only the share is known."""


class Figure(NamedTuple):
    """Series over time, with what they say in words."""

    name: str
    title: str
    kind: Kind
    unit: str
    """What the numbers count, after a number: `tokens a minute`."""
    series: list[Series]
    finding: Sentence
    guides: Sequence[Guide] = ()
    sheds: str = ""
    """Address of the sheds behind it; empty if none are."""

    def as_json(self, linked: bool) -> dict[str, Any]:
        """All that a chart needs; the address of its sheds only if it is to be linked."""
        return {
            "name": self.name,
            "title": self.title,
            "kind": self.kind,
            "unit": self.unit,
            "sheds": self.sheds if linked else "",
            "series": [series._asdict() for series in self.series],
            "guides": [guide._asdict() for guide in self.guides],
        }

    def tail(self, n: int) -> list[list[Value]]:
        """The values from step `n` on, of series and guides in order."""
        return [values[n:] for _, values in self.lines]

    @property
    def lines(self) -> list[tuple[str, list[Value]]]:
        """Names and values of the series, then of the guides."""
        return [(series.name, series.values) for series in self.series] + [
            (guide.name, guide.values) for guide in self.guides
        ]


def number(amount: float) -> float:
    """As a figure says it: whole from 10 on, with two decimals below."""
    if isinstance(amount, int):
        return amount
    return round(amount) if abs(amount) >= 10 or amount == round(amount) else round(amount, 2)
