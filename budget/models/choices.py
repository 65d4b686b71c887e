"""The words a policy owner may choose between; the rule's own words where it has them."""

from collections.abc import Iterable, Mapping

from django.db import models

from budget.rule import terms as rule

Choices = list[tuple[str, str]]


def _choices(words: Iterable[str], meanings: Mapping[str, str] | None = None) -> Choices:
    """The words of a closed set with what they mean, or as two words where that says it all."""
    meanings = meanings or {}
    return [(word, meanings.get(word, word.replace("_", " "))) for word in words]


UNIT_CHOICES = _choices(rule.UNITS)
"""What a limit counts."""
ALGORITHM_CHOICES = _choices(rule.ALGORITHMS)
"""How a limit counts."""
TIER_CHOICES = _choices(
    rule.TIERS,
    {
        "interactive": "interactive: somebody waits",
        "near_line": "near-line: minutes",
        "bulk": "bulk: hours",
    },
)
"""Who is refused first: the loosest."""


class Mode(models.TextChoices):
    """What a pool does with a call that doesn't fit."""

    ENFORCE = "enforce", "enforce: shed what doesn't fit"
    OBSERVE = "observe", "observe: admit all, record what would be shed"


class Provider(models.TextChoices):
    """Whose allowance a pool is."""

    ANTHROPIC = "anthropic", "Anthropic"
    AZURE = "azure", "Azure OpenAI"
    BEDROCK = "bedrock", "Amazon Bedrock"
    GEMINI = "gemini", "Google Gemini"
    OPENAI = "openai", "OpenAI"


class Strategy(models.TextChoices):
    """How the floors of a tier follow demand."""

    STATIC = "static", "static: each reservation's own share"


class Unavailable(models.TextChoices):
    """What a caller does when this service doesn't answer."""

    ADMIT = "admit", "admit"
    SHED = "shed", "shed"
    LOCAL = "local", "local: a share kept in the caller's process"
