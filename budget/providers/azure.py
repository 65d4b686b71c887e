"""Azure OpenAI: counts as OpenAI does, but looks at windows of a few seconds.

A pool on Azure therefore wants a small burst, or a sliding window of 1 or 10 seconds.
"""

from budget.providers.tokens import Tokens


def counted(tokens: Tokens) -> Tokens:
    """All input and all output."""
    return Tokens(tokens.input, tokens.output)
