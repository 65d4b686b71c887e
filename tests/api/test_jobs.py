"""Jobs over HTTP: given a place, looked at, cancelled."""

from uuid import UUID, uuid4

import pytest
from django.test import Client

from budget import conf, services
from budget.models import Call, Job, Pool, WorkloadClass
from tests.api.conftest import JOBS, Caller, lock_held
from tests.jobs.queueing import ECHO, finish, take_one

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_job_gets_its_place_and_hears_how_its_queue_stands(caller: Caller) -> None:
    caller.enqueue()
    answer = caller.enqueue(args={"claim": 7})

    body = answer.json()
    assert answer.status_code == 202
    assert set(body) == {
        "id",
        "state",
        "deadline",
        "position",
        "class_state",
        "depth",
        "oldest_wait_seconds",
        "expected_wait_seconds",
    }
    assert (body["state"], body["position"], body["depth"]) == ("queued", 2, 2)
    assert body["class_state"] == "green"
    assert body["oldest_wait_seconds"] >= 0


def test_a_job_is_looked_at_from_its_place_to_its_result(caller: Caller) -> None:
    job_id = caller.enqueue(args={"claim": 7}, source="claims.py:9", tags={"run": "1"}).json()["id"]

    queued = caller.get(f"{JOBS}/{job_id}").json()
    assert (queued["state"], queued["attempts"], queued["result"]) == ("queued", 0, None)
    assert (queued["pool"], queued["workload_class"], queued["task"]) == ("claims", "rescore", ECHO)
    assert (queued["args"], queued["source"], queued["tags"]) == (
        {"claim": 7},
        "claims.py:9",
        {"run": "1"},
    )
    finish(take_one(), result='{"score":0.7}')

    done = caller.get(f"{JOBS}/{job_id}").json()
    assert (done["state"], done["attempts"], done["result"]) == ("succeeded", 1, {"score": 0.7})
    assert (done["error"], done["not_before"]) == (None, None)
    assert [step["event"] for step in done["trail"]] == ["started", "succeeded"]
    assert caller.get(f"/api/v1/admissions/{done['call_id']}").status_code == 200


def test_the_same_idempotency_key_finds_the_same_job(caller: Caller) -> None:
    first, again = [caller.enqueue({"Idempotency-Key": "k1"}) for _ in range(2)]
    other = caller.enqueue({"Idempotency-Key": "k1"}, input_tokens=7)

    assert first.status_code == again.status_code == 202
    assert first.json()["id"] == again.json()["id"]
    assert other.status_code == 422
    assert Job.objects.count() == 1


def test_a_full_queue_refuses_with_its_depth_and_when_to_come_back(caller: Caller) -> None:
    WorkloadClass.objects.filter(slug="rescore").update(queue_limit=1)
    caller.enqueue()
    answer = caller.enqueue()

    body = answer.json()
    assert answer.status_code == 429
    assert answer.headers["Content-Type"] == "application/problem+json"
    assert (body["decision"], body["reason"], body["depth"]) == ("shed", "queue_full", 1)
    assert body["retryable"] is True
    assert int(answer.headers["Retry-After"]) >= 1
    assert int(answer.headers["retry-after-ms"]) == body["retry_after_ms"]
    assert "1 jobs" in body["detail"]


def test_a_draining_class_takes_no_job_and_says_so(caller: Caller) -> None:
    WorkloadClass.objects.filter(slug="rescore").update(draining=True)
    answer = caller.enqueue()

    assert answer.status_code == 429
    assert answer.json()["reason"] == "paused"
    assert "draining" in answer.json()["detail"]
    assert "Retry-After" in answer.headers


def test_a_job_that_never_fits_is_refused_for_good(caller: Caller) -> None:
    answer = caller.enqueue(input_tokens=10**9)

    assert answer.status_code == 422
    assert (answer.json()["reason"], answer.json()["retryable"]) == ("never_fits", False)
    assert "Retry-After" not in answer.headers
    assert Call.objects.get().job_id is not None


