"""By what sheds are grouped, and what it means to look into one group."""

from typing import NamedTuple

from budget.dashboard.lineup import UNTAGGED
from budget.dashboard.reasons import in_words
from budget.dashboard.sheds.filters import IN_PROCESS, BadFilter, Filters, Tag, checked

GROUPINGS = {
    "source": "Source",
    "class": "Class",
    "reason": "Reason",
    "key": "API key",
    "tag": "Tag",
    "time": "Time",
}
"""By name in addresses: how pages call it. By `tag:name` the values of one tag are told apart."""
OF_TAG = "tag:"


class Grouping(NamedTuple):
    """A way to group sheds."""

    by: str = "source"
    tag: str = ""
    """Whose values are told apart; empty for all other ways."""

    def __str__(self) -> str:
        """As an address has it."""
        return f"{OF_TAG}{self.tag}" if self.tag else self.by

    @property
    def heading(self) -> str:
        """What stands above the names of the groups."""
        return f"Tag {self.tag}" if self.tag else GROUPINGS[self.by]

    def words(self, name: str) -> str:
        """A group's name as pages write it."""
        if self.by == "reason":
            return in_words(name)
        nameless = {"source": "without a source", "class": UNTAGGED, "key": IN_PROCESS}
        return name or nameless.get(self.by, "empty")

    def into(self, name: str, filters: Filters) -> tuple[Filters, "Grouping"]:
        """What to ask for to see one group alone, and how to group that."""
        match self.by:
            case "source":
                return filters._replace(source=name), Grouping("class")
            case "class":
                return filters._replace(workload_class=name), Grouping()
            case "reason":
                return filters._replace(reason=name), Grouping()
            case "key":
                return filters._replace(key=name), Grouping()
        if self.tag:
            return _with_tag(filters, Tag(self.tag, name)), Grouping()
        return _with_tag(filters, Tag(name)), Grouping("tag", name)


def grouping_of(text: str | None) -> Grouping:
    """The grouping that an address names; by source unless it names one. Raises BadFilter."""
    if not text:
        return Grouping()
    if text.startswith(OF_TAG) and len(text) > len(OF_TAG):
        return Grouping("tag", checked("group", text.removeprefix(OF_TAG)))
    if text not in GROUPINGS:
        raise BadFilter(f"group: use one of {', '.join(GROUPINGS)}, or {OF_TAG}name.")
    return Grouping(text)


def _with_tag(filters: Filters, tag: Tag) -> Filters:
    """A certain value takes the place of any."""
    others = (other for other in filters.tags if other not in (tag, Tag(tag.name)))
    return filters._replace(tags=(*others, tag))
