"""What the claims platform stores."""

from claims_demo.models.claim import Claim, ClaimEvent, Question
from claims_demo.models.storm import StormControl, StormSecond

__all__ = ["Claim", "ClaimEvent", "Question", "StormControl", "StormSecond"]
