"""What a model is asked about a claim, and how large that is."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from claims_demo.claims.dossier import dossier
from claims_demo.models import Claim

MODEL = "claude-haiku-4-5"
GUIDES = Path(__file__).with_name("guides")
HANDBOOK = "handbook"
"""For those who have time to read it."""
CHARACTERS_A_TOKEN = 3
"""Rather too few: an estimate that is too high is refunded, one too low becomes debt."""


@dataclass(frozen=True)
class Request:
    """One request to the model."""

    guide: str
    """What it is to do, always the same."""
    text: str
    max_tokens: int
    """It may write."""

    @property
    def args(self) -> dict[str, Any]:
        """What the SDK's `messages.create` takes."""
        return {
            "model": MODEL,
            "max_tokens": self.max_tokens,
            "system": self.guide,
            "messages": [{"role": "user", "content": self.text}],
        }

    @property
    def input_tokens(self) -> int:
        """An estimate."""
        return (len(self.guide) + len(self.text)) // CHARACTERS_A_TOKEN


def question(claim: Claim, text: str) -> Request:
    """An adjuster's, to be answered while somebody waits: so in a few words."""
    return Request(_guide("assistant"), f"{_dossier(claim)}\n\nQuestion: {text}", max_tokens=160)


def scoring(claim: Claim) -> Request:
    """How much the claim needs a person's attention."""
    return Request(
        _guide("scoring", HANDBOOK), f"{_dossier(claim)}\n\nScore this claim.", max_tokens=200
    )


def classification(claim: Claim) -> Request:
    """What is to be done with the claim."""
    return Request(
        _guide("classification", HANDBOOK),
        f"{_dossier(claim)}\n\nClassify this claim.",
        max_tokens=200,
    )


def _guide(*names: str) -> str:
    return "\n\n".join((GUIDES / f"{name}.txt").read_text() for name in names)


def _dossier(claim: Claim) -> str:
    return dossier(claim, list(claim.events.all()))
