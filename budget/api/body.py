"""Reads request bodies: bounded, JSON and typed, or a problem that names the field."""

import re
from collections.abc import Iterator
from typing import Literal, TypeVar, get_args, get_origin, get_type_hints

import msgspec
from django.http import HttpRequest

from budget.api.problem import Problem
from budget.api.requests import PATTERNS

T = TypeVar("T")

MAX_NAME = 100
"""How many characters of what was sent are repeated in an answer."""
MAX_DIGITS = 18
"""Of a length: more than any body has, and less than Python refuses to read."""


def read(request: HttpRequest, limit: int) -> bytes:
    """The body of at most `limit` bytes; a larger one is refused before it is read."""
    if request.content_type != "application/json":
        raise Problem(415, "Send the body as Content-Type: application/json.")
    if "HTTP_TRANSFER_ENCODING" in request.META and not request.META.get("CONTENT_LENGTH"):
        raise Problem(411, "Send the body with a Content-Length instead of in chunks.")
    if _length(request) > limit:
        raise Problem(413, f"The body is larger than {limit:,} bytes.")
    return request.read()


def decode(decoder: msgspec.json.Decoder[T], raw: bytes, within: str = "") -> T:
    """`raw` as the decoder's type. `within` is the path of `raw` inside the whole body."""
    try:
        return decoder.decode(raw)
    except msgspec.ValidationError as error:
        raise _invalid(decoder.type, str(error), within) from None
    except msgspec.DecodeError as error:
        raise _malformed(str(error), raw, within) from None
    except RecursionError:
        raise Problem(400, "The body is nested too deeply.") from None


def _length(request: HttpRequest) -> int:
    length = request.META.get("CONTENT_LENGTH") or "0"
    if not (length.isascii() and length.isdigit() and len(length) <= MAX_DIGITS):
        raise Problem(400, "Content-Length: send the number of bytes.", field="Content-Length")
    return int(length)


def _invalid(struct: object, message: str, within: str) -> Problem:
    message, _, place = message.partition(" - at ")
    path = ".".join(re.findall(r"[$.]\.?([\w\[\].]+)`", place))
    named = re.search(r"field `(.*)`$", message)
    if named:
        path = f"{path}.{named[1]:.{MAX_NAME}}".lstrip(".")
    field = f"{within}.{path}".strip(".")
    names = re.findall(r"(?<!\[)\b\w+", path)  # without places in lists
    hint = _hint(struct, names)
    return _bad_field(field, f"{_plain(message):.{MAX_NAME}}. {hint}".strip())


def _plain(message: str) -> str:
    """The message, with what a pattern asks for instead of the pattern."""
    return next((words for pattern, words in PATTERNS.items() if repr(pattern) in message), message)


def _malformed(message: str, raw: bytes, within: str) -> Problem:
    """JSON has no NaN, for example: the last name before the fault tells the field."""
    position = re.search(r"byte (\d+)", message)
    names = re.findall(rb'"(\w+)"\s*:', raw[: int(position[1])] if position else b"")
    field = f"{within}.{names[-1].decode()}".strip(".") if names else within
    return _bad_field(field, f"{message}. The body must be one JSON object in UTF-8.")


def _bad_field(field: str, detail: str) -> Problem:
    if not field:
        return Problem(400, detail)
    return Problem(400, f"{field}: {detail}", field=field)


def _hint(struct: object, names: list[str]) -> str:
    """What the innermost field that is known asks for; which are known, if the last isn't."""
    said = ""
    for name in names:
        fields = get_type_hints(struct, include_extras=True) if _is_body(struct) else {}
        if name not in fields:
            return f"Known fields: {', '.join(fields)}." if fields else said
        said = _asked_for(fields[name])
        struct = next(filter(_is_body, _within(fields[name])), None)
    return said


def _asked_for(annotation: object) -> str:
    """A field's description, and what may be written if that is one of a few."""
    found = (getattr(meta, "description", None) for meta in getattr(annotation, "__metadata__", ()))
    description = next((text for text in found if text), "")
    literal = next((part for part in _within(annotation) if get_origin(part) is Literal), None)
    choices = get_args(literal) if literal is not None else ()
    if all(choice in description for choice in choices):
        return description
    return f"{description} Write one of {', '.join(choices)}.".strip()


def _within(annotation: object) -> Iterator[object]:
    """A type, and those that it is made of."""
    yield annotation
    if get_origin(annotation) is not Literal:
        for part in get_args(annotation):
            yield from _within(part)


def _is_body(part: object) -> bool:
    return isinstance(part, type) and issubclass(part, msgspec.Struct)
