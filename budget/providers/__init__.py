"""What each provider counts against its limits. Pure: imports nothing of the app.

`counted` turns the tokens a call reports into the tokens its provider's limits see.
The same mapping holds for the estimate at admission and for the usage at settlement.
"""

from collections.abc import Callable

from budget.providers import anthropic, azure, bedrock, gemini, openai
from budget.providers.tokens import Tokens

_COUNTERS: dict[str, Callable[[Tokens], Tokens]] = {
    "anthropic": anthropic.counted,
    "azure": azure.counted,
    "bedrock": bedrock.counted,
    "gemini": gemini.counted,
    "openai": openai.counted,
}

__all__ = ["Tokens", "counted"]


def counted(provider: str, tokens: Tokens) -> Tokens:
    """The input and output tokens that count with this provider; an unknown one counts all."""
    counter = _COUNTERS.get(provider)
    return tokens if counter is None else counter(tokens)
