"""While the service is away, each class does what its policy says, and all of it is counted."""

import logging

import pytest

from budget.client.away import Away
from budget.client.book import Book
from budget.client.verdict import Admitted, Ask, Ending, Refused
from budget.providers import Tokens
from tests.client.terms import terms
from tests.client.test_breaker import Clock


def ask(workload_class: str | None = "adjuster", tokens: int = 1_000) -> Ask:
    return Ask("claims", workload_class, tokens, 0)


def away(known: bool = True) -> tuple[Away, Book]:
    book = Book(Clock())
    alone = Away(book)
    if known:
        alone.learn("claims", terms())
    return alone, book


@pytest.mark.parametrize(
    ("workload_class", "choice"), [("adjuster", "local"), ("nightly", "admit"), (None, "admit")]
)
def test_classes_that_may_go_go(workload_class: str | None, choice: str) -> None:
    alone, _ = away()
    verdict = alone.decide(ask(workload_class))
    assert isinstance(verdict, Admitted)
    assert (verdict.id, verdict.away) == (None, choice)


@pytest.mark.parametrize("workload_class", ["rescore", "halted", "unheard-of"])
def test_others_are_shed_with_a_moment_to_come_back(workload_class: str) -> None:
    alone, _ = away()
    verdict = alone.decide(ask(workload_class))
    assert isinstance(verdict, Refused)
    assert (verdict.status, verdict.reason, verdict.retry_after_ms) == (429, "away", 1000)


def test_a_pool_that_was_never_heard_of_opens_no_gate() -> None:
    alone, _ = away(known=False)
    assert isinstance(alone.decide(ask()), Refused)
    assert isinstance(Away(Book(), "admit").decide(ask()), Admitted)
    with pytest.raises(ValueError, match="when_unavailable"):
        Away(Book(), "local")


def test_untagged_calls_are_shed_where_the_pool_has_no_class_for_them() -> None:
    alone, _ = away()
    alone.learn("claims", terms(untagged=None))
    verdict = alone.decide(ask(None))
    assert isinstance(verdict, Refused)
    # As when the service is there: to wait is of no use.
    assert (verdict.reason, verdict.retry_after_ms) == ("untagged", None)


def test_the_part_of_the_floor_runs_out_and_says_when_it_fits_again() -> None:
    alone, _ = away()
    assert isinstance(alone.decide(ask(tokens=4_900)), Admitted)
    verdict = alone.decide(ask(tokens=1_000))
    assert isinstance(verdict, Refused)
    assert verdict.retry_after_ms == pytest.approx(3_600, abs=50)


def test_what_ends_makes_room_under_a_gauge() -> None:
    alone, _ = away()
    first, second = alone.decide(ask(tokens=1)), alone.decide(ask(tokens=1))
    assert isinstance(first, Admitted)
    assert isinstance(second, Admitted)
    assert isinstance(alone.decide(ask(tokens=1)), Refused)
    alone.settle(first, Ending("succeeded", Tokens(1, 1)))
    assert isinstance(alone.decide(ask(tokens=1)), Admitted)


def test_everything_is_counted_by_class_and_choice() -> None:
    alone, book = away()
    admitted = alone.decide(ask())
    assert isinstance(admitted, Admitted)
    alone.settle(admitted, Ending("succeeded", Tokens(900, 50)))
    alone.decide(ask("rescore"))
    alone.decide(ask("rescore"))
    rows = {row["workload_class"]: row for row in book.rows("claims")}
    assert rows["adjuster"] == {
        "report": rows["adjuster"]["report"],
        "workload_class": "adjuster",
        "choice": "local",
        "admitted": 1,
        "shed": 0,
        "input_tokens": 900,
        "output_tokens": 50,
        "estimated_input_tokens": 1000,
        "estimated_output_tokens": 50,
        "first_at_ms_ago": 0,
        "last_at_ms_ago": 0,
    }
    assert (rows["rescore"]["admitted"], rows["rescore"]["shed"]) == (0, 2)


def test_a_report_is_told_unchanged_until_it_has_arrived() -> None:
    alone, book = away()
    alone.decide(ask())
    first = book.rows("claims")
    alone.decide(ask())
    again = book.rows("claims")
    assert first[0] in again
    assert len(again) == 2
    book.taken(again)
    assert book.rows("claims") == []
    assert book.pools == set()


def test_each_kind_of_decision_is_logged_once_in_an_outage(
    caplog: pytest.LogCaptureFixture,
) -> None:
    alone, _ = away()
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            alone.decide(ask("rescore"))
        assert [record.levelname for record in caplog.records] == ["WARNING"]
        assert "rescore" in caplog.text
        alone.learn("claims", terms())
        alone.decide(ask("rescore"))
    assert len(caplog.records) == 2


def test_more_tokens_than_one_report_may_tell_are_told_in_two() -> None:
    book = Book()
    for _ in range(3):
        book.used(("claims", "adjuster", "admit"), Tokens(600_000_000, 1), Tokens(5, 5))
    rows = book.rows("claims")
    assert [row["input_tokens"] for row in rows] == [600_000_000] * 3
    assert sum(row["output_tokens"] for row in rows) == 3
    assert sum(row["estimated_input_tokens"] for row in rows) == 3 * (600_000_000 - 5)
    assert sum(row["estimated_output_tokens"] for row in rows) == 0
