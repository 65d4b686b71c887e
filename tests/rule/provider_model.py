"""A provider's limit, told from its whole history in exact fractions: slow on purpose."""

from dataclasses import dataclass, field
from fractions import Fraction


@dataclass
class Tally:
    """What was counted when; amounts may be changed afterwards."""

    rate: Fraction
    """Units regained per microsecond."""
    counted: list[list[int]] = field(default_factory=list)
    """`[moment, amount]`, in order of the moments."""

    def count(self, at: int, amount: int) -> list[int]:
        self.counted.append([at, amount])
        return self.counted[-1]

    def missing(self, at: int) -> Fraction:
        """What a bucket that was full in the beginning lacks at a moment: the definition.

        The most that was counted since any moment beyond what came back since then.
        """
        found = Fraction(0)
        for since, _ in self.counted:
            taken = sum(amount for moment, amount in self.counted if since <= moment <= at)
            if since <= at:
                found = max(found, taken - self.rate * (at - since))
        return found
