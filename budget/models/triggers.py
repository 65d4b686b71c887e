"""What the database itself does on every policy edit, whichever route the edit takes.

Two SQL functions from the first migration do the shared part:
`budget_raise_version(pools)` gives existing pools the next policy version, and by that
holds their version rows until commit, so edits of one pool follow one another;
`budget_check_shares(pool)` refuses shares that add up to more than 100 %.
"""

import pgtrigger
from django.apps import apps
from django.db import models

from budget.models.firm import FirmTrigger

ALL_POOLS = "ARRAY(SELECT id FROM budget_pool)"


def raise_version(changed_pools: str) -> list[FirmTrigger]:
    """Triggers that raise the policy version of `changed_pools`, an SQL array over NEW and OLD.

    An update that changes nothing raises no version. TRUNCATE raises that of every pool.
    """
    return [
        FirmTrigger(
            name="raise_version",
            when=pgtrigger.After,
            operation=pgtrigger.Insert | pgtrigger.Update | pgtrigger.Delete,
            func=f"""
                IF TG_OP <> 'UPDATE' OR OLD IS DISTINCT FROM NEW THEN
                    PERFORM budget_raise_version({changed_pools});
                END IF;
                RETURN NULL;
            """,
        ),
        FirmTrigger(
            name="raise_version_truncate",
            level=pgtrigger.Statement,
            when=pgtrigger.After,
            operation=pgtrigger.Truncate,
            func=f"PERFORM budget_raise_version({ALL_POOLS}); RETURN NULL;",
        ),
    ]


def pool_lifecycle() -> list[FirmTrigger]:
    """A new pool gets its lock row; a deleted one loses its version and is unknown from then on."""
    return [
        FirmTrigger(
            name="add_lock_row",
            when=pgtrigger.After,
            operation=pgtrigger.Insert,
            func="""
                INSERT INTO budget_poollock (pool_id) VALUES (NEW.id) ON CONFLICT DO NOTHING;
                RETURN NULL;
            """,
        ),
        FirmTrigger(
            name="forget_version",
            when=pgtrigger.After,
            operation=pgtrigger.Delete,
            func="DELETE FROM budget_policyversion WHERE pool_id = OLD.id; RETURN NULL;",
        ),
        FirmTrigger(
            name="forget_version_truncate",
            level=pgtrigger.Statement,
            when=pgtrigger.After,
            operation=pgtrigger.Truncate,
            func="DELETE FROM budget_policyversion; RETURN NULL;",
        ),
    ]


def shares_within_pool() -> FirmTrigger:
    """Refuses at commit what would reserve more than 100 % of a pool.

    The version row is held by then, so a concurrent edit has either committed and is
    seen by the sum, or waits for this one.
    """
    return FirmTrigger(
        name="shares_within_pool",
        when=pgtrigger.After,
        operation=pgtrigger.Insert | pgtrigger.Update,
        timing=pgtrigger.Deferred,
        func="PERFORM budget_check_shares(NEW.pool_id); RETURN NULL;",
    )


def fixed_slug() -> FirmTrigger:
    """Callers and stored calls name the row by its slug, so it never changes."""
    return FirmTrigger(
        name="fixed_slug",
        when=pgtrigger.Before,
        operation=pgtrigger.Update,
        condition=pgtrigger.AnyChange("slug"),
        func="""
            RAISE EXCEPTION 'The slug % is fixed: add a row with the new one instead.', OLD.slug
            USING ERRCODE = 'check_violation', CONSTRAINT = 'budget_fixed_slug';
        """,
    )


class RecordTruncate(FirmTrigger):
    """Writes a delete event for every row that a TRUNCATE is about to remove."""

    name = "record_truncate"
    level = pgtrigger.Statement
    when = pgtrigger.Before
    operation = pgtrigger.Truncate

    def get_func(self, model: type[models.Model]) -> str:  # type: ignore[override]
        """The INSERT ... SELECT into the model's event table."""
        event = apps.get_model(model._meta.app_label, f"{model._meta.object_name}Event")
        tracked = {field.name for field in model._meta.concrete_fields}
        values = {
            field.column: f'"{field.column}"'
            for field in event._meta.concrete_fields
            if field.name in tracked
        } | {
            "pgh_created_at": "now()",
            "pgh_label": "'delete'",
            "pgh_obj_id": f'"{model._meta.pk.column}"',
            "pgh_context": "nullif(current_setting('pghistory.context_metadata', true), '')::jsonb",
            "pgh_context_id": "nullif(current_setting('pghistory.context_id', true), '')::uuid",
        }
        columns = ", ".join(f'"{column}"' for column in values)
        return self.format_sql(f"""
            INSERT INTO "{event._meta.db_table}" ({columns})
            SELECT {", ".join(values.values())} FROM "{model._meta.db_table}";
            RETURN NULL;
        """)
