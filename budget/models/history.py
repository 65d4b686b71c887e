"""How policy edits are remembered: one append-only event per row and change.

An event keeps the whole row after the change (before it, for a delete), the context
its author gave (user, address or command, reason; stored in the event itself, so that
it is as append-only as the rest) and who the database says did it. Events of one
transaction belong together.

A TRUNCATE of a policy table is remembered too. What bypasses the history: disabling
triggers, `session_replication_role = replica`, and TRUNCATE of the event tables. All three
take the owner of the tables or a superuser, so run the service as a role that is neither.
"""

from collections.abc import Callable
from typing import TypeVar

import pghistory
from django.db import models
from pghistory.models import Event

Model = TypeVar("Model", bound=type[models.Model])


class PolicyEvent(Event):
    """One row's change, with what the database knows about its author."""

    transaction = models.BigIntegerField(
        db_default=models.Func(function="txid_current", output_field=models.BigIntegerField())
    )
    db_role = models.TextField(
        db_default=models.Func(
            function="session_user", template="%(function)s", output_field=models.TextField()
        )
    )
    db_address = models.GenericIPAddressField(
        null=True,
        db_default=models.Func(
            function="inet_client_addr", output_field=models.GenericIPAddressField()
        ),
    )

    class Meta:
        abstract = True

    def __str__(self) -> str:
        return f"{self.pgh_label} {self.pgh_id}"


def remember(exclude: list[str] | None = None) -> Callable[[Model], Model]:
    """Class decorator: every insert, update and delete of the model becomes an event."""

    def track(model: Model) -> Model:
        return pghistory.track(
            pghistory.InsertEvent(),
            pghistory.UpdateEvent(),
            pghistory.DeleteEvent(),
            exclude=exclude,
            model_name=f"{model.__name__}Event",
            base_model=PolicyEvent,
            obj_field=pghistory.ObjForeignKey(related_name="+"),
            context_field=pghistory.ContextJSONField(),
            context_id_field=pghistory.ContextUUIDField(),
            append_only=True,
            level=pghistory.Row,
        )(model)

    return track
