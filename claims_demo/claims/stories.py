"""Makes up claims, and what happens to them, from fixed texts."""

from functools import cache
from pathlib import Path
from random import Random
from typing import NamedTuple

import msgspec

from claims_demo.models import Claim, ClaimEvent

FILE = Path(__file__).with_name("stories.yaml")
PRIORITIES = {Claim.Priority.URGENT: 2, Claim.Priority.NORMAL: 6, Claim.Priority.LOW: 2}
"""How often each is set."""
OPEN = (
    ClaimEvent.Kind.CALL,
    ClaimEvent.Kind.DOCUMENT,
    ClaimEvent.Kind.ESTIMATE,
    ClaimEvent.Kind.INSPECTION,
)
"""What happens while a claim is open."""
DECISIONS = 0.1
"""How often a claim is decided on though more could happen."""
PART = 0.62
ROUND = 10
"""Euros: nobody asks for odd amounts."""


class Happening(NamedTuple):
    """Something that happens to a claim."""

    kind: ClaimEvent.Kind
    text: str


class Story(msgspec.Struct):
    """What a claim may be about, and what may happen to it."""

    kind: str
    weight: int
    """How often it happens, compared with others."""
    insured: list[str]
    amount: tuple[int, int]
    description: str
    call: list[str]
    document: list[str]
    estimate: list[str]
    inspection: list[str]
    decision: list[str]


class Stories(msgspec.Struct):
    """The file."""

    claimants: list[str]
    places: list[str]
    stories: list[Story]


def reported(random: Random) -> Claim:
    """A claim as somebody reports it, not stored."""
    known = _known()
    (story,) = random.choices(known.stories, [story.weight for story in known.stories])
    (priority,) = random.choices(list(PRIORITIES), list(PRIORITIES.values()))
    return Claim(
        kind=story.kind,
        claimant=random.choice(known.claimants),
        place=random.choice(known.places),
        insured=random.choice(story.insured),
        amount=random.randint(*story.amount) // ROUND * ROUND,
        description=story.description,
        priority=priority,
    )


def next_happening(claim: Claim, random: Random) -> Happening:
    """What happens to an open claim next: nothing twice, and a decision once that is all."""
    story = _story_of(claim)
    told = set(claim.events.values_list("text", flat=True))
    every = [_told(claim, kind, text) for kind in OPEN for text in getattr(story, kind)]
    left = [happening for happening in every if happening.text not in told]
    if not left or random.random() < DECISIONS:
        return _told(claim, ClaimEvent.Kind.DECISION, random.choice(story.decision))
    return random.choice(left)


def _told(claim: Claim, kind: ClaimEvent.Kind, text: str) -> Happening:
    part = int(claim.amount * PART) // ROUND * ROUND
    return Happening(kind, text.format(amount=f"{claim.amount:,}", part=f"{part:,}"))


def _story_of(claim: Claim) -> Story:
    """The one the claim was made of, or any of its kind for a claim from elsewhere."""
    of_its_kind = [story for story in _known().stories if story.kind == claim.kind]
    own = [story for story in of_its_kind if story.description == claim.description]
    return (own or of_its_kind)[0]


@cache
def _known() -> Stories:
    return msgspec.yaml.decode(FILE.read_bytes(), type=Stories)
