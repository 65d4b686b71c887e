"""Batch endpoints that are down, refuse, or never end."""

from datetime import timedelta

import pytest
from django.utils import timezone

from budget import services
from budget.models import Job, JobBatch, Pool
from tests.jobs.bulk import (
    ADDRESSES,
    ask,
    enqueued_tokens,
    make_bulk_pool,
    states,
    work,
    work_until_closed,
)
from tests.jobs.clock import Clock, clock
from tests.jobs.provider import DROP, Provider
from tests.jobs.queueing import take

__all__ = ["clock"]

CREATE = {"openai": "POST /v1/batches", "anthropic": "POST /v1/messages/batches"}
FIRST = {"openai": "POST /v1/files", "anthropic": CREATE["anthropic"]}
"""The first request of a batch."""


@pytest.mark.parametrize("status", [301, 401, 402, 403, 404, 405, 410])
def test_a_wrong_key_or_address_costs_no_job(provider: Provider, kind: str, status: int) -> None:
    make_bulk_pool(provider, kind)
    job_id = ask()
    provider.fail(FIRST[kind], status)
    work()
    batch = JobBatch.objects.get()
    assert (batch.state, states(job_id)) == ("submitting", ["running"])
    assert str(status) in batch.error
    work_until_closed()
    assert states(job_id) == ["succeeded"]


def test_a_base_url_with_a_typo_is_mended_in_time(provider: Provider, kind: str) -> None:
    pool = make_bulk_pool(provider.url + "/typo", kind)
    ids = [ask() for _ in range(3)]
    work()
    assert states(*ids) == ["running"] * 3
    assert "404" in JobBatch.objects.get().error
    Pool.objects.filter(pk=pool.pk).update(base_url=provider.url + ADDRESSES[kind])
    work_until_closed()
    assert states(*ids) == ["succeeded"] * 3


def test_an_address_that_goes_wrong_meanwhile_makes_no_batch_run_twice(
    provider: Provider, kind: str
) -> None:
    pool = make_bulk_pool(provider, kind)
    provider.ends = ""
    job_id = ask()
    work()
    Pool.objects.filter(pk=pool.pk).update(base_url=provider.url + "/typo")
    for _ in range(8):
        work()
    assert (JobBatch.objects.get().state, states(job_id)) == ("running", ["running"])
    Pool.objects.filter(pk=pool.pk).update(base_url=provider.url + ADDRESSES[kind])
    provider.ends = "completed"
    work_until_closed()
    assert states(job_id) == ["succeeded"]
    assert provider.runs["ok"] == 1


@pytest.mark.parametrize("status", [408, 409, 500, 502, 503])
def test_a_batch_that_a_gateway_answered_for_is_looked_for(
    provider: Provider, kind: str, status: int
) -> None:
    make_bulk_pool(provider, kind)
    job_id = ask()
    provider.fail(CREATE[kind], status, done=True)
    work_until_closed()
    assert states(job_id) == ["succeeded"]
    assert provider.runs["ok"] == 1


def test_a_batch_that_was_sent_late_has_its_window_from_then_on(
    provider: Provider, kind: str, clock: Clock
) -> None:
    """Down for 2 hours, and then it needs 23.5 of its 24."""
    make_bulk_pool(provider, kind)
    provider.ends = ""
    clock.forward(-2 * 3600)
    job_id = ask()
    provider.fail("POST .*", 429)
    work()
    clock.forward(2 * 3600)
    JobBatch.objects.update(created_at=timezone.now() - timedelta(hours=2))
    work()
    assert JobBatch.objects.get().state == "running"
    clock.forward(23.5 * 3600)
    take(1, "bulk")
    assert states(job_id) == ["running"]
    provider.ends = "completed"
    work_until_closed()
    assert provider.runs["ok"] == 1


def test_jobs_whose_lease_was_over_as_it_was_sent_are_not_in_it(
    provider: Provider, kind: str, clock: Clock
) -> None:
    make_bulk_pool(provider, kind)
    ask()
    provider.fail(CREATE[kind], 429)
    work()
    JobBatch.objects.update(created_at=timezone.now() - timedelta(hours=26))
    clock.forward(25.1 * 3600)
    work()
    assert not provider.runs
    assert JobBatch.objects.get().state == "failed"


@pytest.mark.parametrize("status", [429, 500, 503, 529, 401, DROP])
def test_a_provider_in_trouble_is_tried_again(provider: Provider, kind: str, status: int) -> None:
    make_bulk_pool(provider, kind)
    job_id = ask()
    provider.fail(CREATE[kind], status, times=2)
    work()
    batch = JobBatch.objects.get()
    assert (batch.state, states(job_id)) == ("submitting", ["running"])
    assert kind in batch.error
    work_until_closed()
    assert states(job_id) == ["succeeded"]
    assert provider.runs["ok"] == 1


def test_a_provider_that_is_down_is_asked_less_and_less_often(kind: str, keys: None) -> None:
    make_bulk_pool("http://127.0.0.1:1", kind)
    ask()
    rests = []
    for _ in range(12):
        work()
        rest = JobBatch.objects.get().next_look_at - timezone.now()
        rests.append(round(rest.total_seconds()))
    assert rests == sorted(rests)
    assert (rests[0], rests[-1]) == (10, 300)
    assert "could not be reached" in JobBatch.objects.get().error


def test_jobs_whose_window_no_longer_fits_run_one_by_one(kind: str, keys: None) -> None:
    make_bulk_pool("http://127.0.0.1:1", kind)
    soon, later = ask(), ask()
    work()
    Job.objects.filter(pk=soon).update(deadline=timezone.now() + timedelta(hours=23, minutes=58))
    work()
    assert states(soon, later) == ["queued", "running"]
    assert [job.id for job in take(2, "bulk").jobs] == [soon]
    assert JobBatch.objects.get().state == "submitting"


