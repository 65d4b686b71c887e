"""Each command that docs/operate.md shows is run as it stands there."""

import os
import re
import subprocess
import sys
from pathlib import Path
from urllib.parse import quote

import pytest
from django.db import connection
from pytest_django.live_server_helper import LiveServer

from budget import services
from budget.models import WorkloadClass
from budget.policy import rows
from budget.rule.decision import REASONS
from claims_demo.database.programs import NEWEST, programs
from tests.claims_demo.programs import environment
from tests.docs.blocks import ROOT, blocks
from tests.jobs.queueing import enqueue
from tests.policies import claims_pool

DOCUMENT = ROOT / "docs" / "operate.md"
TEXT = DOCUMENT.read_text()
SHOWN = [block.code for block in blocks(DOCUMENT, "sh")]
INLINE = re.findall(r"`(\.venv/bin/python manage\.py [^`]+)`", TEXT)
SERVICE = "localhost:8000"


@pytest.fixture
def place(committed: None, tmp_path: Path) -> Path:
    """A directory in which the service is installed, and which may be written to."""
    (tmp_path / ".venv").symlink_to(sys.prefix)
    (tmp_path / "manage.py").symlink_to(ROOT / "manage.py")
    claims_pool()
    enqueue("nightly")
    return tmp_path


@pytest.fixture
def on_duty(place: Path, live_server: LiveServer) -> "OnDuty":
    """Somebody at a terminal of the service."""
    return OnDuty(place, live_server.url.removeprefix("http://"))


class OnDuty:
    """Runs lines of shell where the service is installed."""

    def __init__(self, place: Path, address: str) -> None:
        self.place, self.address = place, address

    def run(self, lines: str) -> str:
        """What they printed; they must succeed."""
        done = subprocess.run(
            ["sh", "-e", "-c", lines.replace(SERVICE, self.address)],
            cwd=self.place,
            env=environment(
                DATABASE_URL=_database(),
                PATH=f"{os.environ['PATH']}{os.pathsep}{programs(NEWEST)}",
                PAGER="cat",
            ),
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout


def _database() -> str:
    own = connection.settings_dict
    account = f"{own['USER']}:{own['PASSWORD']}"
    host = quote(own["HOST"], safe="")
    return f"postgresql://{account}@{host}:{own['PORT']}/{own['NAME']}"


def showing(part: str) -> str:
    """The one block with that in it."""
    (found,) = [code for code in SHOWN if part in code]
    return found


SWITCHES, POLICY_FILE = showing("jobs pause"), showing("load_policy")
OTHERS = [code for code in (*SHOWN, *INLINE) if code not in (SWITCHES, POLICY_FILE)]


@pytest.mark.processes
@pytest.mark.parametrize("lines", OTHERS, ids=lambda lines: lines.split("\n")[0][-40:])
def test_every_command_runs_as_it_stands_there(on_duty: OnDuty, lines: str) -> None:
    on_duty.run(lines)


@pytest.mark.processes
def test_the_commands_that_switch_end_with_everything_resumed(on_duty: OnDuty) -> None:
    on_duty.run(SWITCHES)
    nightly = WorkloadClass.objects.get(slug="nightly")
    assert (nightly.paused, nightly.draining) == (False, False)
    events = rows.WORKLOAD_CLASS.events.objects.filter(slug="nightly", pgh_label="update")
    assert [event.pgh_context["reason"] for event in events.order_by("pgh_id")] == [
        "runaway loop in the classifier",
        "upgrade",
        "loop fixed",
    ]


@pytest.mark.processes
def test_a_policy_file_that_is_put_back_lets_the_paused_stay_paused(on_duty: OnDuty) -> None:
    dump, dry_run, load = POLICY_FILE.splitlines()
    on_duty.run(dump)
    WorkloadClass.objects.filter(slug="nightly").update(paused=True, max_attempts=9)
    assert "class nightly: attempts 9 → 3" in on_duty.run(dry_run)
    on_duty.run(load)
    nightly = WorkloadClass.objects.get(slug="nightly")
    assert (nightly.paused, nightly.max_attempts) == (True, 3)


def test_every_reason_is_explained() -> None:
    table = TEXT.partition("## Reasons")[2].partition("\n## ")[0]
    assert [*REASONS, "expired"] == re.findall(r"^\| `(\w+)`", table, re.MULTILINE)


def test_it_tells_what_a_pause_and_a_drain_do_to_new_jobs(committed: None) -> None:
    claims_pool()
    nightly = WorkloadClass.objects.filter(slug="nightly")
    nightly.update(paused=True)
    assert enqueue("nightly").position == 1
    nightly.update(paused=False, draining=True)
    with pytest.raises(services.Shed):
        enqueue("nightly")


def test_every_answer_of_the_ledger_that_is_away_is_explained() -> None:
    told = TEXT.partition("### Calls are answered with 503")[2].partition("\n###")[0]
    sources = [path.read_text() for path in (ROOT / "budget").rglob("*.py")]
    said = {
        words
        for source in sources
        for words in re.findall(r'(?:LedgerUnavailable|unavailable)\(\s*"([^"]+)"', source)
    }
    for words in said - {"What the jobs run could not be read."}:
        assert words in told
