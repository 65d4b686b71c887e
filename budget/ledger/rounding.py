"""Numbers as they are shown: without the noise of their last binary digits."""

from typing import Any

DECIMALS = 6
"""As fine as the rule tells levels apart."""


def rounded(value: Any) -> Any:
    """The value with all numbers in it rounded, through lists and dictionaries."""
    match value:
        case float():
            return round(value, DECIMALS)
        case dict():
            return {name: rounded(part) for name, part in value.items()}
        case list():
            return [rounded(part) for part in value]
    return value
