"""When little is left of a limit."""

SCARCE = 0.2
"""Below this part of its capacity a meter warns."""
