"""Triggers that hold for every role but the tables' owner and superusers.

Those of pgtrigger can be switched off by whoever sets `pgtrigger.ignore`, which any role
may. A firm trigger differs from them in its function:

- it asks nobody whether to run;
- it runs with the rights of the tables' owner, so that a role may edit the policy without
  being allowed to write the history or the versions itself;
- it finds its tables in the schema it was made in, so that no temporary table of the same
  name stands in for one of them;
- only the owner may attach it to a table.
"""

from typing import Any

import pghistory
import pgtrigger
from django.db import models
from pghistory.trigger import Event


class FirmSql(pgtrigger.compiler.UpsertTriggerSql):
    """What makes a trigger firm. Migrations refer to it, so its text stays as it is."""

    def get_template(self) -> str:
        """The statements, with a place for each part that pgtrigger works out."""
        return """
            CREATE OR REPLACE FUNCTION {pgid}() RETURNS TRIGGER AS $$
                {declare}
                BEGIN
                    {func}
                END;
            $$ LANGUAGE plpgsql SECURITY DEFINER;
            DO $$ BEGIN EXECUTE format(
                'ALTER FUNCTION {pgid}() SET search_path = %I, pg_temp', current_schema()
            ); END $$;
            REVOKE EXECUTE ON FUNCTION {pgid}() FROM PUBLIC;

            DROP TRIGGER IF EXISTS {pgid} ON {table};
            CREATE {constraint} TRIGGER {pgid}
                {when} {operation} ON {table}
                {timing}
                {referencing}
                FOR EACH {level} {condition}
                EXECUTE PROCEDURE {execute};

            COMMENT ON TRIGGER {pgid} ON {table} IS '{hash}';
        """


class FirmTrigger(pgtrigger.Trigger):
    """A trigger that can't be ignored."""

    def compile(self, model: models.Model) -> pgtrigger.compiler.Trigger:
        """The trigger with a firm function."""
        parts = super().compile(model).sql.kwargs
        parts.pop("ignore_func_name", None)
        return pgtrigger.compiler.Trigger(name=self.name, sql=FirmSql(**parts))


class FirmProtect(FirmTrigger, pgtrigger.Protect):
    """Refuses an operation."""


class FirmEvent(FirmTrigger, Event):
    """Writes an event of the history."""


class _FirmTracker(pghistory.RowEvent):
    def add_event_trigger(self, event_model: Any) -> None:
        event = FirmEvent(
            event_model=event_model,
            label=self.label,
            name=self.trigger_name,
            row=self.row,
            operation=self.operation,
            condition=self.condition,
            level=pghistory.Row,
        )
        pgtrigger.register(event)(event_model.pgh_tracked_model)


class FirmInsert(_FirmTracker, pghistory.InsertEvent):
    """Every insert is an event."""


class FirmUpdate(_FirmTracker, pghistory.UpdateEvent):
    """Every update that changes a tracked field is an event."""


class FirmDelete(_FirmTracker, pghistory.DeleteEvent):
    """Every delete is an event."""
