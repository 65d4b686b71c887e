"""What callers write, refused by name where the service would refuse it."""

import math
import re
from collections.abc import Mapping
from typing import Any

MAX_TAGS = 20
MAX_TAG_NAME = 50
MAX_TEXT = 200
"""Characters in a source or a tag's value."""
MAX_TOKENS = 1_000_000_000
SLUG = re.compile(r"[-a-zA-Z0-9_]{1,50}")


def slug(name: str, value: object, example: str) -> str:
    """A pool or a class. Raises ValueError."""
    if not isinstance(value, str) or not SLUG.fullmatch(value):
        raise ValueError(
            f"{name}: {value!r} isn't a slug: write 1 to 50 ASCII letters, digits, hyphens and "
            f"underscores, for example {example}."
        )
    return value


def seconds(name: str, value: float | None) -> float | None:
    """A time that is left, 0 if it is over; None if nobody says. Raises ValueError."""
    if value is None:
        return None
    if not isinstance(value, int | float) or isinstance(value, bool) or not math.isfinite(value):
        raise ValueError(f"{name}: {value!r} isn't a number of seconds.")
    return max(0.0, float(value))


def tokens(name: str, value: object) -> int:
    """A number of tokens. Raises ValueError."""
    if type(value) is not int or not 0 <= value <= MAX_TOKENS:
        raise ValueError(f"{name}: {value!r} isn't a whole number from 0 to {MAX_TOKENS:,}.")
    return value


def tags(given: Mapping[str, Any]) -> dict[str, str]:
    """Tags by name, their values as text. Raises ValueError."""
    if len(given) > MAX_TAGS:
        raise ValueError(f"tags: at most {MAX_TAGS} fit, and there are {len(given)}.")
    return {_tag_name(name): text(name, str(value)) for name, value in given.items()}


def text(name: str, value: str) -> str:
    """A source or a tag's value. Raises ValueError."""
    if not isinstance(value, str) or len(value) > MAX_TEXT or "\0" in value:
        raise ValueError(f"{name}: write up to {MAX_TEXT} characters, and no NUL.")
    return value


def _tag_name(name: str) -> str:
    if not 1 <= len(name) <= MAX_TAG_NAME or "\0" in name:
        raise ValueError(f"tags: the name {name!r} doesn't have 1 to {MAX_TAG_NAME} characters.")
    return name
