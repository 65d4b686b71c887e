"""Gemini: its token limits see input only, cached input included."""

from budget.providers.tokens import Tokens


def counted(tokens: Tokens) -> Tokens:
    """Input; output is free."""
    return Tokens(tokens.input, 0)
