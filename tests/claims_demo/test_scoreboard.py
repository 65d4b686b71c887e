"""The storm's progress on a terminal, and without one."""

import io
import re
from copy import deepcopy
from typing import Any

import pytest
from rich.console import Console

from claims_demo.scoreboard import Scoreboard
from tests.claims_demo.reports import report

POOL: dict[str, Any] = {
    "limits": [
        {
            "unit": "total_tokens",
            "algorithm": "token_bucket",
            "capacity": 100_000.0,
            "available": 41_000.0,
            "floors": {
                "adjuster": {"share_percent": 50.0, "effective": 39_500.0},
                "rescore": {"share_percent": 20.0, "effective": 1_500.0},
                "nightly": {"share_percent": 0.0, "effective": 0.0},
            },
        }
    ],
    "classes": {"adjuster": {}, "rescore": {}, "nightly": {}},
}


def test_without_a_terminal_the_scoreboard_is_plain_lines_every_few_seconds() -> None:
    out = io.StringIO()
    with Scoreboard(Console(file=out, soft_wrap=True)) as board:
        for elapsed in (0, 1, 2, 5):
            board.show(report(elapsed), POOL)
    lines = out.getvalue().splitlines()
    assert len(lines) == 2 * 5
    assert lines[5] == "   5 s  storm: 10 times the claims, at the provider: 12"
    assert lines[6] == (
        "  adjuster: offered 20 · admitted 20 · batched 0 · shed 0 · expired 0 · waiting 2 "
        "· drawn 24,000 · level 39,500 · floor 50,000"
    )
    assert "nightly: offered 80 · admitted 0 · batched 12 " in lines[8]
    assert "pool: offered 130 · admitted 32 · batched – " in lines[9]
    assert lines[9].endswith("drawn 24,000 · level 41,000 · floor 100,000")


def without_class(slug: str) -> dict[str, Any]:
    pool = deepcopy(POOL)
    del pool["classes"][slug], pool["limits"][0]["floors"][slug]
    return pool


def with_class(slug: str) -> dict[str, Any]:
    pool = deepcopy(POOL)
    pool["classes"][slug] = {}
    pool["limits"][0]["floors"][slug] = {"share_percent": 0.0, "effective": 0.0}
    return pool


@pytest.mark.parametrize(
    ("pool", "expected"),
    [
        (None, ["adjuster: offered 20 .* level gone · floor –", "pool: offered 130 .* level gone"]),
        (without_class("adjuster"), ["adjuster: offered 20 .* level gone", "level 41,000"]),
        (with_class("rush"), ["rush: offered 0 .* level 0 · floor 0", "adjuster: .* level 39,500"]),
        (POOL | {"limits": []}, ["adjuster: .* level –", "pool: .* level – · floor –"]),
        (
            POOL
            | {
                "limits": [
                    POOL["limits"][0] | {"unit": "requests", "algorithm": "gauge"},
                    POOL["limits"][0] | {"unit": "requests", "algorithm": "sliding_window"},
                ]
            },
            [r"\(levels of requests\)", "adjuster: .* level 39,500"],
        ),
    ],
    ids=["pool gone", "class gone", "class added", "no limit", "other limits"],
)
def test_the_scoreboard_shows_what_is_there_after_any_edit(
    pool: dict[str, Any] | None, expected: list[str]
) -> None:
    out = io.StringIO()
    with Scoreboard(Console(file=out, soft_wrap=True)) as board:
        board.show(report(), pool)
    for line in expected:
        assert re.search(line, out.getvalue())


def test_on_a_terminal_the_scoreboard_is_a_table() -> None:
    out = io.StringIO()
    with Scoreboard(Console(file=out, force_terminal=True, width=160)) as board:
        board.show(report(), POOL)
    assert "9 (9 queue_full)" in out.getvalue()
