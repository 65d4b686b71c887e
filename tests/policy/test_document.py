"""A policy file says where it is wrong."""
# ruff: noqa: E501  one case, one line

import pytest

from budget.policy.document import read_document
from budget.policy.yaml_tree import MAX_BYTES, PolicyFileError
from tests.policies import CLAIMS

CLASS = "workload_classes:\n  chat: {tier: interactive, deadline_seconds: 5}\n"
POOL = "pools:\n  p:\n    provider: azure\n"


def faults(text: str | bytes) -> list[str]:
    data = text if isinstance(text, bytes) else text.encode()
    with pytest.raises(PolicyFileError) as refused:
        read_document(data)
    return [str(fault) for fault in refused.value.faults]


def test_the_claims_policy_is_sound() -> None:
    document = read_document(CLAIMS.read_bytes())
    assert list(document.classes) == ["adjuster", "rescore", "nightly"]
    assert len(document.pools["claims"].limits) == 3


@pytest.mark.parametrize(
    ("text", "place", "says"),
    [
        (CLASS + "  chat: {tier: bulk, deadline_seconds: 9}\n", "line 3, workload_classes.chat", "twice, first on line 2"),
        (CLASS + POOL + "    mode: sometimes\n", "line 6, pools.p.mode", "enforce, observe"),
        (CLASS + POOL + "    colour: red\n", "line 6, pools.p.colour", "Unknown field"),
        (POOL + "    limits:\n      - {unit: requests, algorithm: gauge, amount: 0}\n", "line 5, pools.p.limits[0].amount", "greater than or equal to 1"),
        (POOL + "    limits:\n      - {unit: requests, algorithm: gauge, amount: .nan}\n", "line 5, pools.p.limits[0].amount", "Expected a number"),
        (POOL + "    limits:\n      - {unit: requests, algorithm: gauge, amount: 1.5}\n", "line 5, pools.p.limits[0].amount", "whole number"),
        (POOL + "    limits:\n      - {unit: requests, algorithm: gauge, amount: '7'}\n", "line 5, pools.p.limits[0].amount", "Expected a number"),
        (POOL + "    limits:\n      - {unit: requests, algorithm: gauge, amount: 99999999999999999999}\n", "line 5, pools.p.limits[0].amount", "less than or equal"),
        (POOL + "    limits:\n      - {unit: words, algorithm: gauge, amount: 1}\n", "line 5, pools.p.limits[0].unit", "requests, input_tokens"),
        (POOL + "    limits:\n      - {algorithm: gauge, amount: 1}\n", "line 5, pools.p.limits[0].unit", "Missing"),
        (POOL + "    limits:\n" + 2 * "      - {unit: requests, algorithm: gauge, amount: 1}\n", "line 6, pools.p.limits[1]", "line 5 already"),
        (POOL + "    limits: 7\n", "line 4, pools.p.limits", "Expected a list"),
        (POOL + "    strategy: {bulk: dynamic}\n", "line 4, pools.p.strategy.bulk", "Expected static"),
        (POOL + "    strategy: dynamic\n", "line 4, pools.p.strategy", "Expected static"),
        (POOL + "    reservations:\n      chat: {share_percent: 150}\n", "line 5, pools.p.reservations.chat.share_percent", "less than or equal to 100"),
        (POOL + "    reservations:\n      chat: {share_percent: [1]}\n", "line 5, pools.p.reservations.chat.share_percent", "found a list"),
        (POOL + "    reservations:\n      chat: {share_percent: 33.333}\n", "line 5, pools.p.reservations.chat.share_percent", "2 decimal places"),
        ("workload_classes:\n  chat: {tier: urgent, deadline_seconds: 5}\n", "line 2, workload_classes.chat.tier", "interactive, near_line, bulk"),
        ("workload_classes:\n  chat: {tier: bulk}\n", "line 2, workload_classes.chat.deadline_seconds", "Missing"),
        ("workload_classes:\n  chat: {tier: bulk, deadline_seconds: 1:30}\n", "line 2, workload_classes.chat.deadline_seconds", "'1:30'"),
        ("workload_classes:\n  chat: {tier: bulk, deadline_seconds: 5, paused: yes}\n", "line 2, workload_classes.chat.paused", "true or false"),
        ("workload_classes:\n  a b: {tier: bulk, deadline_seconds: 5}\n", "line 2, workload_classes.a b", "slug"),
        ("workload_classes:\n  shed: {tier: bulk, deadline_seconds: 5}\n", "line 2, workload_classes.shed", "no class"),
        (POOL + "    base_url: ftp://files\n", "line 4, pools.p.base_url", "such as https://"),
        (POOL + "    batch: true\n", "line 4, pools.p.batch", "Expected names with values, found 'true'"),
        (POOL + "    batch:\n      colour: red\n", "line 5, pools.p.batch.colour", "max_requests, max_bytes, collect_seconds, window_hours, limits"),
        (POOL + "    batch: {max_requests: 0}\n", "line 4, pools.p.batch.max_requests", "greater than or equal to 1"),
        (POOL + "    batch: {max_bytes: 1}\n", "line 4, pools.p.batch.max_bytes", "greater than or equal to 1024"),
        (POOL + "    batch: {collect_seconds: 1.5}\n", "line 4, pools.p.batch.collect_seconds", "whole number"),
        (POOL + "    batch: {window_hours: 169}\n", "line 4, pools.p.batch.window_hours", "less than or equal to 168"),
        (POOL + "    batch: {limits: 7}\n", "line 4, pools.p.batch.limits", "Expected a list"),
        (POOL + "    batch:\n      limits:\n        - {unit: words, algorithm: gauge, amount: 1}\n", "line 6, pools.p.batch.limits[0].unit", "requests, input_tokens"),
        (POOL + "    batch:\n      limits:\n" + 2 * "        - {unit: requests, algorithm: gauge, amount: 1}\n", "line 7, pools.p.batch.limits[1]", "line 6 already"),
        ("workload_classes:\n  chat: {tier: bulk, deadline_seconds: 5, draining: 1}\n", "line 2, workload_classes.chat.draining", "true or false"),
        ("pools: [p]\n", "line 1, pools", "found a list"),
        ("polls: {}\n", "line 1, polls", "workload_classes, pools"),
    ],
)  # fmt: skip
def test_each_fault_names_line_field_and_remedy(text: str, place: str, says: str) -> None:
    (fault,) = faults(text)
    assert fault.startswith(f"{place}: ")
    assert says in fault


