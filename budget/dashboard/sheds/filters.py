"""Which sheds a page shows, as its address says."""

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from django.http import QueryDict

from budget.dashboard.lineup import NO_CLASS, UNTAGGED
from budget.dashboard.reasons import in_words
from budget.dashboard.span import BadAddress
from budget.ledger.operations import MAX_TAGS, MAX_TEXT
from budget.rule.decision import REASONS

IN_PROCESS = "in process"
"""How addresses and pages name the calls without an API key; no prefix has a space."""
DECISIONS = {"shed": "shed", "would_be": "would be shed"}
"""What was decided: a pool that observes admits what it would shed."""

Pairs = list[tuple[str, str]]


class BadFilter(BadAddress):
    """What the address says is no filter."""


class Tag(NamedTuple):
    """A tag that a call has: a certain one, or any of that name."""

    name: str
    value: str | None = None

    def __str__(self) -> str:
        """As an address has it: `name`, or `name=value`; an = within the name is escaped."""
        name = self.name.replace("%", "%25").replace("=", "%3D")
        return name if self.value is None else f"{name}={self.value}"


class Filters(NamedTuple):
    """What a shed must have to be shown; None where anything goes."""

    workload_class: str | None = None
    """A slug; empty for untagged calls."""
    reason: str | None = None
    decision: str | None = None
    source: str | None = None
    """The whole source; empty for calls without one."""
    source_part: str | None = None
    key: str | None = None
    """Prefix of an API key; empty for calls from inside the process."""
    tags: tuple[Tag, ...] = ()

    @property
    def pairs(self) -> Pairs:
        """What an address says to ask for the same."""
        return [part.pair for part in self.parts]

    @property
    def parts(self) -> list["Part"]:
        """Each filter for itself."""
        return list(_parts(self))


class Part(NamedTuple):
    """One filter that is set."""

    words: str
    pair: tuple[str, str]
    without: Filters
    """What remains when it is taken away."""


def filters_of(query: QueryDict) -> Filters:
    """The filters that an address names; blank ones don't count. Raises BadFilter."""
    workload_class, key = _text(query, "class"), _text(query, "key")
    if workload_class is not None and not re.fullmatch(rf"[-\w]+|{NO_CLASS}", workload_class):
        raise BadFilter(f"class: use the name of a class, or {NO_CLASS}.")
    return Filters(
        workload_class="" if workload_class == NO_CLASS else workload_class,
        reason=_one_of(query, "reason", REASONS),
        decision=_one_of(query, "decision", DECISIONS),
        source="" if _one_of(query, "no_source", ("1",)) else _text(query, "source"),
        source_part=_text(query, "source_part"),
        key="" if key == IN_PROCESS else key,
        tags=_tags(query),
    )


def _text(query: QueryDict, name: str) -> str | None:
    text = query.get(name)
    return checked(name, text) if text else None


def checked(name: str, text: str) -> str:
    """A parameter's text, if there can be such a thing. Raises BadFilter."""
    if len(text) > MAX_TEXT:
        raise BadFilter(f"{name}: use at most {MAX_TEXT} characters.")
    if "\0" in text:
        raise BadFilter(f"{name}: leave out the NUL character.")
    return text


def _one_of(query: QueryDict, name: str, known: Iterable[str]) -> str | None:
    text = query.get(name)
    if text and text not in known:
        raise BadFilter(f"{name}: use one of {', '.join(known)}.")
    return text or None


def _tags(query: QueryDict) -> tuple[Tag, ...]:
    texts = [text for text in query.getlist("tag") if text]
    if len(texts) > MAX_TAGS:
        raise BadFilter(f"tag: use at most {MAX_TAGS}.")
    return tuple(dict.fromkeys(_tag(text) for text in texts))


def _tag(text: str) -> Tag:
    name, separator, value = text.partition("=")
    if not name:
        raise BadFilter("tag: begin with the name of a tag, for example team or team=north.")
    name = checked("tag", name.replace("%3D", "=").replace("%25", "%"))
    return Tag(name, checked("tag", value) if separator else None)


def _parts(filters: Filters) -> Iterator[Part]:
    if (slug := filters.workload_class) is not None:
        words = f"class {slug}" if slug else UNTAGGED
        yield Part(words, ("class", slug or NO_CLASS), filters._replace(workload_class=None))
    if filters.reason is not None:
        words = f"reason {in_words(filters.reason)}"
        yield Part(words, ("reason", filters.reason), filters._replace(reason=None))
    if filters.decision is not None:
        pair = ("decision", filters.decision)
        yield Part(DECISIONS[filters.decision], pair, filters._replace(decision=None))
    if (source := filters.source) is not None:
        pair = ("source", source) if source else ("no_source", "1")
        words = f"source {source}" if source else "no source"
        yield Part(words, pair, filters._replace(source=None))
    if (part := filters.source_part) is not None:
        words = f"source has “{part}” in it"
        yield Part(words, ("source_part", part), filters._replace(source_part=None))
    if (key := filters.key) is not None:
        words = f"key {key}" if key else IN_PROCESS
        yield Part(words, ("key", key or IN_PROCESS), filters._replace(key=None))
    for tag in filters.tags:
        words = f"tag {tag.name}" if tag.value is None else f"tag {tag.name}: {tag.value}"
        others = tuple(other for other in filters.tags if other != tag)
        yield Part(words, ("tag", str(tag)), filters._replace(tags=others))
