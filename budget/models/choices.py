"""The words a policy owner may choose between; the rule's own words where it has them."""

from django.db import models


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


class Unit(models.TextChoices):
    """What a limit counts."""

    REQUESTS = "requests", "requests"
    INPUT_TOKENS = "input_tokens", "input tokens"
    OUTPUT_TOKENS = "output_tokens", "output tokens"
    TOTAL_TOKENS = "total_tokens", "total tokens"


class Algorithm(models.TextChoices):
    """How a limit counts."""

    TOKEN_BUCKET = "token_bucket", "token bucket"
    SLIDING_WINDOW = "sliding_window", "sliding window"
    GAUGE = "gauge", "gauge"


class Tier(models.TextChoices):
    """Who is refused first: the loosest."""

    INTERACTIVE = "interactive", "interactive: somebody waits"
    NEAR_LINE = "near_line", "near-line: minutes"
    BULK = "bulk", "bulk: hours"


class Unavailable(models.TextChoices):
    """What a caller does when this service doesn't answer."""

    ADMIT = "admit", "admit"
    SHED = "shed", "shed"
    LOCAL = "local", "local: a share kept in the caller's process"
