"""Jobs are browsed, and cancelled with a reason."""

from uuid import UUID, uuid4

import pytest
from django.contrib import admin
from django.contrib.admin.models import LogEntry
from django.test import Client
from django.utils import timezone

from budget import services
from budget.admin.job import MOST_SHOWN, pretty
from budget.admin.job_batch import JobBatchAdmin
from budget.models import Call, Job, JobBatch, Pool
from tests.admin.conftest import client_with, url
from tests.jobs.queueing import ECHO, enqueue, finish, take_one

batches = JobBatchAdmin(JobBatch, admin.site)
pytestmark = pytest.mark.usefixtures("committed", "claims")


def found(client: Client, query: str) -> set[UUID]:
    answer = client.get(url("job_changelist") + query)
    assert answer.status_code == 200
    return {job.pk for job in answer.context["cl"].result_list}


def cancel_url(*ids: UUID) -> str:
    return f"{url('job_cancel')}?ids={','.join(map(str, ids))}"


def state(job_id: UUID) -> str:
    return Job.objects.get(pk=job_id).state


def test_jobs_are_filtered_and_searched(viewer: Client, claims: Pool) -> None:
    done = enqueue(source="claims/score.py:12").id
    finish(take_one())
    waits = enqueue("nightly").id
    both = {done, waits}
    assert found(viewer, "") == both
    assert found(viewer, "?workload_class=nightly") == {waits}
    assert found(viewer, "?state__exact=succeeded") == {done}
    assert found(viewer, f"?pool_id={claims.pk}") == both
    assert found(viewer, "?pool_id=x") == set()
    assert found(viewer, "?q=score.py") == {done}
    assert found(viewer, f"?q={ECHO}") == both
    assert found(viewer, f"?q={waits}") == {waits}
    assert found(viewer, "?enqueued_at__gte=2020-01-01 00:00:00%2B00:00") == both
    assert found(viewer, "?enqueued_at__gte=2999-01-01 00:00:00%2B00:00") == set()
    assert viewer.get(url("job_changelist") + "?enqueued_at__gte=x").status_code == 302


def test_a_job_shows_its_trail_calls_arguments_and_result(viewer: Client) -> None:
    job_id, same = (
        enqueue(args={"claim": 7}, tags={"run": "R-9"}, idempotency_key="k").id for _ in range(2)
    )
    assert job_id == same
    finish(take_one(), ending="failed", outcome="failed", error="no luck", rest_seconds=0)
    finish(take_one(), result='{"score":[1]}')
    page = viewer.get(url("job_change", job_id))
    text = page.content.decode()
    assert [step.event for step in page.context["steps"]] == [
        "Asked for again",
        "Started",
        "Failed",
        "Started",
        "Succeeded",
    ]
    for words in ("no luck", "R-9", "&quot;claim&quot;: 7", "&quot;score&quot;: [\n    1\n  ]"):
        assert words in text
    for call in Call.objects.filter(job_id=job_id):
        assert url("call_change", call.pk) in text
        assert url("job_change", job_id) in viewer.get(url("call_change", call.pk)).content.decode()
    assert 'name="_save"' not in text


def test_a_job_nobody_made_is_not_found(viewer: Client) -> None:
    assert viewer.get(url("job_change", uuid4())).status_code == 302


def test_an_editor_cancels_a_job_with_a_reason(editor: Client) -> None:
    job_id = enqueue().id
    assert cancel_url(job_id) in editor.get(url("job_change", job_id)).content.decode()
    unsaid = editor.post(cancel_url(job_id), {"reason": " "}).content.decode()
    assert "Say why, in a few words: the job shows it." in unsaid
    assert "Example: sent twice." in unsaid
    assert state(job_id) == "queued"
    answer = editor.post(cancel_url(job_id), {"reason": "wrong model"})
    assert answer["Location"] == url("job_change", job_id)
    assert state(job_id) == "cancelled"
    page = editor.get(url("job_change", job_id)).content.decode()
    assert "wrong model (by ada)" in page
    assert "/cancel/" not in page
    (entry,) = LogEntry.objects.filter(object_id=str(job_id))
    assert (entry.user.username, entry.change_message) == ("ada", "Cancelled: wrong model")
    assert services.job(job_id)["error"] == "wrong model (by ada)"


