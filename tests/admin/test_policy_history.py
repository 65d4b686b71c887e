"""The history reads as a diff with its author, and a change can be reverted."""

import re
from typing import Any

import pytest
from django.db import connection, transaction
from django.test import Client
from django.test.utils import CaptureQueriesContext

from budget import services
from budget.models import ApiKey, Limit, PolicyVersion, Pool, Reservation, WorkloadClass
from budget.policy import rows
from tests.admin.conftest import class_url, client_with, field_of, opened, pool_url, url
from tests.policies import small_pool

REQUEST = services.AdmissionRequest(
    pool="claims", workload_class="adjuster", input_tokens=1, output_tokens=1
)
pytestmark = pytest.mark.usefixtures("committed")


def newest(client: Client, page: str = "policyhistory_changelist", *args: Any) -> Any:
    return client.get(url(page, *args)).context["told"][0]


def edit_share(client: Client, pool: Pool, owner: str, share: str, **more: str) -> None:
    fields = opened(client, pool_url(pool))
    fields[field_of(fields, owner, "share_percent")] = share
    answer = client.post(pool_url(pool), fields | {"reason": "storm"} | more)
    assert answer.status_code == 302


def test_a_change_tells_who_where_why_and_what(editor: Client, claims: Pool) -> None:
    edit_share(editor, claims, "adjuster", "45", mode="observe")
    told = newest(editor)
    assert told.lines == [
        "pool claims: mode enforce → observe",
        "pool claims, reservation of adjuster: share 50 % → 45 %",
    ]
    change = told.change
    assert (change.who, change.where, change.why) == ("ada", "192.0.2.7", "storm")


def version_of(pool: Pool) -> int:
    return PolicyVersion.objects.get(pool_id=pool.pk).version


def test_a_change_tells_the_version_it_led_to(editor: Client, claims: Pool) -> None:
    edit_share(editor, claims, "adjuster", "45")
    then = version_of(claims)
    services.admit(REQUEST, services.IN_PROCESS)
    edit_share(editor, claims, "adjuster", "40")
    edit_share(editor, claims, "adjuster", "35")
    answer = editor.get(url("policyhistory_changelist"))
    last, unused, decided = answer.context["told"][:3]
    assert last.versions == [("claims", version_of(claims))]
    assert unused.versions == [], "nobody was decided on by it"
    assert decided.versions == [("claims", then)]
    assert f"led to policy version {then} of claims" in answer.content.decode()
    assert f"led to policy version {then} of claims" in editor.get(decided.url).content.decode()


def test_a_change_of_a_class_leads_to_a_version_of_each_pool(editor: Client, claims: Pool) -> None:
    other = small_pool()
    WorkloadClass.objects.filter(slug="rescore").update(max_attempts=9)
    assert newest(editor).versions == [
        ("claims", version_of(claims)),
        ("small", version_of(other)),
    ]
    Pool.objects.filter(pk=other.pk).update(paused=True)
    page = editor.get(url("policyhistory_changelist")).context["told"]
    assert [told.versions for told in page[:2]] == [
        [("small", version_of(other))],
        [("claims", version_of(claims))],
    ]


def test_raw_sql_shows_as_the_database_role_outside_the_admin(editor: Client, claims: Pool) -> None:
    with connection.cursor() as cursor:
        cursor.execute("UPDATE budget_limit SET amount = 41 WHERE algorithm = 'gauge'")
    told = newest(editor)
    assert re.fullmatch(r"database role \w+, outside the admin", told.change.who)
    assert told.lines == ["pool claims, limit requests/gauge: amount 40 → 41"]
    assert "outside the admin" in editor.get(url("policyhistory_changelist")).content.decode()


def test_a_pool_and_a_class_have_their_own_history(editor: Client, claims: Pool) -> None:
    nightly = WorkloadClass.objects.get(slug="nightly")
    WorkloadClass.objects.filter(slug="rescore").update(max_attempts=9)
    edit_share(editor, claims, "nightly", "5")
    pool_page = editor.get(url("pool_history", claims.pk)).context["told"]
    assert pool_page[0].lines == ["pool claims, reservation of nightly: share 0 % → 5 %"]
    assert not any("class " in line for told in pool_page for line in told.lines)
    class_page = editor.get(url("workloadclass_history", nightly.pk)).context["told"]
    assert class_page[0].lines == pool_page[0].lines
    assert not any("rescore" in line for told in class_page for line in told.lines)


