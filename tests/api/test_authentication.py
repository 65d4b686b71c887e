import time
from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from budget.api import authentication
from budget.models import ApiKey, Pool
from tests.api.conftest import ADMISSIONS, CALL, Caller, make_key

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_request_without_a_key_is_told_how_to_send_one(stranger: Caller, pool: Pool) -> None:
    answer = stranger.admit()

    assert answer.status_code == 401
    assert answer.headers["WWW-Authenticate"] == "Api-Key"
    assert "Authorization: Api-Key" in answer.json()["detail"]


@pytest.mark.parametrize(
    "header",
    ["", "Api-Key", "Api-Key ", "Bearer abc", "abc.def", "Api-Key \x00.a", "Api-Key ü.a"],
)
def test_what_is_not_a_key_is_refused(header: str, pool: Pool) -> None:
    answer = Client().get("/api/v1/pools/claims", headers={"Authorization": header})

    assert answer.status_code == 401


def test_an_unknown_key_is_refused(pool: Pool) -> None:
    answer = Caller("aaaaaaaa.bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb").admit()

    assert answer.status_code == 401
    assert answer.json()["detail"] == "This API key is unknown."


def test_the_right_prefix_with_another_secret_is_unknown(pool: Pool) -> None:
    prefix = make_key("revoked", revoked=True).split(".")[0]

    answer = Caller(f"{prefix}.bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb").admit()

    assert answer.json()["detail"] == "This API key is unknown."


def test_a_revoked_key_is_refused(revoked_caller: Caller) -> None:
    answer = revoked_caller.admit()

    assert answer.status_code == 401
    assert answer.json()["detail"] == "This API key was revoked."


def test_an_expired_key_is_refused(expired_caller: Caller) -> None:
    answer = expired_caller.admit()

    assert answer.status_code == 401
    assert answer.json()["detail"] == "This API key has expired."


def test_the_scheme_may_be_written_in_any_case(caller: Caller) -> None:
    answer = Client().get(
        "/api/v1/pools/claims", headers={"Authorization": f"api-key {caller.key}"}
    )

    assert answer.status_code == 200


def test_a_key_is_looked_up_once_while_its_verdict_stands(
    caller: Caller, django_assert_num_queries
) -> None:
    caller.get("/api/v1/nothing")
    caller.get(f"{ADMISSIONS}/none")

    with django_assert_num_queries(0):
        caller.get(f"{ADMISSIONS}/none")


def test_a_refused_key_is_looked_up_once_too(
    revoked_caller: Caller, django_assert_num_queries
) -> None:
    revoked_caller.get(f"{ADMISSIONS}/none")

    with django_assert_num_queries(0):
        assert revoked_caller.get(f"{ADMISSIONS}/none").status_code == 401


def test_a_revoked_key_lives_until_its_verdict_is_over(caller: Caller, settings) -> None:
    settings.BUDGET_KEY_CACHE_SECONDS = 0
    assert caller.admit().status_code == 201

    key = ApiKey.objects.get(name="all")
    key.revoked = True
    key.save()

    assert caller.admit().status_code == 401


def test_an_expiry_date_is_kept_to_the_moment(pool: Pool) -> None:
    key = make_key("brief", expiry_date=timezone.now() + timedelta(seconds=0.3))
    brief = Caller(key)
    assert brief.get("/api/v1/pools/claims").status_code == 200

    verdict = next(iter(authentication._accepted.values()))

    assert verdict.until - time.monotonic() < 0.3


def test_guessed_keys_do_not_fill_the_memory(pool: Pool, settings) -> None:
    for number in range(authentication.MAX_REFUSED + 5):
        digest = number.to_bytes(4, "big")
        authentication._remember(digest, authentication._Verdict(0, None, "unknown"))

    assert len(authentication._refused) <= authentication.MAX_REFUSED


def test_a_key_for_another_class_is_forbidden(nightly_caller: Caller) -> None:
    answer = nightly_caller.admit()

    assert answer.status_code == 403
    assert "adjuster" in answer.json()["detail"]


def test_a_key_works_for_its_own_class(nightly_caller: Caller) -> None:
    assert nightly_caller.admit(workload_class="nightly").status_code == 201


def test_a_key_for_another_pool_is_forbidden(elsewhere_caller: Caller) -> None:
    answer = elsewhere_caller.admit()

    assert answer.status_code == 403
    assert "claims" in answer.json()["detail"]


def test_an_untagged_call_needs_a_key_for_the_class_it_falls_into(
    pool: Pool, classes, nightly_caller: Caller
) -> None:
    pool.untagged_class = classes["rescore"]
    pool.save()

    assert nightly_caller.admit(workload_class=None).status_code == 403


def test_the_body_is_not_read_without_a_key(stranger: Caller, pool: Pool) -> None:
    assert stranger.post(ADMISSIONS, b"{" * 10).status_code == 401
    assert stranger.post(ADMISSIONS, CALL).status_code == 401