def test_a_queued_job_is_cancelled_and_never_starts(caller: Caller) -> None:
    job_id = caller.enqueue().json()["id"]
    answers = [caller.post(f"{JOBS}/{job_id}/cancel", b"") for _ in range(2)]

    assert [answer.status_code for answer in answers] == [200, 200]
    assert answers[0].json() == answers[1].json() == caller.get(f"{JOBS}/{job_id}").json()
    assert answers[0].json()["state"] == "cancelled"
    assert services.queues("claims")["rescore"].depth == 0


def test_a_finished_job_is_not_cancelled(caller: Caller) -> None:
    job_id = caller.enqueue().json()["id"]
    finish(take_one())
    answer = caller.post(f"{JOBS}/{job_id}/cancel", b"")

    assert answer.status_code == 409
    assert "succeeded" in answer.json()["detail"]


@pytest.mark.parametrize("job_id", [str(UUID(int=7)), "x", "%00", "7" * 400])
def test_a_job_nobody_made_is_not_found(caller: Caller, job_id: str) -> None:
    assert caller.get(f"{JOBS}/{job_id}").status_code == 404
    assert caller.post(f"{JOBS}/{job_id}/cancel", b"").status_code == 404


def test_another_keys_job_is_not_found(caller: Caller, other_caller: Caller) -> None:
    job_id = caller.enqueue().json()["id"]

    assert other_caller.get(f"{JOBS}/{job_id}").status_code == 404
    assert other_caller.post(f"{JOBS}/{job_id}/cancel", b"").status_code == 404
    assert caller.get(f"{JOBS}/{job_id}").json()["state"] == "queued"


def test_a_key_enqueues_only_for_its_classes_and_pools(
    nightly_caller: Caller, elsewhere_caller: Caller
) -> None:
    assert nightly_caller.enqueue(workload_class="nightly").status_code == 202
    assert nightly_caller.enqueue(workload_class="rescore").status_code == 403
    assert elsewhere_caller.enqueue().status_code == 403


def test_a_job_needs_a_key(stranger: Caller, revoked_caller: Caller) -> None:
    for caller in (stranger, revoked_caller):
        assert caller.enqueue().status_code == 401
        assert caller.get(f"{JOBS}/{uuid4()}").status_code == 401
        assert caller.post(f"{JOBS}/{uuid4()}/cancel", b"").status_code == 401


@pytest.mark.parametrize("field", ["pool", "workload_class"])
def test_an_unknown_pool_or_class_is_not_found(caller: Caller, field: str) -> None:
    assert caller.enqueue(**{field: "nowhere"}).status_code == 404


def test_arguments_over_the_bound_are_refused(caller: Caller) -> None:
    assert_refused(caller.enqueue(args={"text": "x" * conf.max_job_bytes()}), "args")


def test_a_body_over_the_bound_is_refused_unread(caller: Caller) -> None:
    body = b"{}" + b" " * (conf.max_job_bytes() + conf.max_body_bytes())

    assert caller.post(JOBS, body).status_code == 413


def test_a_ledger_that_does_not_answer_says_when_to_come_back(
    caller: Caller, pool: Pool, settings: object
) -> None:
    settings.BUDGET_LEDGER_WAIT_SECONDS = 0.2  # type: ignore[attr-defined]
    with lock_held(pool):
        answer = caller.enqueue()

    assert answer.status_code == 503
    assert "Retry-After" in answer.headers
    assert not Job.objects.exists()


def test_a_job_is_only_posted(client: Client, caller: Caller) -> None:
    answer = caller.get(JOBS)

    assert answer.status_code == 405
    assert answer.headers["Allow"] == "POST"


def assert_refused(answer: object, field: str) -> None:
    body = answer.json()  # type: ignore[attr-defined]
    assert answer.status_code == 400, body  # type: ignore[attr-defined]
    assert body["field"].partition("[")[0] == field, body
    assert not Job.objects.exists()
