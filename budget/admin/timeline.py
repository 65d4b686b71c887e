"""The history as a page shows it."""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from django.core.paginator import Paginator
from django.http import HttpRequest
from django.urls import reverse

from budget.policy.history import Change, Scope, change_keys, changes, told
from budget.policy.rows import POLICY, Slugs

PER_PAGE = 50
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)


class Told(NamedTuple):
    """A change in words."""

    change: Change
    lines: list[str]
    revert_url: str


def timeline(request: HttpRequest, scope: Scope) -> dict[str, Any]:
    """Template context: a page of the changes in scope, newest first."""
    page = Paginator(change_keys(scope), PER_PAGE).get_page(request.GET.get("page"))
    return {
        "page": page,
        "told": list(tell(changes(page.object_list, scope))),
        "may_revert": may_revert(request),
    }


def may_revert(request: HttpRequest) -> bool:
    """Whether the user may edit every policy table, since a change may touch them all."""
    return request.user.has_perms([f"budget.change_{kind.label}" for kind in POLICY])


def tell(found: Iterable[Change]) -> Iterable[Told]:
    """Each change in words, with the address that undoes it."""
    slugs = Slugs.ever()
    for change in found:
        at = (change.at - EPOCH) // MICROSECOND
        url = reverse("admin:budget_policyhistory_revert", args=[change.transaction, at])
        yield Told(change, told(change.entries, slugs), url if change.revertible else "")
