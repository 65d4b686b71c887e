"""`make demo`, as its user meets it."""

import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from playwright.sync_api import expect, sync_playwright

from claims_demo.database.stale import living
from tests.claims_demo.directories import temporary_dir
from tests.claims_demo.programs import ROOT, environment


@pytest.fixture(scope="module")
def data_dir() -> Iterator[Path]:
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


def policy(data_dir: Path) -> str:
    """What is in force."""
    return subprocess.check_output(
        [sys.executable, "manage.py", "dump_policy"],
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


@pytest.mark.processes
@pytest.mark.timeout(240)
def test_the_demo_shows_the_storm_and_stops_also_when_told_to(data_dir: Path) -> None:
    """One test, because the second part wants what the first leaves: a policy and accounts."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        first = demo(data_dir, "--port", str(port), "--seconds", "12")
        said, complained = first.communicate()
    assert first.returncode == 0, said + complained
    assert f"Port {port} is taken" in said
    assert "reservation of adjuster added: share 50 %" in said
    assert "demo-editor / " in said
    assert "the person waiting was served" in said
    assert living(data_dir / "postgres") is None

    second = demo(data_dir, "--port", str(port))
    assert " added" not in introduction(second)
    time.sleep(1.5)
    second.send_signal(signal.SIGTERM)
    said, complained = second.communicate()
    assert second.returncode == 0, said + complained
    assert living(data_dir / "postgres") is None


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
    assert "http://127.0.0.1:" in policy(data_dir)

    served = started("claims_demo.serve", data_dir, "--port", "0")
    assert served.stdout is not None
    assert served.stdout.readline().startswith("Serving on")
    served.terminate()
    served.communicate()
    assert "http://127.0.0.1:" not in policy(data_dir), "nobody is there to send a key to"


@pytest.mark.processes
@pytest.mark.browser
@pytest.mark.timeout(240)
def test_a_person_makes_the_storm_on_its_page_and_sees_who_is_served(data_dir: Path) -> None:
    process = demo(data_dir, "--port", "0")
    try:
        said = introduction(process)
        found = re.search(r"^Claims +(\S+)$", said, re.MULTILINE)
        password = re.search(r"demo-adjuster / (\S+)", said)
        assert found, said
        assert password, said
        complaints = _make_a_storm(found[1], password[1])
    finally:
        process.send_signal(signal.SIGINT)
        said, complained = process.communicate()
    assert process.returncode == 0, said + complained
    assert complaints == []


def _make_a_storm(url: str, password: str) -> list[str]:
    """Logs in, follows the way to the storm, and makes it as strong as it gets."""
    complaints: list[str] = []
    program = shutil.which("chromium") or shutil.which("google-chrome")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        page = browser.new_page()
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto(url)
        page.fill("#id_username", "demo-adjuster")
        page.fill("#id_password", password)
        page.keyboard.press("Enter")
        page.click("nav >> text=Storm")
        page.click("button:text-is('×10')")
        expect(page.locator("#storm-now")).to_have_text("×10, chosen by demo-adjuster.")
        words = page.locator("#storm-words")
        expect(words).to_contain_text("10 times their usual pace", timeout=10_000)
        expect(words).to_contain_text("questions were answered within 2 seconds", timeout=10_000)
        expect(page.locator("[data-figure=rescore-state]")).to_have_text("red", timeout=60_000)
        page.click("text=The last minute as a table")
        expect(page.locator("#storm-table tr").nth(5)).to_be_visible()
        page.click("button:text-is('Automatic')")
        expect(page.locator("#storm-now")).to_contain_text("Automatic")
        browser.close()
    return complaints
