"""The code blocks of a Markdown file."""

import re
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


class Block(NamedTuple):
    """One fenced block."""

    language: str
    code: str


def blocks(path: Path, language: str) -> list[Block]:
    """The file's blocks in a language."""
    found = [Block(*match) for match in BLOCK.findall(path.read_text())]
    return [block for block in found if block.language == language]


def documents(language: str) -> list[str]:
    """The code of all documents in a language."""
    paths = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    return [block.code for path in paths for block in blocks(path, language)]


def readme(language: str) -> list[str]:
    """The README's code in a language."""
    return [block.code for block in blocks(ROOT / "README.md", language)]


def readme_block(beginning: str) -> str:
    """The README's Python that begins so."""
    return next(code for code in readme("python") if code.startswith(beginning))
