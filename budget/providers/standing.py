"""What a provider says of its own limits, in the headers of any answer and in its errors."""

from dataclasses import dataclass
from typing import Literal

MINUTE, DAY = 60, 86_400
LONGEST_MINUTE = 3_600
"""Seconds. A period that looks longer than this is a day."""
ROUNDING = 2.0
"""Seconds by which a reset may be told too late: it and the Date are whole ones."""

Unit = Literal["requests", "input_tokens", "output_tokens", "total_tokens"]


@dataclass(frozen=True, slots=True)
class ProviderLimit:
    """One limit as the provider's headers tell it."""

    unit: Unit
    amount: int | None
    """What is allowed in a period; None if it isn't said."""
    remaining: int | None
    """What is left of it now."""
    reset_seconds: float | None = None
    """Until it is whole again."""

    @property
    def per_seconds(self) -> int:
        """The period it is an amount of: a minute, unless it takes a day to be whole again.

        No header tells it, but what is missing comes back in its part of the period.
        """
        if not self.amount or self.remaining is None or not self.reset_seconds:
            return MINUTE
        missing = self.amount - self.remaining
        slow = (self.reset_seconds - ROUNDING) * self.amount > LONGEST_MINUTE * missing
        return DAY if slow and missing > 0 else MINUTE


@dataclass(frozen=True, slots=True)
class Standing:
    """How the account stood as the provider answered."""

    limits: tuple[ProviderLimit, ...] = ()
    refusal: Literal["", "busy", "money"] = ""
    """`busy`: too much for now. `money`: the spend cap is reached; waiting won't do."""
    retry_after_seconds: float | None = None
    """How long the provider asks to stay away."""

    @property
    def says_anything(self) -> bool:
        """Whether there is something to tell."""
        return bool(self.limits or self.refusal)
