"""Work is carried along with the code that does it."""

import asyncio
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from budget.client.carried import Workload, current
from budget.client.headers import incoming, outgoing
from budget.client.workload import workload


def slug() -> str | None:
    found = current()
    return found and found.workload_class


def test_a_block_tags_what_is_in_it_and_nothing_after_it() -> None:
    with workload("adjuster", deadline=2.0, source="claims", tenant="north") as begun:
        assert current() is begun
        assert begun.tags == {"tenant": "north"}
        assert begun.source == "claims"
        assert 1.9 < (begun.remaining_seconds or 0) <= 2.0
    assert current() is None


@pytest.mark.parametrize(
    ("outer", "inner", "least", "most"),
    [(2.0, 5.0, 1.9, 2.0), (5.0, 2.0, 1.9, 2.0), (None, 3.0, 2.9, 3.0), (3.0, None, 2.9, 3.0)],
)
def test_a_nested_block_only_tightens_the_deadline(
    outer: float | None, inner: float | None, least: float, most: float
) -> None:
    with workload("adjuster", deadline=outer), workload("rescore", deadline=inner) as begun:
        assert least < (begun.remaining_seconds or 0) <= most
        assert begun.workload_class == "rescore"


def test_nested_blocks_add_their_tags_and_keep_the_source() -> None:
    with workload("a", source="intake", tenant="north", step="1"), workload("b", step="2") as begun:
        assert begun.tags == {"tenant": "north", "step": "2"}
        assert begun.source == "intake"


def test_a_block_ends_as_it_should_after_an_error() -> None:
    with workload("outer"):
        with pytest.raises(ZeroDivisionError), workload("inner"):
            _ = 1 / 0
        assert slug() == "outer"


def test_a_generator_that_stops_in_a_block_of_its_own_leaves_nothing_behind() -> None:
    def items() -> Iterator[str | None]:
        with workload("inner"):
            yield slug()

    with workload("outer"):
        left = items()
        assert next(left) == "inner"
    assert slug() is None
    left.close()
    assert slug() is None
    with workload("outer"):
        assert list(items()) == ["inner"]
        assert slug() == "outer"


def test_the_time_left_never_falls_below_nothing() -> None:
    assert Workload("adjuster", ends=time.monotonic() - 5).remaining_seconds == 0.0


@pytest.mark.parametrize("deadline", [0, -3.5])
def test_a_deadline_that_is_over_leaves_no_time(deadline: float) -> None:
    with workload("adjuster", deadline=deadline) as begun:
        assert begun.remaining_seconds == 0.0


def test_one_block_may_be_entered_by_many_threads_at_once() -> None:
    block, both, seen = workload("shared"), threading.Barrier(4), []

    def work() -> None:
        with block:
            both.wait(5)
            seen.append(slug())
            both.wait(5)
        seen.append(slug())

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(map(str, seen)) == ["None"] * 4 + ["shared"] * 4


def test_threads_follow_the_block_they_are_started_in() -> None:
    seen: list[str | None] = []
    with workload("adjuster"):
        thread = threading.Thread(target=lambda: seen.append(slug()))
        thread.start()
    thread.join()
    assert seen == ["adjuster"]


def test_a_pool_works_for_whoever_gave_it_the_work_and_not_for_who_started_its_threads() -> None:
    with ThreadPoolExecutor(max_workers=1) as pool:
        with workload("adjuster"):
            first = pool.submit(slug)
        second = pool.submit(slug)
        with workload("rescore"):
            third = pool.submit(slug)
    assert (first.result(), second.result(), third.result()) == ("adjuster", None, "rescore")


def test_asyncio_tasks_and_their_threads_follow() -> None:
    async def work() -> list[str | None]:
        with workload("rescore"):
            task = asyncio.create_task(asyncio.to_thread(slug))
        with workload("adjuster"):
            return [await task, slug(), await asyncio.to_thread(slug)]

    assert asyncio.run(work()) == ["rescore", "adjuster", "adjuster"]


def test_a_decorated_function_is_tagged_each_time_with_a_deadline_of_its_own() -> None:
    @workload("adjuster", deadline=2.0)
    def answer(factor: int) -> tuple[int, str | None, float]:
        """Answers."""
        left = current()
        return 2 * factor, slug(), (left and left.remaining_seconds) or 0

    assert answer.__doc__ == "Answers."
    for _ in range(2):
        doubled, name, left = answer(21)
        assert (doubled, name) == (42, "adjuster")
        assert left > 1.9
    assert current() is None


def test_a_decorated_coroutine_is_tagged_while_it_runs() -> None:
    @workload("adjuster")
    async def answer() -> str | None:
        await asyncio.sleep(0)
        return slug()

    async def both() -> list[str | None]:
        return [await answer(), slug()]

    assert asyncio.run(both()) == ["adjuster", None]


@pytest.mark.parametrize(
    ("field", "make"),
    [
        ("workload_class", lambda: workload("not a slug")),
        ("workload_class", lambda: workload(7)),  # type: ignore[arg-type]
        ("deadline", lambda: workload("a", deadline=float("nan"))),
        ("deadline", lambda: workload("a", deadline="2")),  # type: ignore[arg-type]
        ("source", lambda: workload("a", source="x" * 201)),
        ("tenant", lambda: workload("a", tenant="\0")),
        ("tags", lambda: workload("a", **{f"tag{n}": n for n in range(21)})),
        ("tags", lambda: workload.of("a", None, "", {"": "x"})),
    ],
)
def test_what_the_service_would_refuse_is_refused_by_name(field: str, make: object) -> None:
    with pytest.raises(ValueError, match=field):
        make()  # type: ignore[operator]


def test_a_workload_travels_in_headers_with_what_is_left_of_its_time() -> None:
    with workload.of("adjuster", 2.0, "claims/ask.py:5 ask", {"käse": "=&\n"}) as sent:
        headers = outgoing()
    assert all(value.isascii() and value.isprintable() for value in headers.values())
    block = incoming(headers)
    assert block is not None
    with block as received:
        assert received.workload_class == sent.workload_class
        assert received.source == sent.source
        assert received.tags == sent.tags
        assert 1.8 < (received.remaining_seconds or 0) <= 2.0


def test_no_workload_no_headers() -> None:
    assert outgoing() == {}
    assert incoming({"Budget-Remaining-Ms": "5"}) is None


@pytest.mark.parametrize(
    ("header", "value"),
    [
        ("Budget-Remaining-Ms", "soon"),
        ("Budget-Remaining-Ms", "9" * 13),
        ("Budget-Tags", "a=" + "b" * 201),
        ("Budget-Tags", "x" * 8001),
        ("Budget-Source", "x" * 201),
        ("Budget-Workload-Class", "no slug"),
    ],
)
def test_a_malformed_header_is_refused_in_words(header: str, value: str) -> None:
    with pytest.raises(ValueError, match=f"^{header}: "):
        incoming({"Budget-Workload-Class": "adjuster", header: value})
