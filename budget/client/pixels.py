"""How large an image is, from its first bytes."""

import base64
import binascii
from typing import NamedTuple

HEAD = 256 * 1024
"""How much of an image is looked at: a JPEG's size may come after a preview."""
_FRAMES = {0xC0, 0xC1, 0xC2, 0xC3, 0xC5, 0xC6, 0xC7, 0xC9, 0xCA, 0xCB, 0xCD, 0xCE, 0xCF}
"""Markers of a JPEG after which its size stands."""


class Size(NamedTuple):
    """In pixels, neither of them 0."""

    width: int
    height: int


def encoded(data: str) -> str:
    """The base64 in it, if it begins with "data:"."""
    return data.partition(",")[2] if data.startswith("data:") else data


def head_of(data: str, most: int) -> bytes:
    """About the first so many bytes of what is base64; empty if it is none."""
    text = encoded(data)[: (most // 3 + 1) * 4]
    try:
        return base64.b64decode(text[: len(text) // 4 * 4])
    except (binascii.Error, ValueError):
        return b""


def size_of(data: str | None) -> Size | None:
    """The size of a PNG, GIF, WebP or JPEG in base64; None if it can't be seen."""
    if not data:
        return None
    head = head_of(data, HEAD)
    width, height = _measured(head)
    return Size(width, height) if width > 0 and height > 0 else None


def _measured(head: bytes) -> tuple[int, int]:
    if head.startswith(b"\x89PNG\r\n\x1a\n"):
        return _big(head[16:20]), _big(head[20:24])
    if head.startswith((b"GIF87a", b"GIF89a")):
        return _little(head[6:8]), _little(head[8:10])
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return _webp(head)
    if head.startswith(b"\xff\xd8"):
        return _jpeg(head)
    return 0, 0


def _webp(head: bytes) -> tuple[int, int]:
    kind = head[12:16]
    if kind == b"VP8X":
        return _little(head[24:27]) + 1, _little(head[27:30]) + 1
    if kind == b"VP8L":
        bits = _little(head[21:25])
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    return _little(head[26:28]) & 0x3FFF, _little(head[28:30]) & 0x3FFF


def _jpeg(head: bytes) -> tuple[int, int]:
    at = 2
    while at + 9 <= len(head) and head[at] == 0xFF:
        marker = head[at + 1]
        if marker in _FRAMES:
            return _big(head[at + 7 : at + 9]), _big(head[at + 5 : at + 7])
        # Fill bytes stand alone; every other segment says its length.
        at += 1 if marker == 0xFF else 2 + max(2, _big(head[at + 2 : at + 4]))
    return 0, 0


def _big(part: bytes) -> int:
    return int.from_bytes(part, "big")


def _little(part: bytes) -> int:
    return int.from_bytes(part, "little")
