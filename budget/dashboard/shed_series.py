"""Series that count sheds: what they are called, and which sheds they lead to."""

from urllib.parse import urlencode

from budget.dashboard.figure import Series
from budget.dashboard.lineup import Member
from budget.dashboard.reasons import in_words
from budget.dashboard.refusals import Column


def shed_series(
    member: Member, place: int, column: Column, reason: str = "", would_be: bool = False
) -> Series:
    """Sheds of a class, or those for one reason, or what would be shed if the pool enforced."""
    name = in_words(reason) if reason else member.name
    filters = {
        "class": member.in_address,
        **({"reason": reason} if reason else {}),
        "decision": "would_be" if would_be else "shed",
    }
    return Series(
        f"{name}, would be shed" if would_be else name, place, column, urlencode(filters), would_be
    )
