"""What callers and editors write is text on every page, never markup."""

import json
from datetime import UTC, datetime
from html import escape
from uuid import uuid4

import pytest
from django.db import connection
from django.test import Client

from budget import services
from budget.ledger.operations import AdmissionRequest
from budget.models import ApiKey, JobBatch, Limit, Pool, WorkloadClass
from tests.admin.conftest import class_url, opened, pool_url, url
from tests.jobs.queueing import enqueue, finish, take_one

pytestmark = pytest.mark.usefixtures("committed")

MARKUP = "<script>alert(1)</script>"
QUOTES = "\"'><img src=x onerror=alert(2)>"


def assert_shown_as_text(client: Client, address: str, *texts: str) -> None:
    answer = client.get(address)
    assert answer.status_code == 200
    page = answer.content.decode()
    assert "<script>alert" not in page
    assert "<img src=x" not in page
    for text in texts:
        assert escape(text) in page


def test_source_and_tags_of_a_call(viewer: Client, claims: Pool) -> None:
    call = services.admit(
        AdmissionRequest(
            pool="claims",
            workload_class="adjuster",
            input_tokens=9,
            output_tokens=9,
            source=MARKUP,
            tags={"claim": QUOTES, "<b>": MARKUP},
        )
    )
    assert_shown_as_text(viewer, url("call_changelist"), MARKUP)
    assert_shown_as_text(viewer, url("call_change", call.id), MARKUP, QUOTES, "<b>")
    assert_shown_as_text(viewer, url("call_changelist") + f"?q={MARKUP}", MARKUP)


def test_arguments_results_errors_and_tags_of_a_job(editor: Client, claims: Pool) -> None:
    fields = {"source": MARKUP, "tags": {"claim": QUOTES, "<b>": MARKUP}, "args": {MARKUP: QUOTES}}
    job_id = enqueue(**fields).id
    finish(take_one(), result=json.dumps([MARKUP]), error=MARKUP)
    ending = {"ending": "failed", "outcome": "failed", "final": True}
    failed = enqueue(**fields).id
    finish(take_one(), error=MARKUP, **ending)
    assert_shown_as_text(editor, url("job_changelist"), MARKUP)
    assert_shown_as_text(editor, url("job_change", job_id), MARKUP, "<b>")
    assert_shown_as_text(editor, url("job_change", failed), MARKUP, "<b>")
    waits = enqueue(**fields).id
    cancel = f"{url('job_cancel')}?ids={waits}"
    assert_shown_as_text(editor, cancel)
    editor.post(cancel, {"reason": MARKUP})
    assert_shown_as_text(editor, url("job_change", waits), MARKUP)
    assert_shown_as_text(editor, url("job_history", waits), MARKUP)


def test_a_batch_of_a_providers_words(viewer: Client, claims: Pool) -> None:
    now = datetime.now(UTC)
    batch = JobBatch.objects.create(
        id=uuid4(),
        pool_id=claims.pk,
        model=MARKUP,
        provider_id=QUOTES,
        error=MARKUP,
        created_at=now,
        next_look_at=now,
    )
    assert_shown_as_text(viewer, url("jobbatch_changelist"), MARKUP, QUOTES)
    assert_shown_as_text(viewer, url("jobbatch_change", batch.pk), MARKUP, QUOTES)


def test_reasons_and_authors(editor: Client, root: Client, claims: Pool) -> None:
    fields = opened(editor, pool_url(claims)) | {"mode": "observe", "reason": QUOTES}
    assert editor.post(pool_url(claims), fields).status_code == 302
    editor.post(url("pool_switch", "pause") + f"?ids={claims.pk}", {"reason": MARKUP})
    root.post(
        url("apikey_add"),
        {"name": QUOTES, "all_classes": "on", "all_pools": "on", "reason": MARKUP},
    )
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT set_config('pghistory.context_metadata', "
            "jsonb_build_object('username', %s::text, 'address', %s::text)::text, false)",
            [MARKUP, QUOTES],
        )
        Limit.objects.filter(algorithm="gauge").update(amount=41)
        cursor.execute("SELECT set_config('pghistory.context_metadata', '', false)")
    history = url("policyhistory_changelist")
    assert_shown_as_text(root, history, MARKUP, QUOTES)
    assert_shown_as_text(editor, url("pool_history", claims.pk), MARKUP, QUOTES)
    listed = editor.get(history).context["told"]
    assert_shown_as_text(editor, listed[1].url, MARKUP)
    reverts = [told.revert_url for told in listed]
    assert_shown_as_text(editor, reverts[1], MARKUP)
    assert_shown_as_text(editor, reverts[2], QUOTES)
    (key,) = ApiKey.objects.all()
    assert_shown_as_text(root, url("apikey_changelist"), QUOTES)
    assert_shown_as_text(root, url("apikey_delete", key.pk), QUOTES)
    invalid = editor.post(
        pool_url(claims), opened(editor, pool_url(claims)) | {"provider": MARKUP, "reason": QUOTES}
    ).content.decode()
    assert escape(QUOTES) in invalid
    assert "<script>alert" not in invalid + str(reverts)


def test_who_overtook_an_edit(editor: Client, claims: Pool) -> None:
    fields = opened(editor, pool_url(claims))
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT set_config('pghistory.context_metadata', "
            "jsonb_build_object('username', %s::text)::text, false)",
            [MARKUP],
        )
        Limit.objects.filter(algorithm="gauge").update(amount=41)
        cursor.execute("SELECT set_config('pghistory.context_metadata', '', false)")
    page = editor.post(pool_url(claims), fields | {"reason": "late"}).content.decode()
    assert escape(MARKUP) in page
    assert MARKUP not in page


@pytest.mark.parametrize("slug", [MARKUP, QUOTES])
def test_a_slug_is_never_markup(editor: Client, claims: Pool, slug: str) -> None:
    for page, more in (
        ("pool_add", {"provider": "openai"}),
        ("workloadclass_add", {"tier": "bulk", "deadline_seconds": "60"}),
    ):
        fields = opened(editor, url(page)) | more | {"slug": slug, "reason": "x"}
        answer = editor.post(url(page), fields)
        assert answer.status_code == 200
        assert slug not in answer.content.decode()
    assert Pool.objects.count() == 1
    assert WorkloadClass.objects.count() == 3
    assert_shown_as_text(editor, class_url("nightly"))
