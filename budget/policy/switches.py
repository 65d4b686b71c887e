"""Switches: what an on-call engineer turns in one step, in the admin or by a command."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from django.db.models import QuerySet

from budget.models.choices import Mode
from budget.policy.history import Change, Entry
from budget.policy.rows import POLICY

ON_CALL = frozenset({"pause", "drain", "resume"})
"""Verbs for which the right to pause is enough; the others take the right to change."""


class Switch(NamedTuple):
    """What it sets, and how it is called."""

    label: str
    values: Mapping[str, Any]
    effect: str
    done: str

    def suits(self, row: Any) -> bool:
        """Whether it would change something about a row."""
        return any(getattr(row, field) != value for field, value in self.values.items())

    def turn(self, rows: QuerySet[Any]) -> str:
        """Set it where it isn't so yet; what there is to say about it."""
        others = rows.exclude(**self.values)
        names = ", ".join(str(row) for row in others)
        # Of two who turn it at once, the second changes nothing.
        if not names or not others.update(**self.values):
            return ""
        return f"{self.done}: {names}. {self.effect}"

    def turned(self, row: Any) -> Change | None:
        """The change since which a row stands as this switch sets it; None if it doesn't.

        Tells its author, time and reason; what else the change did is left out.
        """
        if self.suits(row):
            return None
        kind = next(kind for kind in POLICY if isinstance(row, kind.model))
        events = kind.events.objects.filter(pgh_obj_id=row.pk)
        before = events.exclude(**self.values).order_by("-pgh_id").values("pgh_id").first()
        since = events.filter(pgh_id__gt=before["pgh_id"] if before else 0)
        event = since.order_by("pgh_id").first()
        if event is None:
            return None
        return Change(event.pgh_created_at, event.transaction, [Entry(kind, event, None)])


UNCHANGED = "Nothing was changed: it was so already."

POOL_SWITCHES: Mapping[str, Switch] = {
    "pause": Switch(
        "Pause",
        {"paused": True},
        "Every call is shed until it is resumed; jobs wait, new ones too.",
        "Paused",
    ),
    "resume": Switch(
        "Resume", {"paused": False}, "Calls are decided by the policy again.", "Resumed"
    ),
    "observe": Switch(
        "Observe",
        {"mode": Mode.OBSERVE},
        "Every call is admitted; what would have been shed is recorded.",
        "Observing",
    ),
    "enforce": Switch(
        "Enforce", {"mode": Mode.ENFORCE}, "Calls that don't fit are shed.", "Enforcing"
    ),
}
CLASS_SWITCHES: Mapping[str, Switch] = {
    "pause": POOL_SWITCHES["pause"],
    "drain": Switch(
        "Drain",
        {"draining": True},
        "It takes no new jobs; those that wait are still run.",
        "Draining",
    ),
    "resume": Switch(
        "Resume",
        {"paused": False, "draining": False},
        "Calls are decided by the policy again, and new jobs are taken.",
        "Resumed",
    ),
}
