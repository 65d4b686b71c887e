"""What no caller should send: each is answered with what to change, and leaves nothing behind."""

import json
from typing import Any
from uuid import uuid4

import pytest
from django.test import Client

from budget.models import Call
from tests.api.conftest import ADMISSIONS, CALL, Caller


@pytest.mark.parametrize("field", ["input_tokens", "output_tokens"])
@pytest.mark.parametrize(
    "value", [-1, 1.5, 1.0, "100", None, True, [], {}, 10**9 + 1, 10**40, 1e308]
)
def test_tokens_that_are_no_whole_number_in_range_are_refused_by_name(
    field: str, value: Any, caller: Caller
) -> None:
    answer = caller.admit(**{field: value})

    assert_refused(answer, field)
    assert "whole, 0 to 1,000,000,000" in answer.json()["detail"]


@pytest.mark.parametrize(
    "literal", ["NaN", "Infinity", "-Infinity", "1e400", "0x10", "1_000", "01"]
)
def test_numbers_that_json_does_not_have_are_refused_by_name(literal: str, caller: Caller) -> None:
    raw = json.dumps(CALL).replace("900", literal)

    assert_refused(caller.post(ADMISSIONS, raw.encode()), "input_tokens")


@pytest.mark.parametrize("field", ["pool", "input_tokens", "output_tokens"])
def test_a_missing_field_is_named(field: str, caller: Caller) -> None:
    body = {name: value for name, value in CALL.items() if name != field}

    assert_refused(caller.post(ADMISSIONS, body), field)


def test_an_unknown_field_is_named(caller: Caller) -> None:
    assert_refused(caller.admit(unit="requests"), "unit")


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("pool", ""),
        ("pool", 7),
        ("pool", "a b"),
        ("pool", "a\x00"),
        ("pool", "x" * 51),
        ("workload_class", ""),
        ("workload_class", "a\x00"),
        ("workload_class", "ümlaut"),
        ("deadline_ms", 0),
        ("deadline_ms", -5),
        ("deadline_ms", 1.5),
        ("deadline_ms", "1000"),
        ("deadline_ms", 10**15),
        ("source", "x" * 201),
        ("source", "a\x00b"),
        ("source", None),
        ("tags", []),
        ("tags", {"a": 1}),
        ("tags", {"a": "x" * 10_000}),
        ("tags", {"x" * 10_000: "a"}),
        ("tags", {"": "a"}),
        ("tags", {"a": "\x00"}),
        ("tags", {"a\x00": "a"}),
        ("tags", {str(n): "a" for n in range(21)}),
    ],
)
def test_a_value_outside_its_range_is_refused_by_name(
    field: str, value: Any, caller: Caller
) -> None:
    assert_refused(caller.admit(**{field: value}), field)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"source": "a\x00b"}, "Expected text without NUL characters."),
        ({"tags": {"a": "\x00"}}, "Expected text without NUL characters."),
        ({"pool": "a b"}, "Expected ASCII letters, digits, hyphens and underscores only."),
    ],
)
def test_what_characters_are_wanted_is_said_in_words(
    changes: dict[str, Any], words: str, caller: Caller
) -> None:
    assert words in caller.admit(**changes).json()["detail"]


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b" ",
        b"null",
        b"[]",
        b"7",
        b'"text"',
        b"{",
        b"{}}",
        b"\xff\xfe",
        b"\xef\xbb\xbf{}",
        b"[" * 30_000,
        b'{"tags":' * 5000,
        b'{"pool": "\xff"}',
        b'{"pool": "\\ud800"}',
        b'{"pool": "\xed\xa0\x80"}',
        b'{"source": "\\u00"}',
    ],
)
def test_a_body_that_is_no_json_object_in_utf8_is_refused(raw: bytes, caller: Caller) -> None:
    for path in (ADMISSIONS, f"{ADMISSIONS}/batch"):
        answer = caller.post(path, raw)

        assert answer.status_code == 400, answer.content
        assert answer.headers["Content-Type"] == "application/problem+json"
    assert not Call.objects.exists()


