"""`make screenshots`: the pictures in the README, taken of the running demo in a short storm."""

from claims_demo.interrupts import end_at_once, end_on_signals

if __name__ == "__main__":
    end_at_once()

import argparse
import atexit
import contextlib
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from claims_demo.claims import POOL
from claims_demo.database.errors import REFUSALS, in_words
from claims_demo.environment import BASE_DIR
from claims_demo.processes import ProcessFailed, free_port
from claims_demo.running import HOST, running
from claims_demo.storm.process import StormProcess
from claims_demo.storm.report import Orders, Report

if TYPE_CHECKING:
    from playwright.sync_api import Page

    from claims_demo.accounts import Account

EDITOR, ADJUSTER = "demo-editor", "demo-adjuster"
WIDTH = 1280
FIRST_CALM = 5.0
SEASON = ({"share_percent": "40"}, "Storm season is over; the others may have more.")
DRILL = (
    {"share_percent": "10", "ceiling_percent": "20"},
    "A drill: what does an adjuster see who is shed?",
)
"""Edits of the adjusters' reservation: values by field, and why."""
TRIES = 30
MOMENT_MS = 4_000


class Picture(NamedTuple):
    """A page as it is to be seen."""

    file: str
    path: str
    """`{pool}` stands for the pool's id."""
    ready: str
    """What the page shows once it is complete."""
    height: int = 740
    """In pixels."""
    before: "Callable[[Page], None]" = lambda page: None
    """What somebody does there first."""


def ask_until_shed(page: "Page") -> None:
    """Ask the assistant about the most urgent claim until it has to say that it is busy."""
    page.click("tbody th a")
    for _ in range(TRIES):
        page.locator(".suggestions button").first.click()
        page.wait_for_selector(".status[data-state=waiting], [data-send]:not([aria-disabled])")
        if page.locator("[data-countdown]").is_visible():
            return
    raise ProcessFailed("The assistant was never too busy to be asked.")


def watch_a_while(page: "Page") -> None:
    """Until the first seconds have come."""
    page.wait_for_timeout(MOMENT_MS)


BEFORE_THE_DRILL = (
    Picture("dashboard.png", "/dashboard/claims/?range=live", "figure canvas", height=1060),
    Picture("sheds.png", "/dashboard/claims/sheds/?range=15m", "main table", height=900),
    Picture("storm.png", "/storm/", "#storm-shed canvas", height=1080, before=watch_a_while),
    Picture("pool.png", "/admin/budget/pool/{pool}/change/", "#pool_form"),
    Picture("history.png", "/admin/budget/policyhistory/", "article", height=1000),
)
DURING_THE_DRILL = (Picture("adjuster.png", "/", "[data-countdown]", before=ask_until_shed),)


def screenshots(into: Path, seconds: float) -> None:
    """Takes all pictures, after so many seconds of the storm and the first refusal in it."""
    with running(free_port(HOST), "The policy we start with") as platform:
        url, pool = platform.url, _pool_id()
        edit = f"{url}/admin/budget/pool/{pool}/change/"
        password = platform.accounts[ADJUSTER].password
        with browser(url, platform.accounts[EDITOR]) as page:
            _edit(page, edit, *SEASON)
            storm = StormProcess(Orders(url, ADJUSTER, password, FIRST_CALM))
            with contextlib.closing(storm):
                next(report for report in storm.reports() if _worth_showing(report, seconds))
                _take(page, url, BEFORE_THE_DRILL, pool, into)
                _edit(page, edit, *DRILL)
                _take(page, url, DURING_THE_DRILL, pool, into)


def _worth_showing(report: Report, seconds: float) -> bool:
    """Whether the storm has gone on so long, and somebody was refused in it."""
    refused = any(tally.shed_total for tally in report.tallies.values())
    return refused and report.elapsed >= FIRST_CALM + seconds


def _pool_id() -> int:
    from budget.models import Pool

    return int(Pool.objects.get(slug=POOL).pk)


def _take(page: "Page", url: str, pictures: Sequence[Picture], pool: int, into: Path) -> None:
    for picture in pictures:
        page.set_viewport_size({"width": WIDTH, "height": picture.height})
        page.goto(url + picture.path.format(pool=pool))
        picture.before(page)
        page.wait_for_selector(picture.ready)
        page.screenshot(path=into / picture.file)


@contextlib.contextmanager
def browser(url: str, account: "Account") -> Iterator["Page"]:
    """A browser in which the account is logged in."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=_program(), args=["--no-sandbox"])
        page = chromium.new_page()
        page.goto(f"{url}/login/")
        page.fill("#id_username", account.username)
        page.fill("#id_password", account.password)
        page.keyboard.press("Enter")
        page.wait_for_selector("nav")
        yield page
        chromium.close()


def _program() -> str:
    for name in ("chromium", "chromium-browser", "google-chrome"):
        if program := shutil.which(name):
            return program
    raise ProcessFailed("There is no Chromium to take pictures with: install chromium.")


def _edit(page: "Page", address: str, values: dict[str, str], reason: str) -> None:
    """Changes the adjusters' reservation in the admin, as an editor does."""
    page.goto(address)
    for field, value in values.items():
        page.fill(f"#id_reservations-0-{field}", value)
    page.fill("#id_reason", reason)
    page.click("input[name=_save]")
    page.wait_for_selector(".messagelist .success")


def _work_apart() -> None:
    """With a database of its own, and under no real account's name."""
    directory = tempfile.mkdtemp(prefix="budget-")
    atexit.register(shutil.rmtree, directory)
    os.environ |= {"BUDGET_DATA_DIR": directory, "LOGNAME": "deploy"}
    os.environ.pop("DATABASE_URL", None)


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--into", type=Path, default=BASE_DIR / "docs")
    parser.add_argument(
        "--seconds", type=float, default=240, help="of the storm: so much the charts show"
    )
    arguments = parser.parse_args()
    try:
        end_on_signals()
        _work_apart()
        screenshots(arguments.into, arguments.seconds)
    except (ProcessFailed, *REFUSALS) as error:
        print(in_words(error), file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 0
    return 0


if __name__ == "__main__":
    sys.exit(main())
