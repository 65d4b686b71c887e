"""Tokens of one call."""

from typing import NamedTuple


class Tokens(NamedTuple):
    """Tokens as a call reports them; `cached_input` is the part of `input` read from a cache."""

    input: int
    output: int
    cached_input: int = 0
