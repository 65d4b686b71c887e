"""Who may enter the demo: one account for each way to use it, and the keys of its services."""

import secrets
from typing import NamedTuple

import pghistory
from django.contrib.auth.models import Group, Permission, User
from django.db import transaction

from budget.models import ApiKey, Pool

GROUPS = {
    "demo-editor": "policy editors",
    "demo-viewer": "viewers",
    "demo-oncall": "on-call",
    "demo-adjuster": "",
}
"""By account, the group whose rights it has; without one it sees claims and nothing else."""
PERMISSIONS = {"demo-editor": ["classify_claims"]}
"""On the claims platform, beyond what everybody may."""
KEY_NAME = "demo: everything"


class Account(NamedTuple):
    """An account with a password nobody can look up later."""

    username: str
    group: str
    password: str


def demo_accounts() -> list[Account]:
    """The demo's accounts, each with a new password; made when missing."""
    return [_account(username, group) for username, group in GROUPS.items()]


def demo_key(pool: str) -> str:
    """A new API key for the pool and all classes; the one of an earlier demo ends."""
    with transaction.atomic(), pghistory.context(command="make demo", reason="demo key"):
        ApiKey.objects.filter(name=KEY_NAME).delete()
        record = ApiKey(name=KEY_NAME, all_classes=True, all_pools=False)
        key = ApiKey.objects.assign_key(record)
        record.save()
        record.pools.set(Pool.objects.filter(slug=pool))
    return str(key)


@transaction.atomic
def _account(username: str, group: str) -> Account:
    password = secrets.token_urlsafe(12)
    user, _ = User.objects.get_or_create(username=username)
    user.is_active, user.is_staff = True, bool(group)
    user.set_password(password)
    user.save()
    user.groups.set(Group.objects.filter(name=group))
    user.user_permissions.set(
        Permission.objects.filter(
            content_type__app_label="claims_demo", codename__in=PERMISSIONS.get(username, [])
        )
    )
    return Account(username, group, password)
