"""OpenAI: cached input counts in full.

Its limiter takes the larger of `max_tokens` and its own estimate when a request arrives,
so a caller's estimated output has to be the `max_tokens` it sends.
"""

from budget.providers.tokens import Tokens


def counted(tokens: Tokens) -> Tokens:
    """All input and all output."""
    return Tokens(tokens.input, tokens.output)
