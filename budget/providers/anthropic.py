"""Anthropic: cache reads are free of the input limit, cache writes are not."""

from budget.providers.tokens import Tokens


def counted(tokens: Tokens) -> Tokens:
    """Input without cache reads, and output as really produced."""
    return Tokens(tokens.input - tokens.cached_input, tokens.output)
