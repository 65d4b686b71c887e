"""How long ago something was, in words."""

from datetime import datetime

from django import template
from django.utils.timesince import timesince

register = template.Library()


@register.filter
def ago(moment: datetime) -> str:
    """`8 hours ago`; `just now` within the first minute, or by a clock that is ahead."""
    passed = timesince(moment, depth=1)
    return "just now" if passed.startswith("0") else f"{passed} ago"
