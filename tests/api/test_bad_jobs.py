"""Jobs nobody should send: each is answered with what to change, and gets no place."""

import json
from typing import Any

import pytest

from budget import tasks
from budget.models import Job
from tests.api.conftest import JOB, JOBS, Caller
from tests.api.test_jobs import assert_refused
from tests.jobs.queueing import BATCHED

pytestmark = pytest.mark.django_db(transaction=True)

PICKY = "tests.picky"
tasks.register(tasks.Task(PICKY, lambda attempt, claim: claim))
DEEP = b"[" * 50_000 + b"]" * 50_000


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("task", "os.system", "Known: "),
        ("task", "", "Dotted name"),
        ("task", "a\x00", "NUL"),
        ("task", None, "Dotted name"),
        ("task", "x" * 201, "Dotted name"),
        ("args", None, "by name"),
        ("args", [1], "by name"),
        ("args", "text", "by name"),
        ("args", {"attempt": 1}, "doesn't suit the task"),
        ("workload_class", None, "near-line or bulk"),
        ("workload_class", "adjuster", "never queues"),
        ("deadline_ms", 300_001, "only shorten"),
        ("deadline_ms", 0, "milliseconds"),
        ("deadline_ms", -1, "milliseconds"),
        ("deadline_ms", 1.5, "milliseconds"),
        ("input_tokens", -1, "whole"),
        ("output_tokens", 10**30, "whole"),
        ("pool", "a b", "letters"),
        ("tags", {"a": "\x00"}, "NUL"),
        ("source", "x" * 201, "characters"),
        ("priority", 1, "Known fields: pool, workload_class, task, args, input_tokens"),
    ],
)
def test_a_wrong_value_is_refused_by_name(
    caller: Caller, field: str, value: Any, words: str
) -> None:
    answer = caller.enqueue(**{field: value})

    assert_refused(answer, field)
    assert words in answer.json()["detail"]


@pytest.mark.parametrize("field", ["pool", "workload_class", "task", "input_tokens"])
def test_a_missing_field_is_named(caller: Caller, field: str) -> None:
    body = {name: value for name, value in JOB.items() if name != field}

    assert_refused(caller.post(JOBS, body), field)


@pytest.mark.parametrize("literal", [b"NaN", b"Infinity", b"1e400", b"1" * 6000, b"01", b'"\\ud8"'])
def test_arguments_that_json_does_not_have_are_refused(caller: Caller, literal: bytes) -> None:
    answer = caller.post(JOBS, with_args(b'{"claim": ' + literal + b"}"))

    assert answer.status_code == 400, answer.content
    assert not Job.objects.exists()


@pytest.mark.parametrize("args", [b'{"a": ' + DEEP + b"}", b'{"a":' * 50_000, b'{"\\ud800": 1}'])
def test_arguments_no_parser_takes_are_refused(caller: Caller, args: bytes) -> None:
    answer = caller.post(JOBS, with_args(args))

    assert answer.status_code == 400, answer.content
    assert not Job.objects.exists()


@pytest.mark.parametrize(
    "args",
    [
        b"{}",
        b'{"a": 1, "a": 2}',
        b'{"a": "\\u0000"}',
        b'{"a": "\\ud83d\\ude00"}',
        b'{"a": 18446744073709551616}',
        b'{"a": -123456789012345678901234567890}',
        b'{"": 1}',
        b'{"a b": {"\\u0000": [null]}}',
        b'{"a": ' + b"[" * 300 + b"]" * 300 + b"}",
    ],
)
def test_odd_arguments_come_back_as_they_were_sent(caller: Caller, args: bytes) -> None:
    answer = caller.post(JOBS, with_args(args))

    assert answer.status_code == 202, answer.content
    told = caller.get(f"{JOBS}/{answer.json()['id']}").json()
    assert told["args"] == json.loads(args)


def test_an_argument_with_an_endless_name_is_not_repeated_whole(caller: Caller) -> None:
    answer = caller.enqueue(task=PICKY, args={"claim": 1, "x" * 10_000: 1})

    assert_refused(answer, "args")
    assert "unexpected keyword argument" in answer.json()["detail"]
    assert len(answer.content) < 1000


@pytest.mark.parametrize("model", [5, True, [], {"a": 1}, "", "a\x00b", "x" * 10_000])
def test_a_model_that_is_none_is_refused_or_runs_alone(caller: Caller, model: Any) -> None:
    answer = caller.enqueue(task=BATCHED, args={"model": model})

    assert answer.status_code in (202, 400), answer.content


def with_args(args: bytes) -> bytes:
    return json.dumps(JOB | {"args": "ARGS"}).encode().replace(b'"ARGS"', args)
