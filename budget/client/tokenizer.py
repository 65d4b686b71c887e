"""Exact counts of text for OpenAI's models, where `tiktoken` is installed and has its encoding.

Nothing is ever fetched: an encoding counts as there if this process has it already, or it stands
where tiktoken keeps what was once fetched (`TIKTOKEN_CACHE_DIR`).
"""

import os
import tempfile
from collections.abc import Sequence
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any

MOST_BYTES = 20_000
"""Of longer texts a learned ratio is as good, and takes no milliseconds of its own."""
KEPT_AS = {
    "o200k_base": "fb374d419588a4632f3f557e76b4b70aebbca790",
    "cl100k_base": "9b5ad71b2ce5302211f9c61530b329a4922fc6a4",
}
"""The file in which tiktoken keeps an encoding: the SHA-1 of its address."""


def exact_tokens(model: str, texts: Sequence[str], text_bytes: int) -> int | None:
    """The tokens of those texts; None if nobody here knows exactly."""
    encoding = _encoding(model) if 0 < text_bytes <= MOST_BYTES else None
    if encoding is None:
        return None
    return sum(len(encoding.encode_ordinary(text)) for text in texts)


@lru_cache(maxsize=64)
def _encoding(model: str) -> Any:
    try:
        tiktoken = import_module("tiktoken")
        name = tiktoken.encoding_name_for_model(model)
        return tiktoken.get_encoding(name) if _is_here(name) else None
    except (ImportError, KeyError, OSError, ValueError):
        return None


def _is_here(name: str) -> bool:
    if name in import_module("tiktoken.registry").ENCODINGS:
        return True
    asked = os.environ.get("TIKTOKEN_CACHE_DIR", os.environ.get("DATA_GYM_CACHE_DIR"))
    directory = Path(tempfile.gettempdir(), "data-gym-cache") if asked is None else Path(asked)
    return bool(asked != "") and (directory / KEPT_AS.get(name, "-")).is_file()
