"""The trace as calls, and the books compared."""

from collections import Counter
from pathlib import Path

import pytest

from bench.books import differences, totals
from bench.trace import Row, p95, read_rows

TRACE = """TIMESTAMP,ContextTokens,GeneratedTokens
2023-11-16 18:15:46.6805900,374,44
2023-11-16 18:15:50.9951690,396,109
2023-11-16 18:15:51.2224670,879,55
"""


def test_rows_are_read_with_seconds_since_the_first(tmp_path: Path) -> None:
    path = tmp_path / "trace.csv"
    path.write_text(TRACE)
    first, second = read_rows(path, 2)
    assert first == Row(0, 374, 44)
    assert second == Row(pytest.approx(4.314579), 396, 109)
    assert len(read_rows(path, None)) == 3
    assert first.seconds == pytest.approx(0.5 + 0.88)


def test_the_estimate_covers_95_percent() -> None:
    assert p95(list(range(1, 101))) == 95
    assert p95([7]) == 7


def test_books_that_differ_are_told_apart() -> None:
    minute = {"offered": 3, "admitted": 2, "estimated_tokens": 50, "used_tokens": 40}
    booked = totals([minute | {"shed": {"headroom": 1}}, minute | {"shed": {"headroom": 1}}])
    seen = Counter(
        {
            "offered": 6,
            "admitted": 4,
            "estimated_tokens": 100,
            "used_tokens": 80,
            "shed headroom": 2,
        }
    )
    assert differences(seen, booked) == []
    seen["used_tokens"] = 79
    assert differences(seen, booked) == [
        "used_tokens: the decisions add up to 79, the usage says 80"
    ]
