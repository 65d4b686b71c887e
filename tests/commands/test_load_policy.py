"""load_policy and dump_policy."""
# ruff: noqa: E501  one case, one line

import io
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError

from budget.models import Limit, PolicyVersion, Pool, Reservation, WorkloadClass
from budget.policy import rows
from tests.commands.conftest import Run
from tests.policies import CLAIMS, small_pool

pytestmark = pytest.mark.django_db


@pytest.fixture
def edited(tmp_path: Path) -> Any:
    """The claims policy with some text replaced, as a file."""

    def edit(*replacements: tuple[str, str]) -> str:
        text = CLAIMS.read_text()
        for old, new in replacements:
            assert old in text
            text = text.replace(old, new)
        path = tmp_path / "policy.yaml"
        path.write_text(text)
        return str(path)

    return edit


def refusal(run: Run, path: str) -> str:
    with pytest.raises(CommandError) as refused:
        run("load_policy", path)
    return str(refused.value)


def test_a_first_load_tells_what_it_added(run: Run) -> None:
    lines = run("load_policy", str(CLAIMS))
    assert "pool claims added: provider anthropic" in lines
    assert "pool claims, reservation of adjuster added: share 50 %" in lines
    assert Reservation.objects.count() == 3


def test_a_second_load_changes_nothing(run: Run) -> None:
    run("load_policy", str(CLAIMS))
    version = PolicyVersion.objects.get().version
    assert run("load_policy", str(CLAIMS)) == ["No differences."]
    assert PolicyVersion.objects.get().version == version


def test_a_dump_loads_without_a_difference(run: Run, tmp_path: Path) -> None:
    run("load_policy", str(CLAIMS))
    small_pool()
    WorkloadClass.objects.filter(slug="nightly").update(paused=True)
    Pool.objects.filter(slug="claims").update(
        untagged_class=WorkloadClass.objects.get(slug="nightly")
    )
    Reservation.objects.filter(workload_class__slug="rescore").update(
        except_limits=["requests/gauge"], weight="2.5"
    )
    Limit.objects.filter(algorithm="gauge").update(per_seconds=7, burst_percent=50)
    dump = tmp_path / "dump.yaml"
    dump.write_text("\n".join(run("dump_policy")) + "\n")
    assert run("load_policy", str(dump)) == ["No differences."]
    Limit.objects.all().delete()
    run("load_policy", str(dump))
    assert "\n".join(run("dump_policy")) + "\n" == dump.read_text()


def test_the_difference_is_told_in_words(run: Run, edited: Any) -> None:
    run("load_policy", str(CLAIMS))
    path = edited(
        ("{share_percent: 50}", "{share_percent: 40}"),
        ("mode: enforce", "mode: observe"),
        ("amount: 400000", "amount: 500000"),
        ("      - {unit: requests, algorithm: gauge, amount: 40}\n", ""),
    )
    assert run("load_policy", path) == [
        "pool claims: mode enforce → observe",
        "pool claims, limit total_tokens/token_bucket: amount 400,000 → 500,000",
        "pool claims, limit requests/gauge removed: amount 40",
        "pool claims, reservation of adjuster: share 50 % → 40 %",
    ]


def test_a_dry_run_tells_and_changes_nothing(run: Run, edited: Any) -> None:
    run("load_policy", str(CLAIMS))
    version = PolicyVersion.objects.get().version
    lines = run("load_policy", edited(("amount: 40}", "amount: 50}")), dry_run=True)
    assert lines == [
        "pool claims, limit requests/gauge: amount 40 → 50",
        "Dry run: nothing was changed.",
    ]
    assert PolicyVersion.objects.get().version == version
    assert Limit.objects.get(algorithm="gauge").amount == 40


def test_other_pools_and_classes_are_left(run: Run) -> None:
    small_pool()
    run("load_policy", str(CLAIMS))
    assert Reservation.objects.get(pool__slug="small").share_percent == 40
    assert WorkloadClass.objects.filter(slug="chat").exists()


def test_a_pause_outlives_a_load_that_does_not_speak_of_it(run: Run) -> None:
    run("load_policy", str(CLAIMS))
    WorkloadClass.objects.filter(slug="nightly").update(paused=True)
    Pool.objects.update(paused=True)
    assert run("load_policy", str(CLAIMS)) == ["No differences."]
    assert WorkloadClass.objects.get(slug="nightly").paused
    assert Pool.objects.get().paused


@pytest.mark.parametrize(
    ("old", "new", "at", "field", "says"),
    [
        ("{share_percent: 50}", "{share_percent: 90}", "reservations:", "reservations.share_percent", "110 %"),
        ("nightly: {share", "nightl: {share", "nightl: {share", "reservations.nightl", "no class nightl"),
        ("untagged: shed", "untagged: sheds", "untagged:", "untagged", "no class sheds"),
        ("headroom_percent: 10", "headroom_percent: 1", "headroom_percent: 1,", "reservations.nightly.headroom_percent", "below that of the stricter"),
        ("amount: 400000", "amount: 4000", "adjuster: {share", "reservations.adjuster.share_percent", "largest possible call"),
        ("weight: 1}", "except_limits: [requests/window]}", "except_limits", "reservations.rescore.except_limits", "no limit requests/window"),
    ],
)  # fmt: skip
def test_a_policy_that_is_unsound_as_a_whole_is_refused_at_its_line(
    run: Run, edited: Any, old: str, new: str, at: str, field: str, says: str
) -> None:
    path = edited((old, new))
    text = Path(path).read_text()
    place = f"line {text[: text.index(at)].count(chr(10)) + 1}, pools.claims.{field}: "
    message = refusal(run, path)
    assert message.startswith("Nothing was changed.")
    assert any(place in line and says in line for line in message.splitlines())
    assert not Pool.objects.exists()
    assert not WorkloadClass.objects.exists()


def test_a_class_that_would_break_a_pool_outside_the_file_is_refused(
    run: Run, tmp_path: Path
) -> None:
    run("load_policy", str(CLAIMS))
    path = tmp_path / "classes.yaml"
    path.write_text(
        "workload_classes:\n"
        "  adjuster: {tier: interactive, deadline_seconds: 5, max_call_tokens: 1000000}\n"
    )
    message = refusal(run, str(path))
    assert "line 2, workload_classes.adjuster" in message
    assert "Pool claims, not in this file" in message
    assert WorkloadClass.objects.get(slug="adjuster").max_call_tokens == 16_000


def test_a_load_is_remembered_with_command_and_reason(run: Run) -> None:
    run("load_policy", str(CLAIMS), reason="first policy")
    context = rows.POOL.events.objects.get().pgh_context
    assert context["command"] == f"load_policy {CLAIMS}"
    assert context["reason"] == "first policy"


def test_standard_input_is_a_file_too(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(CLAIMS.read_bytes())))
    run("load_policy", "-")
    assert Pool.objects.get().slug == "claims"


def test_a_missing_file_is_said_so(run: Run, tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="No such file"):
        run("load_policy", str(tmp_path / "none.yaml"))
