"""`manage.py wait_until_green`: by its status a script knows whether to go on."""

import pytest
from django.core.management.base import CommandError

from budget.models import WorkloadClass
from tests.commands.conftest import Run
from tests.jobs.queueing import enqueue
from tests.ledger.pools import make_classes, make_pool

pytestmark = pytest.mark.usefixtures("committed", "full")


@pytest.fixture
def full(committed: None) -> None:
    """A pool on which the queue of `rescore` is full."""
    make_classes()
    make_pool()
    WorkloadClass.objects.filter(slug="rescore").update(queue_limit=1)
    enqueue()


def test_a_green_queue_lets_the_script_go_on(run: Run) -> None:
    assert run("wait_until_green", "claims", "nightly") == [
        "The queue of nightly on claims is green."
    ]


def test_a_queue_that_stays_full_ends_with_status_1_and_its_numbers(run: Run) -> None:
    with pytest.raises(CommandError) as told:
        run("wait_until_green", "claims", "rescore", "--timeout", "0.2", "--poll", "0.05")
    assert told.value.returncode == 1
    assert str(told.value) == (
        "The queue of rescore is red; depth: 1, expected wait: none is taken."
    )


def test_a_paused_queue_says_that_it_is(run: Run) -> None:
    WorkloadClass.objects.update(paused=True)
    with pytest.raises(CommandError, match="nightly is red, paused"):
        run("wait_until_green", "claims", "nightly", "--timeout", "0")


@pytest.mark.parametrize(
    ("pool", "workload_class", "words"),
    [
        ("nowhere", "rescore", "nowhere"),
        ("claims", "nobody", "There are: rescore, nightly."),
        ("claims", "adjuster", "There are: rescore, nightly."),
    ],
)
def test_what_has_no_queue_is_no_timeout(
    run: Run, pool: str, workload_class: str, words: str
) -> None:
    with pytest.raises(CommandError, match=words) as told:
        run("wait_until_green", pool, workload_class, "--timeout", "0")
    assert told.value.returncode == 2


@pytest.mark.parametrize("option", ["--timeout", "--poll"])
@pytest.mark.parametrize("value", ["-1", "nan", "inf", "soon"])
def test_seconds_that_are_none_are_refused(run: Run, option: str, value: str) -> None:
    with pytest.raises(CommandError, match="no number of seconds"):
        run("wait_until_green", "claims", "nightly", f"{option}={value}")


def test_looking_without_a_pause_is_refused(run: Run) -> None:
    with pytest.raises(CommandError, match="--poll must be more than 0"):
        run("wait_until_green", "claims", "nightly", "--poll", "0")