def test_the_history_of_deleted_rows_stays_readable(root: Client, claims: Pool) -> None:
    key, _ = ApiKey.objects.create_key(name="batch", all_pools=False)
    key.pools.add(claims)
    key.delete()
    claims.delete()
    lines = newest(root).lines
    assert "pool claims removed: provider anthropic" in lines
    assert "pool claims, reservation of adjuster removed: share 50 %" in lines
    everything = root.get(url("policyhistory_changelist")).content.decode()
    assert "right to pool claims added" in everything


def test_a_long_history_is_paged(editor: Client, claims: Pool) -> None:
    for amount in range(50, 105):
        Limit.objects.filter(algorithm="gauge").update(amount=amount)
    page = editor.get(url("policyhistory_changelist")).context
    assert len(page["told"]) == 50
    older = editor.get(url("policyhistory_changelist") + "?page=2").context
    assert older["told"][-1].lines[0].startswith("class adjuster added")


def test_each_change_has_a_page_of_its_own(editor: Client, viewer: Client, claims: Pool) -> None:
    edit_share(editor, claims, "adjuster", "45", mode="observe")
    edit_share(editor, claims, "rescore", "15")
    listed = editor.get(url("policyhistory_changelist"))
    told = listed.context["told"][1]
    assert f'href="{told.url}"' in listed.content.decode()
    for client in (editor, viewer):
        answer = client.get(told.url)
        page = answer.content.decode()
        assert answer.context["told"].lines == told.lines
        for line in (*told.lines, "ada", "192.0.2.7", "storm"):
            assert line in page
        assert "15 %" not in page
        assert (told.revert_url in page) is (client is editor)


def test_the_page_of_a_change_is_for_those_who_see_the_list(
    anonymous: Client, staff: Client, editor: Client, claims: Pool
) -> None:
    address = newest(editor).url
    assert anonymous.get(address).status_code == 302
    assert staff.get(address).status_code == 403
    looker = client_with("lou", "view_pool")
    history = looker.get(url("pool_history", claims.pk)).content.decode()
    assert address not in history
    assert looker.get(address).status_code == 403


def test_the_page_of_a_change_of_keys_is_for_those_who_see_keys(
    root: Client, editor: Client, claims: Pool
) -> None:
    with transaction.atomic():
        ApiKey.objects.create_key(name="batch")
        Limit.objects.filter(algorithm="gauge").update(amount=41)
    mixed = newest(root).url
    assert "API key" in root.get(mixed).content.decode()
    page = editor.get(mixed).content.decode()
    assert "API key" not in page
    assert "amount 40 → 41" in page
    ApiKey.objects.create_key(name="other")
    alone = newest(root).url
    answer = root.get(alone)
    assert "Revert" not in answer.content.decode()
    assert editor.get(alone).status_code == 404


def test_a_revert_shows_first_and_then_undoes(editor: Client, claims: Pool) -> None:
    edit_share(editor, claims, "adjuster", "45", mode="observe")
    address = newest(editor).revert_url
    preview = editor.get(address)
    assert preview.context["report"] == [
        "pool claims: mode observe → enforce",
        "pool claims, reservation of adjuster: share 45 % → 50 %",
    ]
    assert Pool.objects.get().mode == "observe"
    assert editor.post(address, {"reason": ""}).status_code == 200
    assert Pool.objects.get().mode == "observe"
    assert editor.post(address, {"reason": "too early"}).status_code == 302
    assert Pool.objects.get().mode == "enforce"
    assert Reservation.objects.get(workload_class__slug="adjuster").share_percent == 50
    told = newest(editor)
    assert (told.change.who, told.change.why) == ("ada", "too early")


