"""Who may do what by default: policy editors and viewers."""

from typing import Any

from django.apps import AppConfig
from django.contrib.auth.management import create_permissions
from django.contrib.auth.models import Group, Permission

EDITORS = "policy editors"
VIEWERS = "viewers"

POLICY = ("pool", "limit", "workloadclass", "reservation")
RECORDS = ("policyhistory", "call", "usageminute")


def create_groups(app_config: AppConfig, **options: Any) -> None:
    """Make both groups after migrate, with the permissions they lack.

    What an administrator took from an existing group stays taken: a group gets its
    permissions when it is made.
    """
    create_permissions(app_config, **options)
    views = [f"view_{model}" for model in (*POLICY, *RECORDS)]
    edits = [f"{verb}_{model}" for model in POLICY for verb in ("add", "change", "delete")]
    _group(VIEWERS, views, options["using"])
    _group(EDITORS, views + edits, options["using"])


def _group(name: str, codenames: list[str], using: str) -> None:
    group, made = Group.objects.using(using).get_or_create(name=name)
    if made:
        group.permissions.set(
            Permission.objects.using(using).filter(
                content_type__app_label="budget", codename__in=codenames
            )
        )
