"""The pool page: a policy is edited as a whole, with a reason."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.test import Client

from budget.admin.pool import PoolAdmin
from budget.models import ApiKey, Limit, Pool, Reservation, UsageHour, WorkloadClass
from budget.policy import rows
from tests.admin.conftest import client_with, field_of, opened, pool_url, url

pytestmark = pytest.mark.django_db


def errors_of(answer: object) -> list[str]:
    return [str(error) for error in answer.context["errors"]]  # type: ignore[attr-defined]


def share(slug: str) -> int:
    return Reservation.objects.get(workload_class__slug=slug).share_percent


def test_a_share_is_changed_and_remembered_with_who_where_and_why(
    editor: Client, claims: Pool
) -> None:
    fields = opened(editor, pool_url(claims))
    fields[field_of(fields, "adjuster", "share_percent")] = "45"
    answer = editor.post(pool_url(claims), fields | {"reason": "quiet season"})
    assert answer.status_code == 302
    assert share("adjuster") == 45
    context = rows.RESERVATION.events.objects.latest("pgh_id").pgh_context
    assert context["username"] == "ada"
    assert context["address"] == "192.0.2.7"
    assert context["reason"] == "quiet season"


def test_an_unchanged_form_leaves_no_event(editor: Client, claims: Pool) -> None:
    before = rows.RESERVATION.events.objects.count(), rows.POOL.events.objects.count()
    fields = opened(editor, pool_url(claims))
    assert editor.post(pool_url(claims), fields | {"reason": "nothing"}).status_code == 302
    after = rows.RESERVATION.events.objects.count(), rows.POOL.events.objects.count()
    assert after == before


@pytest.mark.parametrize("reason", ["", "   "])
def test_no_change_without_a_reason(editor: Client, claims: Pool, reason: str) -> None:
    fields = opened(editor, pool_url(claims))
    fields[field_of(fields, "adjuster", "share_percent")] = "45"
    answer = editor.post(pool_url(claims), fields | {"reason": reason})
    assert "Say why" in answer.content.decode()
    assert share("adjuster") == 50


@pytest.mark.parametrize(
    ("owner", "name", "value", "says"),
    [
        ("adjuster", "share_percent", "101", "less than or equal to 100"),
        ("rescore", "ceiling_percent", "10", "below its share"),
        ("nightly", "headroom_percent", "1", "below that of the stricter"),
        ("nightly", "except_limits", "requests/window", "The pool has no limit requests/window"),
        ("nightly", "weight", "NaN", "Enter a number"),
    ],
)
def test_a_fault_of_a_reservation_stands_at_its_field(
    editor: Client, claims: Pool, owner: str, name: str, value: str, says: str
) -> None:
    fields = opened(editor, pool_url(claims))
    fields[field_of(fields, owner, name)] = value
    answer = editor.post(pool_url(claims), fields | {"reason": "try"})
    assert answer.status_code == 200
    formset = answer.context["inline_admin_formsets"][1].formset
    (form,) = [form for form in formset.forms if str(form.instance.workload_class) == owner]
    assert says in str(form.errors[name])


def test_shares_over_100_are_refused_with_their_sum(editor: Client, claims: Pool) -> None:
    fields = opened(editor, pool_url(claims))
    fields[field_of(fields, "adjuster", "share_percent")] = "90"
    answer = editor.post(pool_url(claims), fields | {"reason": "greedy"})
    formset = answer.context["inline_admin_formsets"][1].formset
    assert "Shares add up to 110 %" in str(formset.non_form_errors())
    assert share("adjuster") == 50


def test_a_limit_too_small_for_a_class_is_refused_at_the_class(
    editor: Client, claims: Pool
) -> None:
    fields = opened(editor, pool_url(claims))
    (amount,) = [name for name, value in fields.items() if value == 400_000]
    answer = editor.post(pool_url(claims), fields | {amount: "4000", "reason": "downgrade"})
    assert any("largest that fits of adjuster" in error for error in errors_of(answer))
    assert Limit.objects.filter(amount=400_000).exists()


def test_a_reservation_marked_for_deletion_no_longer_counts(editor: Client, claims: Pool) -> None:
    fields = opened(editor, pool_url(claims))
    fields[field_of(fields, "adjuster", "share_percent")] = "80"
    fields[field_of(fields, "rescore", "DELETE")] = "on"
    answer = editor.post(pool_url(claims), fields | {"reason": "no re-scores"})
    assert answer.status_code == 302
    assert share("adjuster") == 80
    assert not Reservation.objects.filter(workload_class__slug="rescore").exists()


@pytest.mark.usefixtures("committed")
def test_somebody_elses_edit_is_not_overwritten(
    editor: Client, other_editor: Client, claims: Pool
) -> None:
    mine, theirs = opened(editor, pool_url(claims)), opened(other_editor, pool_url(claims))
    theirs[field_of(theirs, "adjuster", "share_percent")] = "45"
    assert other_editor.post(pool_url(claims), theirs | {"reason": "first"}).status_code == 302
    mine[field_of(mine, "rescore", "share_percent")] = "25"
    answer = editor.post(pool_url(claims), mine | {"reason": "second"})
    page = answer.content.decode()
    assert "was changed after you opened it, by bob" in page
    assert (share("adjuster"), share("rescore")) == (45, 20)


def test_an_edit_by_raw_sql_is_not_overwritten_either(editor: Client, claims: Pool) -> None:
    fields = opened(editor, pool_url(claims))
    Limit.objects.filter(algorithm="gauge").update(amount=41)
    answer = editor.post(pool_url(claims), fields | {"reason": "late"})
    assert "was changed after you opened it" in answer.content.decode()


def test_a_pool_is_added_with_a_reason_and_keeps_its_slug(editor: Client, claims: Pool) -> None:
    fields = opened(editor, url("pool_add")) | {
        "slug": "night",
        "provider": "openai",
        "reason": "second account",
    }
    answer = editor.post(url("pool_add"), fields)
    assert answer.status_code == 302, errors_of(answer)
    pool = Pool.objects.get(slug="night")
    fields = opened(editor, pool_url(pool)) | {"slug": "renamed", "reason": "nicer"}
    assert editor.post(pool_url(pool), fields).status_code == 302
    assert Pool.objects.filter(slug="night").exists()


def test_the_page_shows_levels_floors_reach_and_the_largest_that_fits(
    viewer: Client, claims: Pool
) -> None:
    answer = viewer.get(pool_url(claims))
    first = answer.context["standings"][0]
    assert first.terms.name == "total_tokens/token_bucket"
    assert first.available == pytest.approx(100_000)
    assert (first.name, first.used_percent) == ("total tokens per minute", pytest.approx(0))
    assert first.free == pytest.approx(30_000), "what is no class's floor"
    adjuster, rescore, nightly = first.classes
    assert (adjuster.floor, adjuster.effective) == pytest.approx((50_000, 50_000))
    assert (rescore.largest_fit, nightly.largest_fit) == pytest.approx((50_000, 30_000))
    assert nightly.reach_percent == 100
    gauge = answer.context["standings"][1]
    assert gauge.terms.name == "requests/gauge"
    assert gauge.classes[2].reach_percent == pytest.approx(30)


def test_the_page_shows_the_limits_of_the_batch_endpoint_last(viewer: Client, claims: Pool) -> None:
    Limit.objects.create(
        pool=claims, of_batch=True, unit="total_tokens", algorithm="gauge", amount=5_000_000
    )
    Pool.objects.update(batch=True)
    answer = viewer.get(pool_url(claims))
    *_, last = answer.context["standings"]
    assert (last.of_batch, last.available, last.classes) == (True, 5_000_000, [])
    page = answer.content.decode()
    assert "Batch endpoint: total tokens at once" in page
    assert "icon-yes" not in page


def test_jobs_that_wait_do_not_look_shed(viewer: Client, claims: Pool) -> None:
    used(claims, hours_ago=1, offered=10, admitted=2, shed={"queue_full": 1})
    *_, usage = viewer.get(pool_url(claims)).context["usages"]
    assert usage.day.shed_percent == pytest.approx(10)


def test_the_page_sums_up_a_day_and_a_week(viewer: Client, claims: Pool) -> None:
    for hours, offered, admitted in ((1, 10, 9), (30, 20, 10), (24 * 8, 99, 99)):
        used(
            claims,
            hours,
            offered=offered,
            admitted=admitted,
            shed={"headroom": offered - admitted},
            charged=4000,
            allowance=400_000,
        )
    *_, usage = viewer.get(pool_url(claims)).context["usages"]
    assert (usage.workload_class, usage.day.offered, usage.week.offered) == ("nightly", 10, 30)
    assert usage.day.shed_percent == pytest.approx(10)
    assert usage.week.shed_percent == pytest.approx(100 * 11 / 30)
    allowed = 3 * 400_000  # the open minute's, too
    assert usage.week.utilisation_percent == pytest.approx(100 * 8000 / allowed)


def used(pool: Pool, hours_ago: int, **fields: Any) -> None:
    """Let nightly have a past."""
    hour = datetime.now(UTC).replace(minute=0, second=0, microsecond=0)
    hour -= timedelta(hours=hours_ago)
    UsageHour.objects.create(
        pool_id=pool.pk, workload_class="nightly", hour=hour, minute=hour, **fields
    )


def test_every_field_is_explained_with_an_example(editor: Client, claims: Pool) -> None:
    for model in (Pool, Limit, Reservation, WorkloadClass):
        for field in model._meta.fields:
            if field.editable and field.name not in ("id", "pool", "workload_class"):
                assert "Example: " in field.help_text, field
    page = editor.get(pool_url(claims)).content.decode()
    assert "what looser classes cannot consume, in % of each limit" in page


def test_no_page_needs_inline_scripts_or_styles(editor: Client, claims: Pool) -> None:
    page = editor.get(pool_url(claims)).content.decode()
    assert " style=" not in page
    assert "<style" not in page
    assert "<script>" not in page


VIEW = ["view_pool", "view_policyhistory"]


def test_the_policy_is_checked_for_an_editor_who_sees_only_reservations(claims: Pool) -> None:
    client = client_with("cleo", *VIEW, "view_reservation", "change_reservation", "change_pool")
    fields = opened(client, pool_url(claims))
    fields[field_of(fields, "nightly", "headroom_percent")] = "1"
    answer = client.post(pool_url(claims), fields | {"reason": "x"})
    (inline,) = answer.context["inline_admin_formsets"]
    (form,) = [
        form for form in inline.formset.forms if str(form.instance.workload_class) == "nightly"
    ]
    assert "below that of the stricter" in str(form.errors["headroom_percent"])


def test_the_policy_is_checked_for_an_editor_who_sees_only_limits(claims: Pool) -> None:
    client = client_with("cleo", *VIEW, "view_limit", "change_limit", "change_pool")
    fields = opened(client, pool_url(claims)) | {"limits-0-amount": "1", "limits-1-amount": "1"}
    answer = client.post(pool_url(claims), fields | {"reason": "x"})
    assert answer.status_code == 200
    (inline,) = answer.context["inline_admin_formsets"]
    assert inline.formset.non_form_errors()
    assert not Limit.objects.filter(amount=1).exists()


def test_a_fault_the_editor_cannot_mend_is_named_above_the_rows(claims: Pool) -> None:
    client = client_with(
        "cleo", *VIEW, "view_limit", "change_limit", "view_reservation", "change_pool"
    )
    fields = opened(client, pool_url(claims)) | {"limits-0-amount": "1", "limits-1-amount": "1"}
    answer = client.post(pool_url(claims), fields | {"reason": "x"})
    assert answer.status_code == 200
    assert answer.context["inline_admin_formsets"][1].formset.non_form_errors()
    assert not Limit.objects.filter(amount=1).exists()


def test_the_policy_is_checked_for_an_editor_who_sees_no_rows(claims: Pool) -> None:
    client = client_with("cleo", *VIEW, "change_pool")
    Reservation.objects.filter(workload_class__slug="nightly").update(headroom_percent=1)
    fields = opened(client, pool_url(claims)) | {"mode": "observe", "reason": "x"}
    answer = client.post(pool_url(claims), fields)
    assert "below that of the stricter" in str(answer.context["errors"])
    Reservation.objects.filter(workload_class__slug="nightly").update(headroom_percent=10)
    fields = opened(client, pool_url(claims)) | {"mode": "observe", "reason": "x"}
    assert client.post(pool_url(claims), fields).status_code == 302


def test_rows_left_out_of_a_post_are_checked_all_the_same(editor: Client, claims: Pool) -> None:
    fields = opened(editor, pool_url(claims))
    fields[field_of(fields, "nightly", "headroom_percent")] = "1"
    place = field_of(fields, "nightly", "headroom_percent").split("-")[1]
    kept = {
        key.replace(f"reservations-{place}-", "reservations-0-"): value
        for key, value in fields.items()
        if not key.startswith("reservations-") or key.startswith(f"reservations-{place}-")
    }
    kept |= {"reservations-TOTAL_FORMS": "1", "reservations-INITIAL_FORMS": "1", "reason": "x"}
    answer = editor.post(pool_url(claims), kept)
    assert answer.status_code == 200
    assert Reservation.objects.get(workload_class__slug="nightly").headroom_percent != 1


def test_an_edit_while_the_form_is_made_is_not_overwritten(
    editor: Client, claims: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read_before_an_edit(self: PoolAdmin, *args: Any) -> Any:
        row = read(self, *args)
        Pool.objects.update(mode="observe")
        return row

    read = PoolAdmin.get_object
    with monkeypatch.context() as patch:
        patch.setattr(PoolAdmin, "get_object", read_before_an_edit)
        fields = opened(editor, pool_url(claims)) | {"mode": "enforce", "reason": "late"}
    answer = editor.post(pool_url(claims), fields)
    assert "was changed after you opened it" in answer.content.decode()


def test_a_refused_form_works_no_figures_out(editor: Client, claims: Pool) -> None:
    fields = opened(editor, pool_url(claims))
    answer = editor.post(pool_url(claims), fields | {"reason": ""})
    assert "standings" not in answer.context
    assert "usages" not in answer.context


def test_saving_without_a_change_says_so(editor: Client, claims: Pool) -> None:
    fields = opened(editor, pool_url(claims)) | {"reason": "none"}
    page = editor.post(pool_url(claims), fields, follow=True).content.decode()
    assert "Nothing was changed: claims is as it was before." in page
    assert "was changed successfully" not in page


def test_pausing_twice_says_so(editor: Client, claims: Pool) -> None:
    pause = url("pool_switch", "pause") + f"?ids={claims.pk}"
    pages = [editor.post(pause, {"reason": "storm"}, follow=True).content for _ in range(2)]
    assert "Paused: claims." in pages[0].decode()
    assert "Nothing was changed: it was so already." in pages[1].decode()


def test_a_viewer_reads_paused_in_words(viewer: Client, claims: Pool) -> None:
    page = viewer.get(pool_url(claims)).content.decode()
    assert '<div class="readonly">no</div>' in page
    assert "icon-no" not in page


def test_deleting_a_pool_names_the_keys_that_lose_a_right_to_who_may_see_keys(
    editor: Client, root: Client, claims: Pool
) -> None:
    key, _ = ApiKey.objects.create_key(name="statements", all_pools=False)
    key.pools.add(claims)
    page = root.get(url("pool_delete", claims.pk)).content.decode()
    assert "Right of an API key: statements to claims" in page
    assert "ApiKey_pools object" not in page
    page = editor.get(url("pool_delete", claims.pk)).content.decode()
    assert "statements" not in page
    assert "Rights of API keys: 1" in page