def test_a_deeply_nested_batch_is_refused(caller: Caller) -> None:
    deep = b'{"admissions": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"

    assert caller.post(f"{ADMISSIONS}/batch", deep).status_code == 400


def test_another_content_type_is_told_the_right_one(caller: Caller) -> None:
    for content_type in ("text/plain", "application/x-www-form-urlencoded", ""):
        answer = Client().post(
            ADMISSIONS,
            json.dumps(CALL),
            content_type=content_type,
            headers={"Authorization": f"Api-Key {caller.key}"},
        )

        assert answer.status_code == 415
        assert "application/json" in answer.json()["detail"]


@pytest.mark.django_db(transaction=True)
def test_a_charset_beside_the_content_type_is_fine(caller: Caller) -> None:
    answer = Client().post(
        ADMISSIONS,
        json.dumps(CALL),
        content_type="application/json; charset=utf-8",
        headers={"Authorization": f"Api-Key {caller.key}"},
    )

    assert answer.status_code == 201


def test_a_body_of_ten_megabytes_is_refused(caller: Caller) -> None:
    answer = caller.post(ADMISSIONS, b" " * 10_000_000)

    assert answer.status_code == 413
    assert "65,536 bytes" in answer.json()["detail"]


def test_the_limits_of_the_bodies_are_settings(caller: Caller, settings: Any) -> None:
    settings.BUDGET_MAX_BODY_BYTES = 10
    settings.BUDGET_MAX_BATCH_BYTES = 20

    assert "10 bytes" in caller.admit().json()["detail"]
    assert "20 bytes" in caller.post(f"{ADMISSIONS}/batch", {"admissions": [CALL]}).json()["detail"]


@pytest.mark.parametrize("length", ["ten", "-1", "1e3", "١", "9" * 5000])
def test_a_length_that_is_no_number_is_refused_by_name(length: str, caller: Caller) -> None:
    answer = caller.post(ADMISSIONS, CALL, **{"Content-Length": length})

    assert_refused(answer, "Content-Length")


def test_an_endless_name_is_not_repeated_whole(caller: Caller) -> None:
    answer = caller.admit(**{"x" * 10_000: 1})

    assert answer.status_code == 400
    assert answer.json()["field"] == "x" * 100
    assert len(answer.content) < 1000


@pytest.mark.parametrize(
    "key", ["", '""', '"open', "a b", "é", "x" * 256, "a\x00", '"' + "x" * 256 + '"']
)
def test_an_idempotency_key_out_of_form_is_refused_by_name(key: str, caller: Caller) -> None:
    answer = caller.admit(headers={"Idempotency-Key": key})

    assert_refused(answer, "Idempotency-Key")


def assert_refused(answer: Any, field: str) -> None:
    """A 400 problem that names the field in its own member and in words; nothing stored."""
    body = answer.json()
    assert answer.status_code == 400, body
    assert answer.headers["Content-Type"] == "application/problem+json"
    assert body["field"].split("[")[0] == field
    assert body["detail"].startswith(field)
    assert not Call.objects.exists()


@pytest.mark.parametrize(
    ("path", "body", "said"),
    [
        (
            "/api/v1/observations",
            {"pool": "claims", "limits": [{"unit": "token"}]},
            "limits[0].unit: Invalid enum value 'token'. What it counts. Write one of requests, ",
        ),
        (
            "/api/v1/observations",
            {"pool": "claims", "limits": [{"unit": "requests", "left": 1}]},
            "Known fields: unit, amount, remaining, reset_ms.",
        ),
        (
            "/api/v1/callers",
            {"pool": "claims", "process": str(uuid4()), "away": [{"report": "x"}]},
            "away[0].report: Invalid UUID. ",
        ),
    ],
)
def test_a_field_within_a_list_is_told_what_it_may_hold_itself(
    caller: Caller, path: str, body: dict[str, Any], said: str
) -> None:
    answer = caller.post(path, body)
    assert answer.status_code == 400
    assert said in answer.json()["detail"]
