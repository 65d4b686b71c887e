"""Input tokens of images, audio and documents, as the providers publish them, or more.

Only the beginning of a file is read; what can't be seen (an address, the id of a file, a format
that isn't known) counts as much as the largest image, or as one page or minute.
"""

import math
import re
from typing import TypeVar

from budget.client.pixels import Size, encoded, head_of, size_of

OPENAI_TILES = {"gpt-4o-mini": (2833, 5667), "gpt-5": (70, 140), "o1": (75, 150), "o3": (75, 150)}
"""Tokens of an image and of each of its tiles, by the model's name or its beginning."""
OPENAI_TILE = (85, 170)
OPENAI_PATCHES = {
    "gpt-4.1-mini": 1.62,
    "gpt-4.1-nano": 2.46,
    "gpt-5-mini": 1.62,
    "gpt-5-nano": 2.46,
    "o4-mini": 1.72,
}
"""Tokens of each patch of 32 × 32, of which these models see at most `MOST_PATCHES`."""
MOST_PATCHES = 1536
OPENAI_LARGEST = Size(2048, 768)
"""The most that is left of an image after scaling."""
ANTHROPIC_LARGEST = 1600
PIXELS_PER_TOKEN = 750

TOKENS_PER_PAGE = 3000
BYTES_PER_PAGE = 50_000
"""Of documents whose pages can't be counted."""
TOKENS_PER_SECOND = 10
BYTES_PER_SECOND = 4000
"""Of audio in formats that are compressed: 32 kbit/s, so that nothing lasts longer."""
UNSEEN_SECONDS = 60

T = TypeVar("T")

_PAGE = re.compile(rb"/Type\s*/Page(?![A-Za-z])")
_WAV_HEADER = 44


def openai_image(data: str | None, model: str, detail: str) -> int:
    """An image to OpenAI: `data` in base64, with or without "data:"; None if it isn't there.

    https://platform.openai.com/docs/guides/images-vision#calculating-costs: scaled to fit into
    2048 × 2048, then to 768 on the shorter side; a base price and one for each tile of 512.
    With detail "low" the base price alone. Smaller models count patches of 32 instead.
    """
    size = size_of(data)
    if (factor := _of(model, OPENAI_PATCHES)) is not None:
        patches = math.ceil(size.width / 32) * math.ceil(size.height / 32) if size else MOST_PATCHES
        return math.ceil(min(patches, MOST_PATCHES) * factor)
    base, each = _of(model, OPENAI_TILES) or OPENAI_TILE
    if detail == "low":
        return base
    seen = _scaled(size) if size else OPENAI_LARGEST
    return base + each * math.ceil(seen.width / 512) * math.ceil(seen.height / 512)


def anthropic_image(data: str | None) -> int:
    """An image to Anthropic: `data` in base64, None if it isn't there.

    https://platform.claude.com/docs/en/build-with-claude/vision: width × height / 750, after
    larger ones are scaled down to about 1,600 tokens.
    """
    size = size_of(data)
    if size is None:
        return ANTHROPIC_LARGEST
    return min(ANTHROPIC_LARGEST, math.ceil(size.width * size.height / PIXELS_PER_TOKEN))


def document(data: str | None) -> int:
    """A document in base64; None if it isn't there.

    https://platform.claude.com/docs/en/build-with-claude/pdf-support: 1,500 to 3,000 tokens a
    page. OpenAI takes the text and an image of each page, too.
    """
    if not data:
        return TOKENS_PER_PAGE
    content = head_of(data, len(data))
    pages = len(_PAGE.findall(content)) or math.ceil(len(content) / BYTES_PER_PAGE)
    return TOKENS_PER_PAGE * max(1, pages)


def audio(data: str | None) -> int:
    """Audio in base64; None if it isn't there.

    https://platform.openai.com/docs/guides/realtime-costs: a token for each tenth of a second.
    """
    if not data:
        return TOKENS_PER_SECOND * UNSEEN_SECONDS
    text = encoded(data)
    header, length = head_of(text, 2 * _WAV_HEADER), len(text) * 3 // 4
    rate = BYTES_PER_SECOND
    if header[:4] == b"RIFF" and header[8:16] == b"WAVEfmt ":
        rate = int.from_bytes(header[28:32], "little") or BYTES_PER_SECOND
    return max(1, math.ceil(TOKENS_PER_SECOND * length / rate))


def _scaled(size: Size) -> Size:
    """As OpenAI sees it; it scales down, never up."""
    fit = min(1.0, 2048 / max(size))
    fit *= min(1.0, 768 / (fit * min(size)))
    return Size(round(size.width * fit), round(size.height * fit))


def _of(model: str, table: dict[str, T]) -> T | None:
    """The entry of the longest name with which the model's begins."""
    names = [name for name in table if model.startswith(name)]
    return table[max(names, key=len)] if names else None
