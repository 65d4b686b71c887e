"""Tokens of what is no text."""

import base64
import io
import struct
import wave

import pytest

from budget.client import media
from budget.client.pixels import Size, size_of


def png(width: int, height: int) -> bytes:
    return b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + struct.pack(">II", width, height) + bytes(5)


def gif(width: int, height: int) -> bytes:
    return b"GIF89a" + struct.pack("<HH", width, height) + bytes(3)


def jpeg(width: int, height: int) -> bytes:
    preview = b"\xff\xe1" + struct.pack(">H", 40_002) + 40_000 * b"\xff"
    frame = b"\xff\xff\xc2" + struct.pack(">HBHH", 11, 8, height, width) + bytes(4)
    return b"\xff\xd8" + preview + frame


def webp(kind: bytes, rest: bytes) -> bytes:
    return b"RIFF" + bytes(4) + b"WEBP" + kind + bytes(4) + rest


def b64(content: bytes) -> str:
    return base64.b64encode(content).decode()


WEBPS = [
    webp(b"VP8X", bytes(4) + (639).to_bytes(3, "little") + (479).to_bytes(3, "little")),
    webp(b"VP8L", b"\x2f" + (639 | 479 << 14).to_bytes(4, "little")),
    webp(b"VP8 ", bytes(3) + b"\x9d\x01\x2a" + struct.pack("<HH", 640, 480 | 1 << 14)),
]


@pytest.mark.parametrize(
    "image", [png(640, 480), gif(640, 480), jpeg(640, 480), *WEBPS], ids=range(6)
)
def test_an_image_tells_its_size(image: bytes) -> None:
    assert size_of(b64(image)) == Size(640, 480)
    assert size_of("data:image/any;base64," + b64(image)) == Size(640, 480)


@pytest.mark.parametrize(
    "data",
    [None, "", "!!!", "data:image/png;base64,", b64(b"BM"), b64(png(0, 480)), b64(png(640, 1)[:18])]
    + [b64(head) for head in (b"\xff\xd8", b"\xff\xd8\xff", b"\xff\xd8\xff\xe0\0\0", b"GIF89a")],
)
def test_an_image_that_cannot_be_seen_counts_as_the_largest(data: str | None) -> None:
    assert size_of(data) is None
    assert media.anthropic_image(data) == 1600
    assert media.openai_image(data, "gpt-4o", "auto") == 85 + 170 * 8
    assert media.openai_image(data, "gpt-4.1-mini", "auto") == 2489


@pytest.mark.parametrize(
    ("width", "height", "tokens"),
    [(1024, 1024, 765), (2048, 4096, 1105), (512, 512, 255), (1, 1, 255), (10_000, 10, 765)],
)
def test_tiles_of_openai(width: int, height: int, tokens: int) -> None:
    image = b64(png(width, height))
    assert media.openai_image(image, "gpt-4o", "high") == tokens
    assert media.openai_image(image, "gpt-4o", "low") == 85


def test_models_of_openai_that_count_otherwise() -> None:
    image = b64(png(1024, 1024))
    assert media.openai_image(image, "gpt-4o-mini-2024-07-18", "high") == 2833 + 4 * 5667
    assert media.openai_image(image, "gpt-5.1", "high") == 70 + 4 * 140
    assert media.openai_image(image, "gpt-5-mini", "low") == 1659


def test_pixels_of_anthropic() -> None:
    assert media.anthropic_image(b64(png(200, 200))) == 54
    assert media.anthropic_image(b64(png(1092, 1092))) == 1590
    assert media.anthropic_image(b64(png(8000, 8000))) == 1600


def test_pages_of_a_document() -> None:
    pages = b"%PDF-1.4\n/Type /Pages\n" + 3 * b"<< /Type/Page >>\n<< /Type /Page/Parent 1 0 R>>\n"
    assert media.document(b64(pages)) == 6 * media.TOKENS_PER_PAGE
    assert media.document("data:application/pdf;base64," + b64(pages)) == 6 * media.TOKENS_PER_PAGE
    assert media.document(b64(bytes(120_000))) == 3 * media.TOKENS_PER_PAGE
    for unseen in (None, "", "!!!"):
        assert media.document(unseen) == media.TOKENS_PER_PAGE


def test_seconds_of_audio() -> None:
    sound = io.BytesIO()
    with wave.open(sound, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(16_000)
        file.writeframes(bytes(2 * 16_000 * 5))
    assert media.audio(b64(sound.getvalue())) == pytest.approx(50, abs=1)
    assert media.audio(b64(bytes(7998))) == 20
    assert media.audio(None) == 600
    assert media.audio("AA==") == 1