def test_all_faults_are_named_in_one_run() -> None:
    text = CLASS.replace("interactive", "urgent") + POOL + "    mode: sometimes\n    colour: red\n"
    assert [fault.split(",")[0] for fault in faults(text)] == ["line 2", "line 6", "line 7"]


def test_a_limit_may_stand_both_under_the_pool_and_under_its_batch_endpoint() -> None:
    limits = "limits: [{unit: requests, algorithm: gauge, amount: 1}]"
    text = f"{POOL}    {limits}\n    batch: {{{limits}}}\n"
    rows = read_document(text.encode()).pools["p"].limits
    assert [row.instance.of_batch for row in rows] == [False, True]


@pytest.mark.parametrize(("batch", "on"), [("", False), ("batch:", False), ("batch: {}", True)])
def test_a_batch_endpoint_is_on_where_the_file_describes_one(batch: str, on: bool) -> None:
    pool = read_document(f"{POOL}    {batch}\n".encode()).pools["p"].pool.instance
    assert pool.batch is on
    assert (pool.batch_max_requests, pool.batch_window_hours) == (50_000, 24)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "line 1: Expected `workload_classes:`"),
        ("# nothing\n", "line 1: Expected `workload_classes:`"),
        ("- a\n", "line 1: Expected `workload_classes:`"),
        ("a: [1\n", "line 2: Not valid YAML"),
        ("a: 1\n\tb: 2\n", "line 2: Not valid YAML"),
        ("a: &x 1\nb: *x\n", "line 1: Anchors"),
        ("a: !!python/object:os.system {}\n", "line 1: Tags"),
        ("[" * 5000, "line 1: Nested more than 12 deep"),
        (b"a: 1\nb: \xff\n", "line 2: Not UTF-8"),
        (b"a: \0\n", "line 1: Not valid YAML"),
        (b" " * (MAX_BYTES + 1), "a policy file has at most"),
    ],
)
def test_what_is_no_plain_yaml_is_refused(text: str | bytes, says: str) -> None:
    (fault,) = faults(text)
    assert says in fault


def test_words_that_yaml_would_turn_into_something_else_stay_names() -> None:
    document = read_document(b"workload_classes:\n  off: {tier: bulk, deadline_seconds: 010}\n")
    assert document.classes["off"].instance.deadline_seconds == 10
