"""Sentences with moments in them, which the reader's browser writes in the reader's zone."""

from collections.abc import Sequence
from datetime import datetime

from django.template.loader import render_to_string
from django.utils.html import format_html_join
from django.utils.safestring import SafeString

Sentence = Sequence[str | datetime]
"""Text and moments, to be written one after the other."""


def as_html(sentence: Sentence, form: str) -> SafeString:
    """With each moment as a `<time>`, to be written in the named form; text is escaped."""
    return format_html_join("", "{}", ((_part(part, form),) for part in sentence))


def as_json(sentence: Sentence) -> list[str | int]:
    """With each moment as seconds since the epoch."""
    return [part if isinstance(part, str) else int(part.timestamp()) for part in sentence]


def _part(part: str | datetime, form: str) -> str:
    if isinstance(part, str):
        return part
    return render_to_string("budget/dashboard/includes/time.html", {"at": part, "format": form})
