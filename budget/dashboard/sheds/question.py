"""What a page of sheds is asked: which time, which sheds, grouped how."""

import re
from datetime import datetime
from typing import NamedTuple
from urllib.parse import parse_qsl, urlencode

from django.http import QueryDict

from budget.dashboard.sheds.filters import BadFilter, Filters, Pairs, filters_of
from budget.dashboard.sheds.grouping import Grouping, grouping_of
from budget.dashboard.span import Span, span_between, span_of
from budget.ledger.clock import micros, moment


class Question(NamedTuple):
    """All that the address of such a page says, but for the place in the list of entries."""

    span: Span
    filters: Filters
    grouping: Grouping
    until: datetime | None = None
    """Only what came before this moment, to the microsecond; None for all of the time."""

    @property
    def query(self) -> str:
        """What an address says to ask the same."""
        return urlencode([*self.time, *self.rest])

    @property
    def time(self) -> Pairs:
        """The part of it that says which time."""
        until = [] if self.until is None else [("until", str(micros(self.until)))]
        return [*parse_qsl(self.span.query), *until]

    @property
    def rest(self) -> Pairs:
        """The same without the time."""
        default = self.grouping == Grouping()
        return [*self.filters.pairs, *([] if default else [("group", str(self.grouping))])]

    @property
    def fixed(self) -> "Question":
        """The same about this very time, also later."""
        return self.within(self.span.start, self.span.end)._replace(until=self.until)

    def within(self, start: datetime, end: datetime) -> "Question":
        """The same about another time, all of it."""
        return self._replace(span=span_between(start, end), until=None)


def question_of(query: QueryDict) -> Question:
    """What an address asks. Raises BadSpan, BadFilter; blank fields of a form don't count."""
    said = {name: text for name, text in query.items() if text}
    return Question(
        span_of({name: str(text) for name, text in said.items()}),
        filters_of(query),
        grouping_of(query.get("group")),
        _until(query.get("until")),
    )


def _until(text: str | None) -> datetime | None:
    if not text:
        return None
    if not re.fullmatch(r"[0-9]{1,17}", text, re.ASCII):
        raise BadFilter("until: leave it out to see the newest, then follow the link to earlier.")
    return moment(int(text))
