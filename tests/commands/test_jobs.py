"""`manage.py jobs`: the queues, shown and steered."""

import json
import re

import pytest
from django.core.management.base import CommandError
from django.db.models import Q

from budget import services
from budget.models import Job, Pool, WorkloadClass
from budget.policy import rows
from budget.policy.audit import account
from tests.commands.conftest import Run
from tests.jobs.queueing import enqueue, finish, take, take_one
from tests.ledger.pools import make_classes, make_pool

pytestmark = pytest.mark.usefixtures("committed", "pool")


@pytest.fixture
def pool(committed: None) -> Pool:
    make_classes()
    return make_pool()


def test_without_a_verb_there_is_a_line_for_each_queue(run: Run) -> None:
    for _ in range(2):
        enqueue(tokens=1500)
    take_one()
    lines = [line.split("  ") for line in run("jobs")]
    heading, rescore, nightly = [[cell.strip() for cell in line if cell] for line in lines]
    assert heading[:5] == ["pool", "class", "state", "order", "depth"]
    assert rescore[:7] == [
        "claims",
        "rescore",
        "green",
        "earliest deadline first",
        "1",
        "1,500",
        "1",
    ]
    assert rescore[8].endswith(" s")
    assert float(rescore[9]) > 0
    assert nightly == [
        "claims",
        "nightly",
        "green",
        "earliest deadline first",
        "0",
        "0",
        "0",
        "nobody waits",
        "0.0 s",
        "0.0",
    ]


def test_a_switched_off_queue_says_by_what(run: Run) -> None:
    WorkloadClass.objects.update(paused=True, draining=True)
    assert "red, paused, draining" in run("jobs")[1]


def test_a_queue_whose_next_job_is_refused_says_why(run: Run) -> None:
    enqueue(tokens=50_000)
    enqueue(tokens=50_000)
    take_one()
    assert take().jobs == []
    (line,) = [line for line in run("jobs") if "rescore" in line]
    assert "pool exhausted" in line


def test_json_holds_what_the_services_tell(run: Run) -> None:
    enqueue()
    rescore, nightly = json.loads("\n".join(run("jobs", "--json")))
    assert (rescore["pool"], rescore["workload_class"], rescore["depth"]) == (
        "claims",
        "rescore",
        1,
    )
    assert nightly["expected_wait_seconds"] == 0
    assert nightly["oldest_wait_seconds"] is None


def test_one_pool_can_be_asked_for(run: Run) -> None:
    make_pool(slug="other")
    assert len(run("jobs")) == 5
    assert [line.split()[0] for line in run("jobs", "--pool", "other")] == ["pool", *["other"] * 2]
    with pytest.raises(CommandError, match=r"no pool nowhere. There are: claims, other"):
        run("jobs", "--pool", "nowhere")


def test_no_pools_have_no_queues(run: Run) -> None:
    Pool.objects.all().delete()
    assert run("jobs") == ["There are no pools with near-line or bulk classes."]
    assert run("jobs", "--json") == ["[]"]


@pytest.mark.parametrize(
    ("verb", "paused", "draining"), [("pause", True, False), ("drain", False, True)]
)
def test_a_class_is_switched_and_resumed_with_author_and_reason(
    run: Run, verb: str, paused: bool, draining: bool
) -> None:
    (line,) = run("jobs", verb, "nightly", "--reason", "upgrade")
    assert "nightly" in line
    row = WorkloadClass.objects.get(slug="nightly")
    assert (row.paused, row.draining) == (paused, draining)
    context = rows.WORKLOAD_CLASS.events.objects.latest("pgh_id").pgh_context
    assert (context["command"], context["reason"]) == (f"jobs {verb} nightly", "upgrade")
    assert "account" in context

    run("jobs", "resume", "nightly")
    row.refresh_from_db()
    assert (row.paused, row.draining) == (False, False)


def test_resuming_ends_pause_and_drain_in_one_change(run: Run) -> None:
    WorkloadClass.objects.filter(slug="nightly").update(paused=True, draining=True)
    before = rows.WORKLOAD_CLASS.events.objects.count()
    run("jobs", "resume", "nightly")
    assert rows.WORKLOAD_CLASS.events.objects.count() == before + 1


def test_switching_twice_says_so_and_leaves_no_event(run: Run) -> None:
    run("jobs", "drain", "nightly")
    before = rows.WORKLOAD_CLASS.events.objects.count()
    assert run("jobs", "drain", "nightly") == ["Nothing was changed: it was so already."]
    assert rows.WORKLOAD_CLASS.events.objects.count() == before


@pytest.mark.parametrize("verb", ["pause", "resume", "drain", "cancel"])
def test_an_unknown_class_is_answered_with_the_known_ones(run: Run, verb: str) -> None:
    known = r"no workload class nigthly. There are: adjuster, rescore, nightly."
    with pytest.raises(CommandError, match=known):
        run("jobs", verb, "nigthly")


def test_cancelling_ends_all_that_wait_and_nothing_else(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("budget.management.commands.jobs.AT_ONCE", 2)
    enqueue()
    done, running = take_one(), enqueue()
    finish(done)
    take_one()
    waiting = [enqueue().id for _ in range(5)]
    other = enqueue("nightly")
    assert run("jobs", "cancel", "rescore", "--reason", "wrong model") == [
        "Cancelled 5 jobs of rescore on claims."
    ]
    assert set(Job.objects.filter(state="cancelled").values_list("pk", flat=True)) == set(waiting)
    assert services.job(waiting[0])["error"] == f"wrong model (by {account()})"
    assert services.job(running.id)["state"] == "running"
    assert services.job(other.id)["state"] == "queued"
    assert services.queues("claims")["rescore"].depth == 0


def test_cancelling_can_be_kept_to_one_pool(run: Run) -> None:
    make_pool(slug="other")
    enqueue()
    assert run("jobs", "cancel", "rescore", "--pool", "other") == [
        "Cancelled 0 jobs of rescore on other."
    ]
    assert services.queues("claims")["rescore"].depth == 1
    assert "on claims, other." in run("jobs", "cancel", "rescore")[0]
    assert services.queues("claims")["rescore"].depth == 0


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("--pool claims pause rescore", "A class is paused on all pools; --pool is for cancel."),
        ("pause rescore --pool claims", "A class is paused on all pools; --pool is for cancel."),
        ("drain rescore --pool claims", "A class is drained on all pools; --pool is for cancel."),
        ("resume rescore --pool claims", "A class is resumed on all pools; --pool is for cancel."),
        ("--json drain rescore", "drain prints no JSON: leave --json out."),
        ("cancel rescore --json", "cancel prints no JSON: leave --json out."),
    ],
)
def test_an_option_that_a_verb_has_no_use_for_is_refused(run: Run, line: str, says: str) -> None:
    with pytest.raises(CommandError, match=re.escape(says)):
        run("jobs", *line.split())
    assert not WorkloadClass.objects.filter(Q(paused=True) | Q(draining=True)).exists()
