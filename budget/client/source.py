"""Where in the caller's code a call is made."""

import sys
from functools import lru_cache
from pathlib import Path
from types import CodeType, FrameType

from budget.client.checked import MAX_TEXT

BETWEEN = frozenset(
    {
        "anthropic",
        "anyio",
        "asgiref",
        "asyncio",
        "backoff",
        "concurrent",
        "contextlib",
        "contextvars",
        "functools",
        "httpcore",
        "httpcore2",
        "httpx",
        "httpx2",
        "openai",
        "stamina",
        "tenacity",
        "threading",
        "uvloop",
    }
)
"""Packages that stand between a caller and its call; none of them made it."""
OURS = __name__.rpartition(".")[0]


def calling_site(between: frozenset[str] = BETWEEN) -> str:
    """File, line and function of the nearest caller outside the SDKs, as `claims/ask.py:57 ask`.

    Empty if there is none, in a thread that runs nothing but library code.
    """
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        name = frame.f_globals.get("__name__", "")
        if name.partition(".")[0] not in between and not f"{name}.".startswith(f"{OURS}."):
            return _site(frame.f_code, frame.f_lineno)
        frame = frame.f_back
    return ""


@lru_cache(maxsize=4096)
def _site(code: CodeType, line: int) -> str:
    function = code.co_qualname.replace("<locals>.", "")
    return f"{_short(code.co_filename)}:{line} {function}"[-MAX_TEXT:]


def _short(filename: str) -> str:
    """The file's path as it would be imported: below the longest entry of `sys.path`."""
    path = Path(filename)
    roots = [Path(entry or ".").absolute() for entry in sys.path]
    above = [root for root in roots if path.is_relative_to(root)]
    if not above:
        return path.name
    return path.relative_to(max(above, key=lambda root: len(root.parts))).as_posix()
