"""Amazon Bedrock: output burns the quota faster than input, cache reads do not burn it."""

from budget.providers.tokens import Tokens

OUTPUT_FACTOR = 5
"""Quota tokens per output token, as for Claude 3.7 and later; other models burn less."""


def counted(tokens: Tokens) -> Tokens:
    """Input without cache reads, and output times its factor."""
    return Tokens(tokens.input - tokens.cached_input, tokens.output * OUTPUT_FACTOR)
