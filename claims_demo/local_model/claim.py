"""A claim as the local model reads it out of its prompt."""

import re
from dataclasses import dataclass

FIELD = re.compile(r"^([A-Z][A-Za-z ]+): (.+)$", re.MULTILINE)
EVENT = re.compile(r"^- (\d{4}-\d{2}-\d{2}) \d{2}:\d{2} (\w+): (.+)$", re.MULTILINE)


@dataclass(frozen=True)
class Event:
    """A line of what happened."""

    day: str
    kind: str
    text: str


@dataclass(frozen=True)
class ReadClaim:
    """What the prompt says of the claim."""

    fields: dict[str, str]
    events: list[Event]

    @classmethod
    def in_prompt(cls, prompt: str) -> "ReadClaim":
        """Lines it doesn't know are passed over."""
        fields = dict(reversed(FIELD.findall(prompt)))  # the first of a name counts
        return cls(fields, [Event(*found) for found in EVENT.findall(prompt)])

    def field(self, name: str) -> str:
        """Empty if the prompt has none of that name."""
        return self.fields.get(name, "")

    @property
    def euros(self) -> int:
        """What is asked for."""
        return int("0" + re.sub(r"\D", "", self.field("Asked for")))

    @property
    def text(self) -> str:
        """Everything that was told about it."""
        return " ".join([self.field("Description"), *(event.text for event in self.events)])

    def last(self, kind: str) -> Event | None:
        """The newest event of a kind."""
        return next((event for event in reversed(self.events) if event.kind == kind), None)
