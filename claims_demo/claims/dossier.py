"""A claim as a text that a model reads."""

from collections.abc import Sequence

from claims_demo.models import Claim, ClaimEvent

FORMAT = """\
Claim {number}
Kind: {kind}
Claimant: {claimant}, {place}
Insured: {insured}
Asked for: {amount} EUR
Priority: {priority}
Status: {status}
Opened: {opened}
Description: {description}
What happened so far:
{events}"""
TIME = "%Y-%m-%d %H:%M"


def dossier(claim: Claim, events: Sequence[ClaimEvent]) -> str:
    """All there is to know about a claim, oldest event first."""
    return FORMAT.format(
        number=claim.number,
        kind=claim.get_kind_display(),
        claimant=claim.claimant,
        place=claim.place,
        insured=claim.insured,
        amount=f"{claim.amount:,}",
        priority=claim.get_priority_display(),
        status=claim.get_status_display(),
        opened=f"{claim.opened_at:{TIME}}",
        description=claim.description,
        events="\n".join(
            f"- {event.at:{TIME}} {event.get_kind_display()}: {event.text}" for event in events
        ),
    )
