"""Addresses that ask for what can't be, and what is said of each."""

from typing import Any

BAD_FILTERS: list[tuple[Any, str]] = [
    ({"reason": "mood"}, "reason: use one of paused, untagged,"),
    ({"decision": "maybe"}, "decision: use one of shed, would_be."),
    ({"class": "two words"}, "class: use the name of a class, or ~untagged."),
    ({"class": "a\0"}, "class: leave out the NUL character."),
    ({"source": "a\0b"}, "source: leave out the NUL character."),
    ({"source_part": "\0"}, "source_part: leave out the NUL character."),
    ({"source": "x" * 201}, "source: use at most 200 characters."),
    ({"key": "\0"}, "key: leave out the NUL character."),
    ({"key": "x" * 201}, "key: use at most 200 characters."),
    ({"tag": "x" * 201}, "tag: use at most 200 characters."),
    ({"tag": "a=" + "x" * 201}, "tag: use at most 200 characters."),
    ({"tag": "="}, "tag: begin with the name of a tag"),
    ({"tag": "=north"}, "tag: begin with the name of a tag"),
    ({"tag": "a\0=b"}, "tag: leave out the NUL character."),
    ([("tag", f"t{n}") for n in range(21)], "tag: use at most 20."),
    ({"no_source": "yes"}, "no_source: use one of 1."),
    ({"from": "yesterday"}, "from: write it as RFC 3339"),
    ({"range": "2h", "from": "", "to": ""}, "range: use one of"),
]
BAD_PLACES: list[tuple[Any, str]] = [
    ({"group": "mood"}, "group: use one of source, class, reason, key, tag, time, or tag:name"),
    ({"group": "tag:"}, "group: use one of"),
    ({"group": "tag:a\0"}, "group: leave out the NUL character."),
    ({"before": "yesterday"}, "before: leave it out"),
    ({"until": "yesterday"}, "until: leave it out"),
    ({"until": "9" * 18}, "until: leave it out"),
    ({"before": "9" * 18 + "-" + "0" * 32}, "before: leave it out"),
    ({"before": "-1-" + "0" * 32}, "before: leave it out"),
]
