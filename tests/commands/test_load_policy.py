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


def test_a_drain_outlives_a_load_that_does_not_speak_of_it(run: Run, edited: Any) -> None:
    run("load_policy", str(CLAIMS))
    WorkloadClass.objects.filter(slug="nightly").update(draining=True)
    assert run("load_policy", str(CLAIMS)) == ["No differences."]
    path = edited(("queue_limit: 50000", "queue_limit: 50000, draining: false"))
    assert run("load_policy", path) == ["class nightly: draining yes → no"]


@pytest.mark.parametrize("tokens", [5, 0, -1, 15_999])
def test_a_queue_that_cannot_hold_the_largest_call_is_refused(
    run: Run, edited: Any, tokens: int
) -> None:
    (fault,) = refusal(run, edited(("2000000", str(tokens)))).splitlines()[1:]
    assert "line 4, workload_classes.rescore.queue_tokens: " in fault
    assert ("greater than or equal to 1." if tokens < 1 else "Set it to 16,000 or more") in fault


def test_a_batch_endpoint_nobody_can_use_is_noted(run: Run, edited: Any) -> None:
    unused = (RESERVATIONS, BATCH.replace("window_hours: 6", "window_hours: 8") + RESERVATIONS)
    note = (
        "note: pool claims: no bulk class has a deadline beyond the batch window of 8 h, "
        "so nothing will use the batch endpoint."
    )
    assert note in run("load_policy", edited(unused), dry_run=True)
    assert note in run("load_policy", edited(unused))
    assert run("load_policy", edited(unused)) == [note, "No differences."]
    used = edited((RESERVATIONS, BATCH + RESERVATIONS))
    assert run("load_policy", used) == ["pool claims: batch window 8 h → 6 h"]


BATCH = """    base_url: https://gateway.internal/v1
    batch:
      window_hours: 6
      limits:
        - {unit: requests, algorithm: gauge, amount: 900}
        - {unit: total_tokens, algorithm: gauge, amount: 5000000}
"""
RESERVATIONS = "    reservations:"


def test_a_batch_endpoint_is_put_into_force_and_told(run: Run, edited: Any) -> None:
    run("load_policy", str(CLAIMS))
    path = edited((RESERVATIONS, BATCH + RESERVATIONS))
    told = [
        "pool claims: base URL the official SDK's own → https://gateway.internal/v1",
        "pool claims: batch endpoint no → yes",
        "pool claims: batch window 24 h → 6 h",
        "pool claims, batch limit requests/gauge added: amount 900",
        "pool claims, batch limit total_tokens/gauge added: amount 5,000,000",
    ]
    assert run("load_policy", path, dry_run=True) == [*told, "Dry run: nothing was changed."]
    assert not Pool.objects.get().batch
    assert run("load_policy", path) == told
    assert run("load_policy", path) == ["No differences."]
    assert Limit.objects.filter(of_batch=True).count() == 2
    assert Limit.objects.get(of_batch=False, algorithm="gauge").amount == 40


def test_a_file_without_a_batch_endpoint_turns_it_off(run: Run, edited: Any) -> None:
    run("load_policy", edited((RESERVATIONS, BATCH + RESERVATIONS)))
    assert run("load_policy", str(CLAIMS)) == [
        "pool claims: base URL https://gateway.internal/v1 → the official SDK's own",
        "pool claims: batch endpoint yes → no",
        "pool claims, batch limit requests/gauge removed: amount 900",
        "pool claims, batch limit total_tokens/gauge removed: amount 5,000,000",
    ]
    assert Limit.objects.count() == 3


def test_what_is_left_of_a_batch_endpoint_that_is_off_outlives_a_load(
    run: Run, edited: Any
) -> None:
    path = edited((RESERVATIONS, BATCH + RESERVATIONS))
    run("load_policy", path)
    Pool.objects.update(batch=False, base_url="")
    assert "batch" not in "\n".join(run("dump_policy"))
    assert run("load_policy", str(CLAIMS)) == ["No differences."]
    assert Limit.objects.filter(of_batch=True).count() == 2


def test_a_batch_endpoint_survives_a_dump(run: Run, edited: Any, tmp_path: Path) -> None:
    run("load_policy", edited((RESERVATIONS, BATCH + RESERVATIONS)))
    WorkloadClass.objects.filter(slug="nightly").update(draining=True)
    Pool.objects.update(batch_max_requests=7, batch_collect_seconds=0)
    dump = tmp_path / "dump.yaml"
    dump.write_text("\n".join(run("dump_policy")) + "\n")
    assert run("load_policy", str(dump)) == ["No differences."]
    Pool.objects.all().delete()
    WorkloadClass.objects.all().delete()
    run("load_policy", str(dump))
    assert "\n".join(run("dump_policy")) + "\n" == dump.read_text()


@pytest.mark.parametrize(
    ("batch", "line", "field", "says"),
    [
        ("batch: {max_requests: 60000}", "batch:", "batch.max_requests", "openai takes at most 50,000 requests"),
        ("batch: {max_bytes: 200000001}", "batch:", "batch.max_bytes", "openai takes at most 200,000,000 bytes"),
        ("batch: {limits: [{unit: total_tokens, algorithm: gauge, amount: 15999}]}", "batch:", "batch", "largest that fits of nightly is 15,999"),
        ("provider: azure\n    batch: {}", "batch:", "batch", "no batch endpoint here for azure"),
        ("base_url: https://evil.example", "base_url:", "base_url", "may not be sent to evil.example"),
    ],
)  # fmt: skip
def test_a_batch_endpoint_or_address_that_cannot_work_is_refused_at_its_line(
    run: Run, edited: Any, settings: Any, batch: str, line: str, field: str, says: str
) -> None:
    settings.BUDGET_PROVIDER_HOSTS = ["gateway.internal"]
    provider = "" if "provider" in batch else "provider: openai\n    "
    path = edited(("provider: anthropic\n", f"{provider}{batch}\n"))
    text = Path(path).read_text()
    at = text[: text.index(line)].count(chr(10)) + 1
    (fault,) = refusal(run, path).splitlines()[1:]
    assert f"line {at}, pools.claims.{field}: " in fault
    assert says in fault
    assert not Pool.objects.exists()


@pytest.mark.parametrize(
    ("old", "new", "at", "field", "says"),
    [
        ("{share_percent: 50}", "{share_percent: 90}", "reservations:", "reservations.share_percent", "110 %"),
        ("nightly: {share", "nightl: {share", "nightl: {share", "reservations.nightl", "no class nightl"),
        ("untagged: shed", "untagged: sheds", "untagged:", "untagged", "no class sheds"),
        ("headroom_percent: 10", "headroom_percent: 1", "headroom_percent: 1,", "reservations.nightly.headroom_percent", "below that of the stricter"),
        ("amount: 400000", "amount: 4000", "adjuster: {share", "reservations.adjuster.share_percent", "largest that fits"),
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