def test_a_revert_keeps_later_edits_of_other_fields(editor: Client, claims: Pool) -> None:
    edit_share(editor, claims, "adjuster", "45")
    address = newest(editor).revert_url
    Reservation.objects.filter(workload_class__slug="adjuster").update(weight=2)
    editor.post(address, {"reason": "back"})
    row = Reservation.objects.get(workload_class__slug="adjuster")
    assert (row.share_percent, row.weight) == (50, 2)


def test_a_deleted_pool_comes_back_whole(editor: Client, claims: Pool) -> None:
    editor.post(url("pool_delete", claims.pk), {"post": "yes", "reason": "mistake"})
    assert not Pool.objects.exists()
    editor.post(newest(editor).revert_url, {"reason": "sorry"})
    pool = Pool.objects.get()
    assert pool.pk == claims.pk
    assert (pool.limits.count(), pool.reservations.count()) == (3, 3)


def test_keys_bound_to_what_was_deleted_are_bound_again_on_revert(
    editor: Client, claims: Pool
) -> None:
    bound, _ = ApiKey.objects.create_key(name="batch", all_classes=False, all_pools=False)
    revoked, _ = ApiKey.objects.create_key(name="old", all_pools=False)
    for key in (bound, revoked):
        key.pools.add(claims)
    bound.classes.add(WorkloadClass.objects.get(slug="adjuster"))
    editor.post(url("pool_delete", claims.pk), {"post": "yes", "reason": "mistake"})
    ApiKey.objects.filter(pk=revoked.pk).update(revoked=True)
    address = newest(editor).revert_url
    page = editor.get(address)
    assert "1 API key may use pool claims again" in page.context["report"]
    assert bound.prefix not in page.content.decode()
    editor.post(address, {"reason": "sorry"})
    assert list(bound.pools.all()) == [claims]
    assert not revoked.pools.exists()

    adjuster = WorkloadClass.objects.get(slug="adjuster")
    deletion = url("workloadclass_delete", adjuster.pk)
    editor.post(deletion, {"post": "yes", "reason": "mistake"})
    assert not bound.classes.exists()
    editor.post(newest(editor).revert_url, {"reason": "sorry"})
    assert list(bound.classes.all()) == [adjuster]


def test_an_added_pool_goes_when_its_addition_is_reverted(editor: Client, claims: Pool) -> None:
    pool = Pool.objects.create(slug="night", provider="openai")
    address = newest(editor).revert_url
    Limit.objects.create(pool=pool, unit="requests", algorithm="gauge", amount=3)
    report = editor.get(address).context["report"]
    assert "pool night, limit requests/gauge removed: amount 3" in report
    editor.post(address, {"reason": "not needed"})
    assert not Pool.objects.filter(slug="night").exists()


def test_a_revert_that_would_break_the_policy_is_refused(editor: Client, claims: Pool) -> None:
    edit_share(editor, claims, "adjuster", "10")
    address = newest(editor).revert_url
    edit_share(editor, claims, "rescore", "55")
    page = editor.post(address, {"reason": "anyway"})
    assert "105 %" in " ".join(page.context["faults"])
    assert Reservation.objects.get(workload_class__slug="adjuster").share_percent == 10


def test_a_revert_of_a_row_that_is_gone_is_refused(editor: Client, claims: Pool) -> None:
    edit_share(editor, claims, "rescore", "15")
    address = newest(editor).revert_url
    Reservation.objects.filter(workload_class__slug="rescore").delete()
    assert "removed since" in " ".join(editor.get(address).context["faults"])


def test_a_revert_that_has_become_impossible_says_so_beforehand(
    editor: Client, claims: Pool
) -> None:
    Reservation.objects.filter(workload_class__slug="nightly").delete()
    reservation = newest(editor).revert_url
    claims.delete()
    pool = newest(editor).revert_url
    faults = editor.get(reservation).context["faults"]
    assert faults == ["pool claims, reservation of nightly: pool claims is gone."]
    Pool.objects.create(slug="claims", provider="openai")
    assert editor.get(pool).context["faults"] == ["There is a new pool claims by now."]


def test_a_revert_can_be_reverted(editor: Client, claims: Pool) -> None:
    edit_share(editor, claims, "adjuster", "45")
    editor.post(newest(editor).revert_url, {"reason": "back"})
    editor.post(newest(editor).revert_url, {"reason": "forth"})
    assert Reservation.objects.get(workload_class__slug="adjuster").share_percent == 45


