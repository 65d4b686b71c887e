"""`make demo`, as its user meets it, and how it judges a storm."""

import io
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import httpx2
import pytest
from rich.console import Console

from claims_demo.database.stale import living
from claims_demo.demo import _pool
from claims_demo.scoreboard import Scoreboard
from claims_demo.storm.report import Report, Tally
from claims_demo.verdict import verdict
from tests.claims_demo.directories import temporary_dir
from tests.claims_demo.programs import ROOT, environment

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


def report(**changes: Tally) -> Report:
    """A storm that went as promised, but for the changes."""
    tallies = {
        "adjuster": Tally(calls=20, in_time=18, offered=20, admitted=20, settled_tokens=24_000),
        "rescore": Tally(calls=9, in_time=2, offered=14, admitted=5, shed={"headroom": 9}),
        "nightly": Tally(calls=40, offered=45, shed={"floor_protected": 40, "headroom": 5}),
    }
    return Report(elapsed=20, is_storm=True, storms=1, tallies=tallies | changes)


def test_the_verdict_is_good_when_the_strictest_was_served_and_the_loosest_shed() -> None:
    told, broken = verdict(report())
    assert broken == []
    assert "18 of 18 finished calls were answered within 5 s" in told[0]
    assert "shed 45 (40 floor_protected, 5 headroom)" in told[2]


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"adjuster": Tally()}, "No call of the adjuster assistant came to an end"),
        ({"adjuster": Tally(in_time=8, gave_up=2)}, "Only 8 of 10 calls"),
        ({"adjuster": Tally(failed=1, faults={"ReadError": 1})}, "1 × ReadError"),
        ({"nightly": Tally(offered=9, admitted=9)}, "nightly classification was not shed"),
        ({"nightly": Tally(offered=9, shed={"paused": 9})}, "nightly classification was not shed"),
    ],
)
def test_the_verdict_names_what_was_not_kept(changes: dict[str, Tally], complaint: str) -> None:
    assert any(complaint in line for line in verdict(report(**changes)).broken)


def test_without_a_terminal_the_scoreboard_is_plain_lines_every_few_seconds() -> None:
    out = io.StringIO()
    with Scoreboard(Console(file=out, soft_wrap=True)) as board:
        for elapsed in (0, 1, 2, 5):
            board.show(Report(elapsed, True, 1, report().tallies), POOL)
    lines = out.getvalue().splitlines()
    assert len(lines) == 2 * 5
    assert lines[5] == "   5 s  storm: all services spike together"
    assert lines[6] == (
        "  adjuster: offered 20 · admitted 20 · shed 0 · settled tokens 24,000 "
        "· level 39,500 · floor 50,000"
    )
    assert lines[9].endswith("level 41,000 · floor 100,000")


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
        (None, ["adjuster: offered 20 .* level gone · floor –", "pool: offered 79 .* level gone"]),
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


@pytest.mark.parametrize("status", [403, 404])
def test_a_pool_that_an_edit_took_away_does_not_end_the_demo(status: int) -> None:
    transport = httpx2.MockTransport(lambda _: httpx2.Response(status))
    assert _pool(httpx2.Client(base_url="http://budget", transport=transport)) is None


def test_on_a_terminal_the_scoreboard_is_a_table() -> None:
    out = io.StringIO()
    with Scoreboard(Console(file=out, force_terminal=True, width=140)) as board:
        board.show(report(), POOL)
    assert "45 (40 floor_protected, 5 headroom)" in out.getvalue()


@pytest.fixture(scope="module")
def data_dir() -> Iterator[Path]:
    with temporary_dir() as directory:
        yield directory


def demo(data_dir: Path, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "claims_demo.demo", *arguments],
        cwd=ROOT,
        env=environment(BUDGET_DATA_DIR=str(data_dir)),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.processes
@pytest.mark.timeout(240)
def test_the_demo_shows_the_storm_and_stops_also_when_told_to(data_dir: Path) -> None:
    """One test, because the second part wants what the first leaves: a policy and accounts."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        first = demo(data_dir, "--port", str(port), "--seconds", "8")
        said, complained = first.communicate()
    assert first.returncode == 0, said + complained
    assert f"Port {port} is taken" in said
    assert "reservation of adjuster added: share 50 %" in said
    assert "demo-editor / " in said
    assert "the person waiting was served" in said
    assert living(data_dir / "postgres") is None

    second = demo(data_dir, "--port", str(port))
    assert second.stdout is not None
    while not (line := second.stdout.readline()).startswith("Passwords"):
        assert line, "the demo ended early"
        assert " added" not in line
    time.sleep(1.5)
    second.send_signal(signal.SIGTERM)
    said, complained = second.communicate()
    assert second.returncode == 0, said + complained
    assert living(data_dir / "postgres") is None
