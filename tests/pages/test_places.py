"""Why a job got no place in its queue, in words and numbers."""

from uuid import uuid4

import msgspec

from budget.models import Call
from budget.pages.places import bounds, place_remedies
from budget.rule.decision import Standing


def bound(unit: str, most: int, waiting: int, cost: int) -> Standing:
    return Standing(
        f"{unit}/queue", cost, most, 0, {"nightly": waiting}, 0, most - waiting, 0, None
    )


def refused(
    *bounds: Standing, reason: str = "queue_full", retry_after_ms: int | None = 90_000
) -> Call:
    """A job that got no place."""
    return Call(
        job_id=uuid4(),
        state=Call.State.SHED,
        reason=reason,
        retry_after_ms=retry_after_ms,
        arithmetic=msgspec.json.encode(bounds).decode(),
    )


def test_a_bound_says_what_waited_and_by_how_much_the_job_was_over() -> None:
    jobs, tokens = bounds(
        refused(bound("jobs", 60, 61, 1), bound("tokens", 2_000_000, 1_500_000, 2793))
    )
    assert (jobs.most, jobs.waiting, jobs.free, jobs.fits) == (60, 61, -1, False)
    assert jobs.words == "2 over the bound."
    assert (tokens.waiting, tokens.free, tokens.words) == (1_500_000, 500_000, "2,793 fits.")


def test_what_would_have_given_it_a_place_is_told() -> None:
    assert place_remedies(refused(bound("jobs", 60, 60, 1))) == [
        "had at most 59 jobs instead of 60 waited before it",
        "had the queue held 61 jobs instead of 60",
        "1 min 30 s later, as far as jobs leave the queue as they did of late and no others come",
    ]


def test_a_smaller_job_helps_where_only_tokens_are_short() -> None:
    over = bound("tokens", 2500, 2000, 501)
    assert "with 1 fewer tokens: 500 instead of 501" in place_remedies(refused(over))
    both = place_remedies(refused(bound("jobs", 2, 2, 1), over))
    assert both[:2] == [
        "had at most 1 jobs instead of 2 and 1,999 tokens instead of 2,000 waited before it",
        "had the queue held 3 jobs instead of 2 and 2,501 tokens instead of 2,500",
    ]


def test_a_job_larger_than_the_queue_is_to_be_smaller() -> None:
    never = refused(bound("tokens", 500, 0, 501), reason="never_fits", retry_after_ms=None)
    assert place_remedies(never) == [
        "with 1 fewer tokens: 500 instead of 501",
        "had the queue held 501 tokens instead of 500",
    ]


def test_a_draining_class_takes_jobs_again_once_it_is_resumed() -> None:
    assert place_remedies(refused(reason="paused")) == ["had its class not been draining"]


def test_without_numbers_nothing_is_made_up() -> None:
    assert place_remedies(refused()) == []