def test_what_has_ended_is_offered_no_cancelling(editor: Client) -> None:
    job_id = enqueue().id
    finish(take_one())
    page = editor.get(url("job_change", job_id)).content.decode()
    assert "Cancel…" not in page
    assert url("job_history", job_id) not in page
    answer = editor.get(cancel_url(job_id), follow=True)
    assert answer.redirect_chain[-1][0] == url("job_change", job_id)
    assert "Nothing to cancel: all has ended." in answer.content.decode()


def test_several_jobs_are_cancelled_from_the_list(editor: Client) -> None:
    ended, *ids = [enqueue().id for _ in range(3)]
    finish(take_one())
    assert state(ended) == "succeeded"
    chosen = {"action": "cancel_selected", "_selected_action": [ended, *ids]}
    answer = editor.post(url("job_changelist"), chosen)
    asked = editor.get(answer["Location"]).content.decode()
    assert "these 2 jobs?" in asked
    assert "1 more has ended already and stays as it is." in asked
    page = editor.post(answer["Location"], {"reason": "storm"}, follow=True).content.decode()
    assert {state(job_id) for job_id in ids} == {"cancelled"}
    assert "Cancelled 2 jobs." in page
    assert LogEntry.objects.count() == 2


def test_the_list_tells_where_a_job_comes_from_and_why_it_failed(viewer: Client) -> None:
    enqueue(source="claims/score.py:12")
    unnamed = enqueue("nightly")
    finish(take_one(), ending="failed", outcome="failed", error="no luck " * 50, final=True)
    page = viewer.get(url("job_changelist"))
    text = page.content.decode()
    assert "claims/score.py:12" in text
    assert f'<td class="field-caller">{ECHO}</td>' in text
    assert "no luck no luck" in text
    assert "no luck " * 20 not in text
    assert state(unnamed.id) == "queued"
    assert "?workload_class=nightly" in text
    assert "?workload_class=adjuster" not in text


def test_a_job_run_directly_has_no_badge_of_the_batch_endpoint(viewer: Client) -> None:
    job_id = enqueue("nightly").id
    Job.objects.filter(pk=job_id).update(batchable=True)
    address = url("job_change", job_id)
    badge = '<span class="budget-badge">batch endpoint</span>'
    assert badge not in viewer.get(address).content.decode()
    Job.objects.filter(pk=job_id).update(batch_id=uuid4())
    assert badge in viewer.get(address).content.decode()


@pytest.mark.parametrize(
    ("outcome", "words"),
    [("rate_limited", "sent away by the provider"), ("cancelled", "never left")],
)
def test_a_call_that_never_left_gives_back_what_it_was_charged(
    viewer: Client, outcome: str, words: str
) -> None:
    job_id = enqueue(tokens=900).id
    finish(take_one(), ending="sent_away", outcome=outcome, rest_seconds=0)
    pill = f'<span class="budget-badge budget-given-back">{words}</span>'
    (call,) = Call.objects.filter(job_id=job_id)
    page = viewer.get(url("job_change", job_id)).content.decode()
    assert pill in page
    assert page.count(">given back</td>") == 2
    assert pill in viewer.get(url("call_changelist")).content.decode()
    of_call = viewer.get(url("call_change", call.pk)).content.decode()
    assert pill in of_call
    assert f"Used, {words}" in of_call
    assert of_call.count(">given back</td>") == 3


