"""The policy version that a call was decided by."""

from datetime import datetime
from typing import NamedTuple

import msgspec

from budget.jobs.words import span
from budget.models import Call, PolicyRevision
from budget.pages.limits import Periods, periods_of
from budget.pages.percents import exact_percent
from budget.rule.terms import SECOND, ClassTerms, PoolTerms


class Revision(NamedTuple):
    """What is known of a policy version."""

    version: int
    since: datetime | None = None
    """When a change of the policy made it; None if the ledger kept nothing of it."""
    terms: PoolTerms | None = None
    """What it said, as far as this version of the program can read it."""

    @property
    def periods(self) -> Periods:
        """Of its limits, as far as they are known."""
        return {} if self.terms is None else periods_of(self.terms.limits)

    def member(self, slug: str) -> ClassTerms | None:
        """A class with its terms."""
        if self.terms is None or slug not in self.terms.class_index:
            return None
        return self.terms.classes[self.terms.class_index[slug]]


def revision_of(call: Call) -> Revision:
    """The version by which a call was decided; a batch's call by the terms of its endpoint."""
    kept = PolicyRevision.objects.filter(pool_id=call.pool_id, version=call.policy_version).first()
    if kept is None:
        return Revision(call.policy_version)
    try:
        terms = msgspec.convert(kept.terms, PoolTerms)
    except msgspec.ValidationError:
        return Revision(kept.version, kept.changed_at)
    if call.of_batch and terms.batch is not None:
        terms = terms.at_endpoint
    return Revision(kept.version, kept.changed_at, terms)


def terms_in_words(member: ClassTerms) -> list[tuple[str, str]]:
    """What a class's terms were, by name."""
    yields = "never" if member.yields_above is None else exact_percent(member.yields_above)
    return [
        ("Tier", member.tier.replace("_", "-")),
        ("Deadline", span(member.deadline / SECOND)),
        ("Share", exact_percent(member.share) if member.reserved else "no reservation"),
        ("Lendable", exact_percent(member.lendable)),
        ("Headroom", exact_percent(member.headroom)),
        ("Ceiling", "none" if member.ceiling >= 1 else exact_percent(member.ceiling)),
        ("Yields above", yields),
        ("Paused", "yes" if member.paused else "no"),
    ]
