"""The class page."""

import pytest
from django.test import Client

from budget.models import Pool, WorkloadClass
from budget.policy import rows
from tests.admin.conftest import class_url, opened, url

pytestmark = pytest.mark.django_db


def test_a_class_is_changed_with_a_reason(editor: Client, claims: Pool) -> None:
    fields = opened(editor, class_url("rescore")) | {"deadline_seconds": "600"}
    assert editor.post(class_url("rescore"), fields).status_code == 200
    assert editor.post(class_url("rescore"), fields | {"reason": "slower"}).status_code == 302
    assert WorkloadClass.objects.get(slug="rescore").deadline_seconds == 600


def test_a_class_that_no_longer_fits_a_pool_is_refused_at_its_field(
    editor: Client, claims: Pool
) -> None:
    fields = opened(editor, class_url("nightly")) | {"max_call_tokens": "31000", "reason": "big"}
    answer = editor.post(class_url("nightly"), fields)
    errors = answer.context["adminform"].form.errors
    assert "Pool claims: On total_tokens/token_bucket" in str(errors["max_call_tokens"])
    assert WorkloadClass.objects.get(slug="nightly").max_call_tokens == 16_000


@pytest.mark.parametrize(
    ("field", "value", "says"),
    [
        ("queue_tokens", "5", "Set it to 16,000 or more"),
        ("queue_tokens", "0", "greater than or equal to 1."),
        ("queue_tokens", "-1", "greater than or equal to 1."),
        ("queue_limit", "0", "greater than or equal to 1."),
        ("queue_limit", "-1", "greater than or equal to 1."),
    ],
)
def test_a_queue_that_can_hold_no_job_is_refused_at_its_field(
    editor: Client, claims: Pool, field: str, value: str, says: str
) -> None:
    fields = opened(editor, class_url("rescore")) | {field: value, "reason": "small"}
    errors = editor.post(class_url("rescore"), fields).context["adminform"].form.errors
    assert list(errors) == [field]
    assert says in str(errors[field])


def test_a_tier_that_breaks_the_order_of_headroom_is_refused(editor: Client, claims: Pool) -> None:
    fields = opened(editor, class_url("adjuster")) | {"tier": "bulk", "reason": "demoted"}
    answer = editor.post(class_url("adjuster"), fields)
    assert answer.status_code in (200, 302)
    fields = opened(editor, class_url("nightly")) | {"tier": "near_line", "deadline_seconds": "10"}
    answer = editor.post(class_url("nightly"), fields | {"reason": "promoted"})
    assert "headroom of rescore" in str(answer.context["adminform"].form.errors["__all__"])


@pytest.mark.usefixtures("committed")
def test_somebody_elses_edit_is_not_overwritten(
    editor: Client, other_editor: Client, claims: Pool
) -> None:
    mine, theirs = opened(editor, class_url("rescore")), opened(other_editor, class_url("rescore"))
    assert other_editor.post(class_url("rescore"), theirs | {"max_attempts": "5", "reason": "a"})
    answer = editor.post(class_url("rescore"), mine | {"deadline_seconds": "9", "reason": "b"})
    assert "was changed after you opened it, by bob" in answer.content.decode()
    row = WorkloadClass.objects.get(slug="rescore")
    assert (row.max_attempts, row.deadline_seconds) == (5, 300)


def test_a_class_is_added_even_before_there_is_a_pool(editor: Client) -> None:
    fields = opened(editor, url("workloadclass_add")) | {
        "slug": "chat",
        "tier": "interactive",
        "deadline_seconds": "5",
        "reason": "new product",
    }
    assert editor.post(url("workloadclass_add"), fields).status_code == 302
    assert WorkloadClass.objects.get().slug == "chat"


def test_the_page_shows_where_the_class_stands(viewer: Client, claims: Pool) -> None:
    standings = viewer.get(class_url("rescore")).context["standings_of"]
    assert [standing.limit.terms.name for standing in standings] == [
        "total_tokens/token_bucket",
        "requests/gauge",
        "requests/token_bucket",
    ]
    assert standings[0].own.floor == pytest.approx(20_000)
    assert standings[1].own.reach_percent == pytest.approx(50)


def test_a_taken_slug_is_the_only_thing_wrong(editor: Client, claims: Pool) -> None:
    fields = opened(editor, class_url("adjuster")) | {"slug": "adjuster", "reason": "twice"}
    answer = editor.post(url("workloadclass_add"), fields)
    assert list(answer.context["adminform"].form.errors) == ["slug"]


def switched(slug: str) -> tuple[bool, bool]:
    row = WorkloadClass.objects.get(slug=slug)
    return row.paused, row.draining


def switch_url(verb: str, slug: str) -> str:
    return url("workloadclass_switch", verb) + f"?ids={WorkloadClass.objects.get(slug=slug).pk}"


def test_a_class_is_drained_and_resumed_with_reasons(editor: Client, claims: Pool) -> None:
    page = editor.post(switch_url("drain", "nightly"), {"reason": "upgrade"}, follow=True)
    assert switched("nightly") == (False, True)
    assert "Draining: nightly. It takes no new jobs" in page.content.decode()
    assert ">draining</span>" in page.content.decode()
    event = rows.WORKLOAD_CLASS.events.objects.latest("pgh_id")
    assert (event.pgh_context["username"], event.pgh_context["reason"]) == ("ada", "upgrade")


def test_resuming_ends_pause_and_drain_in_one_change(editor: Client, claims: Pool) -> None:
    WorkloadClass.objects.filter(slug="nightly").update(paused=True, draining=True)
    before = rows.WORKLOAD_CLASS.events.objects.count()
    editor.post(switch_url("resume", "nightly"), {"reason": "over"})
    assert switched("nightly") == (False, False)
    assert rows.WORKLOAD_CLASS.events.objects.count() == before + 1


def test_only_switches_that_change_something_are_offered(editor: Client, claims: Pool) -> None:
    def labels(slug: str) -> list[str]:
        return [label for label, _ in editor.get(class_url(slug)).context["switch_links"]]

    assert labels("nightly") == ["Pause", "Drain"]
    assert labels("adjuster") == ["Pause"], "an interactive class has no queue"
    WorkloadClass.objects.filter(slug="nightly").update(draining=True)
    assert labels("nightly") == ["Pause", "Resume"]


def test_an_interactive_class_shows_no_queue(viewer: Client, claims: Pool) -> None:
    assert "Jobs that wait now" not in viewer.get(class_url("adjuster")).content.decode()
    assert "Jobs that wait now" in viewer.get(class_url("nightly")).content.decode()


def test_a_viewer_reads_switches_in_words(viewer: Client, claims: Pool) -> None:
    page = viewer.get(class_url("nightly")).content.decode()
    assert page.count('<div class="readonly">no</div>') == 2
    assert "icon-no" not in page
