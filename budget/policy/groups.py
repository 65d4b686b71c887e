"""Who may do what by default: policy editors, on-call engineers and viewers."""

from typing import Any

from django.apps import AppConfig
from django.contrib.auth.management import create_permissions
from django.contrib.auth.models import Group, Permission

EDITORS = "policy editors"
ON_CALL = "on-call"
VIEWERS = "viewers"

POLICY = ("pool", "limit", "workloadclass", "reservation")
RECORDS = (
    "policyhistory",
    "call",
    "usageminute",
    "job",
    "jobbatch",
    "callerprocess",
    "awayreport",
    "observation",
)


def create_groups(app_config: AppConfig, **options: Any) -> None:
    """Make the groups after migrate, and give them what is new.

    A group that is missing gets all its permissions; one that exists, here or from the
    project around the app, gets those that this migrate brought. So a new table reaches
    everybody, and what an administrator took from a group stays taken.

    Called before the permissions are made; else none would be new.
    """
    permissions = Permission.objects.using(options["using"]).filter(
        content_type__app_label="budget"
    )
    known = set(permissions.values_list("pk", flat=True))
    create_permissions(app_config, **options)
    views = [f"view_{model}" for model in (*POLICY, *RECORDS)]
    edits = [f"{verb}_{model}" for model in POLICY for verb in ("add", "change", "delete")]
    pauses = ["pause_pool", "pause_workloadclass", "change_job"]  # the last: to cancel one
    rights = {VIEWERS: views, ON_CALL: views + pauses, EDITORS: views + pauses + edits}
    for name, codenames in rights.items():
        group, made = Group.objects.using(options["using"]).get_or_create(name=name)
        wanted = permissions.filter(codename__in=codenames)
        group.permissions.add(*(wanted if made else wanted.exclude(pk__in=known)))
