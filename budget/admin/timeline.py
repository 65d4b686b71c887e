"""The history as a page shows it."""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from django.core.paginator import Paginator
from django.http import HttpRequest
from django.urls import reverse

from budget.ledger.clock import micros
from budget.pages.versions import versions_of
from budget.policy.history import (
    EVERYTHING,
    THE_POLICY,
    Change,
    Scope,
    change_keys,
    changes,
    told,
)
from budget.policy.rows import POLICY, Slugs

PER_PAGE = 50
VERBS = ("add", "change", "delete")


class Told(NamedTuple):
    """A change in words."""

    change: Change
    lines: list[str]
    versions: list[tuple[str, int]]
    """The policy version that it led to, by the pool's name."""
    url: str
    """The page of this change alone."""
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
    """Whether the user may edit anything; which rights an undo takes, its page knows."""
    edits = (f"budget.{verb}_{kind.label}" for verb in VERBS for kind in POLICY)
    return request.user.has_perm("budget.view_policyhistory") and any(
        request.user.has_perm(edit) for edit in edits
    )


def visible(request: HttpRequest) -> Scope:
    """The part of the history the user may see: API keys are for those who may see keys."""
    return EVERYTHING if request.user.has_perm("budget.view_apikey") else THE_POLICY


def tell(found: Sequence[Change]) -> Iterable[Told]:
    """Each change in words, with its address and the one that undoes it; newest first."""
    slugs = Slugs.ever()
    for change, versions in zip(found, versions_of(found), strict=True):
        key = [change.transaction, micros(change.at)]
        url = reverse("admin:budget_policyhistory_entry", args=key)
        undo = reverse("admin:budget_policyhistory_revert", args=key) if change.revertible else ""
        led_to = sorted((slugs.pools.get(pool, ""), version) for pool, version in versions.items())
        yield Told(change, told(change.entries, slugs), led_to, url, undo)