def test_too_many_jobs_are_left_to_the_command(
    editor: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("budget.admin.job.MOST_AT_ONCE", 1)
    ids = [enqueue().id for _ in range(2)]
    chosen = {"action": "cancel_selected", "_selected_action": ids}
    page = editor.post(url("job_changelist"), chosen, follow=True).content.decode()
    assert "manage.py jobs cancel CLASS" in page
    assert {state(job_id) for job_id in ids} == {"queued"}


@pytest.mark.parametrize("ids", ["", "x", str(UUID(int=7)), "%00"])
def test_nothing_to_cancel_is_not_found(editor: Client, ids: str) -> None:
    assert editor.get(f"{url('job_cancel')}?ids={ids}").status_code == 404


def test_who_may_only_look_cancels_nothing(viewer: Client, staff: Client) -> None:
    job_id = enqueue().id
    for client in (viewer, staff, client_with("cleo", "view_job", "change_pool")):
        assert client.get(cancel_url(job_id)).status_code == 403
        assert client.post(cancel_url(job_id), {"reason": "x"}).status_code == 403
    assert "/cancel/" not in viewer.get(url("job_change", job_id)).content.decode()
    assert "cancel_selected" not in viewer.get(url("job_changelist")).content.decode()
    chosen = {"action": "cancel_selected", "_selected_action": [job_id]}
    assert "/cancel/" not in viewer.post(url("job_changelist"), chosen).get("Location", "")
    assert state(job_id) == "queued"


def test_nobody_is_sent_to_the_login_and_no_other_site_cancels(
    anonymous: Client, root: Client
) -> None:
    job_id = enqueue().id
    assert "/login/" in anonymous.post(cancel_url(job_id), {"reason": "x"})["Location"]
    careful = Client(enforce_csrf_checks=True)
    careful.cookies = root.cookies
    assert careful.post(cancel_url(job_id), {"reason": "x"}).status_code == 403
    assert state(job_id) == "queued"


def test_a_batch_shows_its_counts_and_leads_to_its_jobs(viewer: Client, claims: Pool) -> None:
    now = timezone.now()
    batch = JobBatch.objects.create(
        id=uuid4(),
        pool_id=claims.pk,
        model="gpt-4o-mini",
        requests=1204,
        size=2_300_000,
        succeeded=1200,
        failed=4,
        provider_id="batch_abc",
        created_at=now,
        next_look_at=now,
    )
    job_id = enqueue("nightly").id
    Job.objects.filter(pk=job_id).update(batch_id=batch.pk)
    listed = viewer.get(url("jobbatch_changelist")).content.decode()
    assert "1,204 (2.3 MB)" in listed
    page = viewer.get(url("jobbatch_change", batch.pk)).content.decode()
    assert "1,200 succeeded, 4 failed" in page
    assert ">its 1 job</a>" in page
    assert "batch_abc" in page
    assert f"?batch_id__exact={batch.pk}" in page
    assert found(viewer, f"?batch_id__exact={batch.pk}") == {job_id}
    assert (
        url("jobbatch_change", batch.pk) in viewer.get(url("job_change", job_id)).content.decode()
    )


@pytest.mark.parametrize(
    ("size", "words"), [(0, "(0 bytes)"), (14_230, "(14.2 KB)"), (2_300_000, "(2.3 MB)")]
)
def test_a_batch_of_any_size_tells_it(size: int, words: str) -> None:
    assert batches.requests_in_words(JobBatch(requests=3, size=size)) == f"3 {words}"


@pytest.mark.parametrize("text", ["[" * 900 + "]" * 900, '"' + "x" * 2 * MOST_SHOWN + '"', "{"])
def test_odd_arguments_are_shown_too(viewer: Client, text: str) -> None:
    job_id = enqueue().id
    Job.objects.filter(pk=job_id).update(args=text, result=text)
    assert viewer.get(url("job_change", job_id)).status_code == 200
    assert len(pretty(text)) < MOST_SHOWN + 100


def test_a_jobs_pool_that_is_gone_leaves_its_number(viewer: Client, claims: Pool) -> None:
    job_id = enqueue().id
    number = claims.pk
    claims.delete()
    assert f"#{number}" in viewer.get(url("job_changelist")).content.decode()
    assert viewer.get(url("job_change", job_id)).status_code == 200


def test_queues_stand_on_the_pages_of_pool_and_class(viewer: Client, claims: Pool) -> None:
    services.queues("claims")
    enqueue(tokens=1234)
    page = viewer.get(url("pool_change", claims.pk))
    rescore, nightly = page.context["queues"]
    assert (rescore.view.depth, nightly.view.depth) == (1, 0)
    text = page.content.decode()
    for words in ("earliest deadline first", "1,234", "nobody waits", "1,000 jobs"):
        assert words in text
    assert '<span class="budget-badge budget-green">green</span>' in text
    (of_class,) = viewer.get(url("workloadclass_change", rescore.workload_class.pk)).context[
        "queues"
    ]
    assert of_class.view.depth == 1
