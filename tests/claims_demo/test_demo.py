"""`make demo`, as its user meets it."""

import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
import yaml
from playwright.sync_api import BrowserContext, Page, expect

from claims_demo.database.stale import living
from claims_demo.running import POLICY
from tests.browsing import browsing
from tests.claims_demo.directories import temporary_dir
from tests.claims_demo.programs import ROOT, environment

CALM_FOR_EVER = """
from claims_demo.models.storm import StormControl
StormControl.objects.create(strength=1, chosen_by="somebody")
"""

CUT_ALL = """
SELECT pg_terminate_backend(pid) FROM pg_stat_activity
WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()
"""


@pytest.fixture(scope="module")
def data_dir() -> Iterator[Path]:
    with temporary_dir() as directory:
        yield directory


@pytest.fixture
def new_dir() -> Iterator[Path]:
    """Where there was no demo before."""
    with temporary_dir() as directory:
        yield directory


def demo(data_dir: Path, *arguments: str) -> subprocess.Popen[str]:
    return started("claims_demo.demo", data_dir, *arguments)


def started(module: str, data_dir: Path, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", module, *arguments],
        cwd=ROOT,
        env=environment(BUDGET_DATA_DIR=str(data_dir)),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def manage(data_dir: Path, *arguments: str) -> str:
    return subprocess.check_output(
        [sys.executable, "manage.py", *arguments],
        cwd=ROOT,
        env=environment(BUDGET_DATA_DIR=str(data_dir)),
        text=True,
    )


def introduction(process: subprocess.Popen[str]) -> str:
    """What the demo says before the storm."""
    assert process.stdout is not None
    said = ""
    while not said.endswith("shown only now.\n"):
        line = process.stdout.readline()
        assert line, "the demo ended early"
        said += line
    return said


def next_report(process: subprocess.Popen[str]) -> None:
    """Waits until the demo says how things stand."""
    assert process.stdout is not None
    while "at the provider: " not in (line := process.stdout.readline()):
        assert line, f"the demo ended early: {process.communicate()}"


@pytest.mark.processes
@pytest.mark.timeout(240)
def test_the_demo_shows_the_storm_whatever_the_last_one_left(new_dir: Path) -> None:
    """One test, because the second part wants what the first leaves: a policy and accounts."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        first = demo(new_dir, "--port", str(port), "--seconds", "12")
        said, complained = first.communicate()
    assert first.returncode == 0, said + complained
    assert f"Port {port} is taken" in said
    assert "reservation of adjuster added: share 50 %" in said
    assert "demo-editor / " in said
    assert "the person waiting was served" in said
    assert living(new_dir / "postgres") is None

    manage(new_dir, "jobs", "pause", "rescore", "--reason", "left by somebody")
    manage(new_dir, "shell", "-v", "0", "-c", CALM_FOR_EVER)
    second = demo(new_dir, "--port", "0", "--seconds", "12")
    said, complained = second.communicate()
    assert second.returncode == 0, said + complained
    assert " added" not in said
    assert "Resumed: rescore." in said
    assert "at the provider: 0" in said, "batches end, those of the first demo too"


@pytest.mark.processes
@pytest.mark.timeout(240)
def test_a_pool_that_the_storm_does_not_exhaust_shows_nothing(
    data_dir: Path, tmp_path: Path
) -> None:
    policy = yaml.safe_load(POLICY.read_text())
    (pool,) = policy["pools"].values()
    for limit in (*pool["limits"], *pool["batch"]["limits"]):
        limit["amount"] *= 100
    generous = tmp_path / "policy.yaml"
    generous.write_text(yaml.safe_dump(policy))
    code = f"""
from pathlib import Path
from claims_demo import demo, running
running.POLICY = Path({str(generous)!r})
raise SystemExit(demo.main())
"""
    done = subprocess.run(
        [sys.executable, "-c", code, "--port", "0", "--seconds", "12"],
        cwd=ROOT,
        env=environment(BUDGET_DATA_DIR=str(data_dir)),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1, done.stdout + done.stderr
    assert "NOT as promised" in done.stdout
    assert "The storm did not exhaust the pool" in done.stdout


@pytest.mark.processes
@pytest.mark.timeout(240)
def test_a_demo_outlives_its_connections_to_the_database(data_dir: Path) -> None:
    process = demo(data_dir, "--port", "0")
    introduction(process)
    next_report(process)
    assert "t" in manage(data_dir, "dbshell", "--", "-Atc", CUT_ALL).split()
    for _ in range(2):
        next_report(process)
    process.send_signal(signal.SIGINT)
    said, complained = process.communicate()
    assert process.returncode == 0, said + complained
    assert "What the storm showed" in said
    assert "Traceback" not in complained


@pytest.mark.processes
@pytest.mark.timeout(240)
def test_there_is_one_demo_at_a_time_and_nothing_is_left_of_one_that_was_killed(
    data_dir: Path,
) -> None:
    first = demo(data_dir, "--port", "0")
    introduction(first)
    family = psutil.Process(first.pid).children(recursive=True)
    second = demo(data_dir, "--port", "0")
    said, complained = second.communicate()
    assert second.returncode == 1
    assert said == ""
    assert complained == (
        f"A demo runs already, with its data in {data_dir}. End that one, "
        "or set BUDGET_DATA_DIR to another directory.\n"
    )
    assert first.poll() is None

    first.kill()
    first.communicate()
    assert len(family) > 5
    assert psutil.wait_procs(family, timeout=20)[1] == []
    assert living(data_dir / "postgres") is None
    assert "http://127.0.0.1:" not in manage(data_dir, "dump_policy"), (
        "nobody is there any more to send a key to"
    )


@pytest.mark.processes
@pytest.mark.browser
@pytest.mark.timeout(300)
def test_a_person_makes_the_storm_on_its_page_and_sees_who_is_served_and_why(
    data_dir: Path,
) -> None:
    process = demo(data_dir, "--port", "0")
    try:
        said = introduction(process)
        found = re.search(r"^Claims +(\S+)$", said, re.MULTILINE)
        passwords = dict(re.findall(r"(demo-\w+) / (\S+)", said))
        assert found, said
        complaints = _make_a_storm(found[1], passwords)
    finally:
        process.send_signal(signal.SIGTERM)
        said, complained = process.communicate()
    assert process.returncode == 0, said + complained
    assert complaints == []
    assert living(data_dir / "postgres") is None


def _make_a_storm(url: str, passwords: dict[str, str]) -> list[str]:
    """Makes the storm as strong as it gets, then takes from adjusters what they are promised."""
    complaints: list[str] = []
    with browsing() as one, browsing() as other:

        def opened(context: BrowserContext, username: str) -> Page:
            page = context.new_page()
            page.on("console", lambda message: complaints.append(message.text))
            page.on("pageerror", lambda error: complaints.append(str(error)))
            page.goto(url)
            page.fill("#id_username", username)
            page.fill("#id_password", passwords[username])
            page.keyboard.press("Enter")
            page.click("nav >> text=Storm")
            return page

        page = opened(one, "demo-adjuster")
        page.click("button:text-is('×10')")
        expect(page.locator("#storm-now")).to_have_text("×10, chosen by demo-adjuster.")
        words = page.locator("#storm-words")
        expect(words).to_contain_text("10 times their usual pace", timeout=10_000)
        expect(words).to_contain_text("questions were answered within 2 seconds", timeout=10_000)
        expect(page.locator("[data-figure=rescore-state]")).to_have_text("red", timeout=60_000)
        expect(page.locator("[data-figure=nightly-held]")).to_have_text("headroom", timeout=60_000)
        page.click("text=The last minute as a table")
        expect(page.locator("#storm-table tr").nth(5)).to_be_visible()
        refused = page.locator("[data-figure=adjuster-shed]")
        expect(refused).to_have_text("0 %")

        editor = opened(other, "demo-editor")
        editor.click("text=the pool's form")
        form = editor.url
        _edit(editor, form, {"0-share_percent": "0", "1-headroom_percent": "0"})
        expect(refused).not_to_have_text("0 %", timeout=60_000)
        _edit(editor, form, {"0-ceiling_percent": "20"})
        expect(words).to_contain_text("waited longer", timeout=60_000)

        page.click("button:text-is('Automatic')")
        expect(page.locator("#storm-now")).to_contain_text("Automatic")
    return complaints


def _edit(page: Page, form: str, values: dict[str, str]) -> None:
    """Changes reservations, as the storm page invites to."""
    page.goto(form)
    for field, value in values.items():
        page.fill(f"#id_reservations-{field}", value)
    page.fill("#id_reason", "What if nobody were promised anything?")
    page.click("input[name=_save]")
    expect(page.locator(".messagelist .success")).to_be_visible()
