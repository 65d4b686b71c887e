"""What a provider says of its own limits, in the headers of any answer and in its errors."""

from dataclasses import dataclass
from typing import Literal

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


@dataclass(frozen=True, slots=True)
class Standing:
    """How the account stood as the provider answered."""

    limits: tuple[ProviderLimit, ...] = ()
    refusal: Literal["", "busy", "money"] = ""
    """`busy`: too much for now (429, 529). `money`: the spend cap is reached; waiting won't help."""
    retry_after_seconds: float | None = None
    """How long the provider asks to stay away."""

    @property
    def says_anything(self) -> bool:
        """Whether there is something to tell."""
        return bool(self.limits or self.refusal)
