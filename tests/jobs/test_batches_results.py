"""What becomes of jobs by the rows of their batch's results."""

import logging

import pytest

from budget import services
from budget.models import Call, Job, JobBatch
from tests.jobs.bulk import ask, enqueued_tokens, make_bulk_pool, states, work, work_until_closed
from tests.jobs.provider import Provider


def test_a_rejected_row_fails_for_good_in_the_providers_words(
    provider: Provider, kind: str
) -> None:
    make_bulk_pool(provider, kind)
    refused, fine = ask("refuse"), ask("ok")
    (batch,) = work_until_closed()
    assert states(refused, fine) == ["failed", "succeeded"]
    assert "I refuse" in services.job(refused)["error"]
    assert (batch.succeeded, batch.failed) == (1, 1)
    assert Call.objects.get(job_id=refused).used_input_tokens == 0
    assert provider.runs["refuse"] == 1


def test_a_row_that_failed_for_now_is_tried_again_and_counted(
    provider: Provider, kind: str
) -> None:
    make_bulk_pool(provider, kind)
    job_id = ask("break")
    work_until_closed()
    told = services.job(job_id)
    assert (told["state"], told["attempts"]) == ("queued", 1)
    assert "I break" in told["error"]


def test_an_expired_row_goes_back_uncounted_and_is_sent_again(
    provider: Provider, kind: str
) -> None:
    make_bulk_pool(provider, kind)
    job_id = ask("expire")
    work_until_closed()
    told = services.job(job_id)
    assert (told["state"], told["attempts"]) == ("queued", 0)
    work()
    assert provider.runs["expire"] == 2
    services.cancel_job(job_id)
    work_until_closed()
    assert enqueued_tokens() == 0


@pytest.mark.parametrize("ends", ["expired", "cancelled"])
def test_what_a_batch_did_before_its_end_counts(provider: Provider, ends: str) -> None:
    make_bulk_pool(provider, "openai")
    provider.ends = ends
    ids = [ask(f"ok {number}") for number in range(3)]
    (batch,) = work_until_closed()
    assert (batch.state, batch.succeeded) == ("done", 1)
    assert sorted(states(*ids)) == ["queued", "queued", "succeeded"]
    assert set(Job.objects.filter(state="queued").values_list("attempts", flat=True)) == {0}


def test_rows_that_are_not_ours_are_passed_over(
    provider: Provider, kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    make_bulk_pool(provider, kind)
    row = b'{"custom_id":"%s","response":{"status_code":200,"body":{}},"result":{"type":"expired"}}'
    provider.extra_lines = [row % b"of-somebody-else", row % (b"7" * 64)]
    job_id = ask()
    with caplog.at_level(logging.WARNING, "budget"):
        (batch,) = work_until_closed()
    assert states(job_id) == ["succeeded"]
    assert batch.state == "done"
    assert "of-somebody-else" in caplog.text
    assert "7777" in caplog.text


def test_results_cut_short_are_fetched_again(provider: Provider, kind: str) -> None:
    make_bulk_pool(provider, kind)
    provider.cuts = 2
    ids = [ask(f"ok {number}") for number in range(20)]
    work_until_closed()
    assert states(*ids) == ["succeeded"] * 20
    assert set(provider.runs.values()) == {1}


def test_what_can_be_read_is_kept_and_the_rest_goes_back(provider: Provider, kind: str) -> None:
    make_bulk_pool(provider, kind)
    ids = [ask(f"ok {number}") for number in range(20)]
    provider.cuts = 100
    for _ in range(8):
        work()
    first = JobBatch.objects.earliest("created_at")
    assert first.state == "done"
    assert 5 <= first.succeeded < 20
    assert "broke off" in first.error
    provider.cuts = 0
    work_until_closed()
    assert states(*ids) == ["succeeded"] * 20


def test_an_unreadable_row_costs_only_itself(provider: Provider, kind: str) -> None:
    make_bulk_pool(provider, kind)
    provider.extra_lines = [b"<html>", b'{"custom_id": 7}', b"\xff\xfe", b"", b"[1]"]
    ids = [ask(f"ok {number}") for number in range(3)]
    (batch,) = work_until_closed()
    assert states(*ids) == ["succeeded"] * 3
    assert batch.state == "done"


def test_a_page_instead_of_results_never_makes_it_run_twice(provider: Provider, kind: str) -> None:
    make_bulk_pool(provider, kind)
    job_id = ask()
    provider.fail("GET .*/(results|content)", 200, b"<html>out of order</html>", times=3)
    work_until_closed()
    assert states(job_id) == ["succeeded"]
    assert provider.runs["ok"] == 1


def test_separators_of_unicode_end_no_line(provider: Provider, kind: str) -> None:
    make_bulk_pool(provider, kind)
    job_id = ask("ok \u2028 \u0085 \x1c")
    work_until_closed()
    assert states(job_id) == ["succeeded"]


def test_a_result_may_be_told_twice(provider: Provider, kind: str) -> None:
    make_bulk_pool(provider, kind)
    job_id = ask()
    work_until_closed()
    before = services.job(job_id)
    JobBatch.objects.update(state="ended", held_until=None, finished_at=None)
    work_until_closed()
    assert services.job(job_id) == before
