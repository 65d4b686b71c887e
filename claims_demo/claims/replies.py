"""What a model's answer says."""

import json
import re
from typing import Any

from budget.providers.answers import storable
from claims_demo.models import Claim

OBJECT = re.compile(r"\{.*\}", re.DOTALL)
"""Models like to write something around the JSON they are asked for."""


class UnreadableReply(ValueError):
    """The model answered something else than it was asked for; another time it may not."""


def text_of(answer: dict[str, Any]) -> str:
    """All text of a message. Raises UnreadableReply."""
    try:
        parts = [part["text"] for part in answer["content"] if part["type"] == "text"]
        return storable("\n".join(parts)).strip()
    except (KeyError, TypeError):
        raise UnreadableReply(f"This is no message: {answer!r:.200}") from None


def score_of(answer: dict[str, Any]) -> int:
    """The score of a claim, 0 to 100. Raises UnreadableReply."""
    score = _object(answer).get("score")
    if type(score) is not int or not 0 <= score <= 100:
        raise UnreadableReply(f"No score from 0 to 100: {score!r:.200}")
    return score


def category_of(answer: dict[str, Any]) -> Claim.Category:
    """The category of a claim. Raises UnreadableReply."""
    category = _object(answer).get("category")
    if category not in Claim.Category.values:
        raise UnreadableReply(f"No category: {category!r:.200}")
    return Claim.Category(category)


def _object(answer: dict[str, Any]) -> dict[str, Any]:
    text = text_of(answer)
    found = OBJECT.search(text)
    try:
        value = json.loads(found[0]) if found else None
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise UnreadableReply(f"No JSON object: {text:.200}")
    return value
