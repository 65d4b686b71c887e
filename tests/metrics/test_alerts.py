"""The alerts of docs/metrics.md fire when they should, once for all processes that tell of it."""

import shutil
import subprocess
from pathlib import Path
from typing import NamedTuple

import pytest
import yaml

from tests.docs.blocks import ROOT, blocks

RULES = blocks(ROOT / "docs" / "metrics.md", "yaml")[1].code
ALERTS = {rule["alert"]: rule for rule in yaml.safe_load(RULES)["groups"][0]["rules"]}
ADJUSTER = {"pool": "claims", "workload_class": "adjuster"}
NIGHTLY = {"pool": "claims", "workload_class": "nightly"}
CLAIMS = {"pool": "claims"}
TOKENS = CLAIMS | {"unit": "total_tokens"}
RED = NIGHTLY | {"state": "red"}
HEADROOM, PAUSED = {"reason": "headroom"}, {"reason": "paused"}
SHED, OFFERED = "budget_calls_shed_total", "budget_calls_offered_total"

pytestmark = pytest.mark.promtool


class Series(NamedTuple):
    """A metric over an hour of minutes, in promtool's shorthand."""

    name: str
    values: str
    labels: dict[str, str] = {}

    def told_by(self, process: str) -> dict[str, str]:
        """As one process tells it."""
        labels = ",".join(
            f'{name}="{value}"' for name, value in ({"instance": process} | self.labels).items()
        )
        return {"series": f"{self.name}{{{labels}}}", "values": self.values}


class Case(NamedTuple):
    """What makes an alert fire, what is like it and doesn't, and whom the alert names."""

    fires: list[Series]
    silent: list[Series]
    labels: dict[str, str]


CASES = {
    "LedgerDown": Case([Series("budget_up", "0x60")], [Series("budget_up", "1x60")], {}),
    "AdjustersShed": Case(
        [Series(SHED, "0x58 1 1", ADJUSTER | HEADROOM)],
        [
            Series(SHED, "0x60", ADJUSTER | HEADROOM),
            Series(SHED, "0+1x60", ADJUSTER | PAUSED),
            Series(SHED, "0+1x60", NIGHTLY | HEADROOM),
        ],
        ADJUSTER,
    ),
    "NightlyShedRate": Case(
        [Series(SHED, "0+6x60", NIGHTLY | HEADROOM), Series(OFFERED, "0+10x60", NIGHTLY)],
        [Series(SHED, "0+4x60", NIGHTLY | HEADROOM), Series(OFFERED, "0+10x60", NIGHTLY)],
        NIGHTLY,
    ),
    "LeasesExpire": Case(
        [Series("budget_leases_expired_total", "3x55 4x4", NIGHTLY)],
        [Series("budget_leases_expired_total", "3x60", NIGHTLY)],
        NIGHTLY,
    ),
    "QueueRed": Case(
        [
            Series("budget_queue_state", "1x60", RED),
            Series("budget_class_paused", "0x60", NIGHTLY),
        ],
        [
            Series("budget_queue_state", "1x60", RED),
            Series("budget_class_paused", "1x60", NIGHTLY),
        ],
        RED,
    ),
    "Leak": Case(
        [Series("budget_leaked_tokens_total", "0x55 40000x4", TOKENS)],
        [Series("budget_leaked_tokens_total", "40000x60", TOKENS)],
        TOKENS,
    ),
    "SpendCapReached": Case(
        [Series("budget_pool_spend_cap_reached", "1x60", CLAIMS)],
        [Series("budget_pool_spend_cap_reached", "0x60", CLAIMS)],
        CLAIMS,
    ),
}


def test_they_are_wellformed(tmp_path: Path) -> None:
    (tmp_path / "rules.yml").write_text(RULES)
    promtool(tmp_path, "check", "rules", "rules.yml")


@pytest.mark.parametrize("alert", ALERTS)
def test_one_fires_when_it_should_and_only_then(alert: str, tmp_path: Path) -> None:
    case = CASES[alert]
    summary = ALERTS[alert]["annotations"]["summary"]
    for name, value in case.labels.items():
        summary = summary.replace(f"{{{{ $labels.{name} }}}}", value)
    fired = {"exp_labels": case.labels, "exp_annotations": {"summary": summary}}
    tests = [expectation(alert, case.fires, [fired]), expectation(alert, case.silent, [])]
    (tmp_path / "rules.yml").write_text(RULES)
    (tmp_path / "tests.yml").write_text(
        yaml.safe_dump({"rule_files": ["rules.yml"], "tests": tests})
    )
    promtool(tmp_path, "test", "rules", "tests.yml")


def expectation(alert: str, told: list[Series], expected: list[object]) -> dict[str, object]:
    """What is to come of it after an hour, as promtool reads it."""
    return {
        "interval": "1m",
        "input_series": [series.told_by(process) for series in told for process in "ab"],
        "alert_rule_test": [{"alertname": alert, "eval_time": "60m", "exp_alerts": expected}],
    }


def promtool(directory: Path, *arguments: str) -> None:
    """Fails with what it says if it doesn't like something."""
    program = shutil.which("promtool") or "promtool"
    done = subprocess.run(
        [program, *arguments], cwd=directory, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