def test_looking_at_a_revert_writes_and_locks_nothing(editor: Client, claims: Pool) -> None:
    edit_share(editor, claims, "adjuster", "45")
    with CaptureQueriesContext(connection) as queries:
        editor.get(newest(editor).revert_url)
    for query in queries:
        assert not re.search("INSERT|UPDATE|DELETE|SAVEPOINT", query["sql"].split(" FROM ")[0])
        assert "FOR NO KEY UPDATE" not in query["sql"]


CHANGES = ["change_pool", "change_limit", "change_workloadclass", "change_reservation"]


def test_a_revert_takes_the_rights_of_what_it_does(editor: Client, claims: Pool) -> None:
    changer = client_with("cleo", "view_policyhistory", *CHANGES)
    remover = client_with("rob", "view_policyhistory", "delete_pool", "delete_limit")
    night = Pool.objects.create(slug="night", provider="openai")
    added = newest(editor).revert_url
    Limit.objects.create(pool=night, unit="requests", algorithm="gauge", amount=3)
    faults = changer.get(added).context["faults"]
    assert faults == ["Undoing this takes rights you don't have: delete limit, delete pool."]
    page = changer.post(added, {"reason": "x"})
    assert page.context["faults"] == faults
    assert Pool.objects.filter(slug="night").exists()
    assert remover.post(added, {"reason": "x"}).status_code == 302
    assert not Pool.objects.filter(slug="night").exists()
    removed = newest(editor).revert_url
    assert "add pool" in changer.post(removed, {"reason": "x"}).context["faults"][0]
    assert "add pool" in remover.post(removed, {"reason": "x"}).context["faults"][0]
    assert not Pool.objects.filter(slug="night").exists()
    edit_share(editor, claims, "adjuster", "45")
    edited = newest(editor).revert_url
    assert "change reservation" in remover.post(edited, {"reason": "x"}).context["faults"][0]
    assert changer.post(edited, {"reason": "x"}).status_code == 302
    assert Reservation.objects.get(workload_class__slug="adjuster").share_percent == 50


def test_the_history_of_keys_is_for_those_who_see_keys(
    viewer: Client, editor: Client, root: Client, claims: Pool
) -> None:
    with transaction.atomic():
        key, _ = ApiKey.objects.create_key(name="batch", all_pools=False)
        key.pools.add(claims)
        Limit.objects.filter(algorithm="gauge").update(amount=41)
    for client, seen in ((viewer, False), (editor, False), (root, True)):
        page = client.get(url("policyhistory_changelist")).content.decode()
        assert ("API key" in page) is seen
        assert (key.prefix in page) is seen
        assert "amount 40 → 41" in page
    page = editor.get(newest(editor).revert_url).content.decode()
    assert "API key" not in page


def test_viewers_may_not_revert(viewer: Client, editor: Client, claims: Pool) -> None:
    edit_share(editor, claims, "adjuster", "45")
    address = newest(editor).revert_url
    assert viewer.get(address).status_code == 403
    assert viewer.post(address, {"reason": "x"}).status_code == 403
    assert "Revert" not in viewer.get(url("policyhistory_changelist")).content.decode()


@pytest.mark.parametrize("key", ["1-1", "999999-99999999999999999999"])
def test_a_change_that_never_was_is_not_found(editor: Client, key: str) -> None:
    for page in ("", "revert/"):
        address = url("policyhistory_changelist") + f"{key}/{page}"
        assert editor.get(address).status_code == 404


def test_keys_are_not_reverted(root: Client) -> None:
    ApiKey.objects.create_key(name="batch")
    assert newest(root).revert_url == ""
    event = rows.API_KEY.events.objects.get()
    address = url("policyhistory_revert", event.transaction, 1)
    assert root.get(address).status_code == 404


def test_a_class_page_without_history_is_not_found(editor: Client, claims: Pool) -> None:
    assert editor.get(class_url("nightly")).status_code == 200
    assert editor.get(url("workloadclass_history", 999_999)).status_code == 404
