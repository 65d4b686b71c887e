"""What a page of sheds is asked: which time, which sheds, grouped how."""

from datetime import datetime
from typing import NamedTuple
from urllib.parse import urlencode

from django.http import QueryDict

from budget.dashboard.sheds.filters import Filters, Pairs, filters_of
from budget.dashboard.sheds.grouping import Grouping, grouping_of
from budget.dashboard.span import Span, span_between, span_of


class Question(NamedTuple):
    """All that the address of such a page says, but for the place in the list of entries."""

    span: Span
    filters: Filters
    grouping: Grouping

    @property
    def query(self) -> str:
        """What an address says to ask the same."""
        return f"{self.span.query}&{urlencode(self.rest)}".rstrip("&")

    @property
    def rest(self) -> Pairs:
        """The same without the time."""
        default = self.grouping == Grouping()
        return [*self.filters.pairs, *([] if default else [("group", str(self.grouping))])]

    @property
    def fixed(self) -> "Question":
        """The same about this very time, also later."""
        return self.within(self.span.start, self.span.end)

    def within(self, start: datetime, end: datetime) -> "Question":
        """The same about another time."""
        return self._replace(span=span_between(start, end))


def question_of(query: QueryDict) -> Question:
    """What an address asks. Raises BadSpan, BadFilter; blank fields of a form don't count."""
    said = {name: text for name, text in query.items() if text}
    return Question(
        span_of({name: str(text) for name, text in said.items()}),
        filters_of(query),
        grouping_of(query.get("group")),
    )
