"""How policy edits are remembered: one append-only event per row and change.

An event keeps the whole row after the change (before it, for a delete), the context its
author gave (user, address or command, reason; stored in the event itself, so that it is as
append-only as the rest) and what the database knows: time, transaction, login role, network
address. Events of one transaction belong together. A TRUNCATE of a policy table is
remembered too, as the deletion of its rows.

Triggers do this as firm triggers (`budget.models.firm`), whatever route an edit takes. What a role
other than the owner can still do to the history depends on its grants; docs/roles.md has
the ones to run the service as. With them

- it can't skip, edit, remove or invent an event, nor what the database says in one;
- it can give any context: user, reason and address are what the service says of its own
  users. Whoever can run SQL as the service's role can name somebody else, and is known by
  the role and its network address alone.

The owner of the tables and superusers can do anything: disable triggers, set
`session_replication_role`, TRUNCATE the events. So run the service as neither.
"""

from collections.abc import Callable
from typing import TypeVar

import pghistory
import pgtrigger
from django.db import models
from pghistory.models import Event

from budget.models.firm import FirmDelete, FirmInsert, FirmProtect, FirmUpdate

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
            FirmInsert(),
            FirmUpdate(),
            FirmDelete(),
            exclude=exclude,
            model_name=f"{model.__name__}Event",
            base_model=PolicyEvent,
            obj_field=pghistory.ObjForeignKey(related_name="+"),
            context_field=pghistory.ContextJSONField(),
            context_id_field=pghistory.ContextUUIDField(),
            append_only=False,
            meta={"triggers": [_append_only()]},
        )(model)

    return track


def _append_only() -> FirmProtect:
    return FirmProtect(name="append_only", operation=pgtrigger.Update | pgtrigger.Delete)