def test_the_providers_own_wait_is_kept(provider: Provider, kind: str) -> None:
    make_bulk_pool(provider, kind)
    ask()
    provider.fail(".*", 429, headers={"retry-after": "40"})
    work()
    rest = JobBatch.objects.get().next_look_at - timezone.now()
    assert rest.total_seconds() == pytest.approx(40, abs=2)


def test_a_rejected_batch_fails_its_jobs_in_the_providers_words(
    provider: Provider, kind: str
) -> None:
    make_bulk_pool(provider, kind)
    ids = [ask(), ask()]
    provider.fail(CREATE[kind], 400, {"error": {"message": "No such model.", "type": "x"}})
    (batch,) = work_until_closed()
    assert states(*ids) == ["failed", "failed"]
    assert "No such model." in services.job(ids[0])["error"]
    assert (batch.state, batch.failed) == ("failed", 2)
    assert enqueued_tokens() == 0


def test_a_rejection_that_names_a_request_costs_only_that(provider: Provider) -> None:
    make_bulk_pool(provider, "anthropic")
    ids = sorted([ask(f"ok {number}") for number in range(3)])
    said = {"type": "invalid_request_error", "message": "requests.1.params.model: wrong"}
    provider.fail(CREATE["anthropic"], 400, {"type": "error", "error": said})
    work_until_closed()
    assert states(*ids) == ["queued", "failed", "queued"]
    work_until_closed()
    assert states(*ids) == ["succeeded", "failed", "succeeded"]
    assert "params.model: wrong" in services.job(ids[1])["error"]


def test_a_validation_that_names_a_line_costs_only_that(provider: Provider) -> None:
    make_bulk_pool(provider, "openai")
    ids = sorted([ask(f"ok {number}") for number in range(3)])
    provider.ends = "failed"
    provider.line_errors = [{"line": 2, "code": "invalid", "message": "No such parameter."}]
    work_until_closed()
    assert states(*ids) == ["queued", "failed", "queued"]
    provider.ends, provider.line_errors = "completed", []
    work_until_closed()
    assert states(*ids) == ["succeeded", "failed", "succeeded"]
    assert "No such parameter." in services.job(ids[1])["error"]


def test_a_validation_that_names_none_fails_all(provider: Provider) -> None:
    make_bulk_pool(provider, "openai")
    ids = [ask(), ask()]
    provider.ends = "failed"
    provider.line_errors = [{"code": "empty_file", "message": "The file is odd."}]
    work_until_closed()
    assert states(*ids) == ["failed", "failed"]
    assert "The file is odd." in services.job(ids[0])["error"]


def test_an_account_without_room_sends_the_jobs_back_for_a_while(provider: Provider) -> None:
    make_bulk_pool(provider, "openai")
    job_id = ask()
    provider.ends = "failed"
    provider.line_errors = [{"code": "token_limit_exceeded", "message": "Enqueued too much."}]
    work_until_closed()
    told = services.job(job_id)
    assert (told["state"], told["attempts"]) == ("queued", 0)
    assert told["not_before"] > timezone.now() + timedelta(minutes=4)


def test_a_stuck_batch_is_given_up_once_its_leases_are_over(provider: Provider, kind: str) -> None:
    make_bulk_pool(provider, kind)
    provider.ends = ""
    ask()
    work()
    long_ago = timezone.now() - timedelta(hours=28)
    JobBatch.objects.update(submitted_at=long_ago)
    (batch,) = work_until_closed()
    assert (batch.state, batch.error) == ("failed", "The provider never ended it.")


def test_results_that_never_come_are_given_up_in_words(provider: Provider, kind: str) -> None:
    make_bulk_pool(provider, kind)
    ask()
    work()
    provider.fail("GET .*/(results|content)", 529, times=100)
    work()
    JobBatch.objects.update(submitted_at=timezone.now() - timedelta(hours=28))
    (batch,) = work_until_closed()
    assert batch.error == "The provider never gave its results."


def test_results_are_awaited_however_long_the_provider_is_down(
    provider: Provider, kind: str
) -> None:
    make_bulk_pool(provider, kind)
    job_id = ask()
    work()
    provider.fail("GET .*/(results|content)", 529, times=100)
    for _ in range(15):
        work()
    assert JobBatch.objects.get().state == "ended"
    assert states(job_id) == ["running"]
    provider.faults.clear()
    work_until_closed()
    assert states(job_id) == ["succeeded"]
    assert provider.runs["ok"] == 1


def test_a_batch_that_the_provider_forgot_goes_back(provider: Provider, kind: str) -> None:
    make_bulk_pool(provider, kind)
    provider.ends = ""
    job_id = ask()
    work()
    provider.fail("GET .*batch_0", 404, times=100)
    provider.batches.clear()
    work_until_closed(rounds=8)
    assert JobBatch.objects.earliest("created_at").state == "failed"
    provider.faults.clear()
    provider.ends = "completed"
    work_until_closed()
    assert states(job_id) == ["succeeded"]


def test_without_a_key_the_batch_waits_and_says_so(
    provider: Provider, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_bulk_pool(provider, kind)
    job_id = ask()
    variable = f"{kind.upper()}_API_KEY"
    monkeypatch.delenv(variable)
    work()
    assert variable in JobBatch.objects.get().error
    monkeypatch.setenv(variable, "sk-test")
    work_until_closed()
    assert states(job_id) == ["succeeded"]
