"""`make screenshots`: the pictures in the README, taken of the admin during a short storm."""

import argparse
import atexit
import contextlib
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from django.core.management import call_command

from claims_demo.database.errors import REFUSALS, in_words
from claims_demo.environment import BASE_DIR, data_dir
from claims_demo.processes import ProcessFailed, address, end_on_signals, free_port, prepare, web
from claims_demo.storm.call import POOL
from claims_demo.storm.process import StormProcess
from claims_demo.storm.report import Orders
from claims_demo.storm.service import SERVICES

if TYPE_CHECKING:
    from playwright.sync_api import Page

    from claims_demo.accounts import Account

HOST = "127.0.0.1"
POLICY = Path(__file__).with_name("policy.yaml")
WIDTH, HEIGHT = 1280, 740
FIRST_CALM = 1.0
EDIT = ("40", "Storm season is over; the others may have more.")
"""The adjusters' new share in percent, and why."""


def screenshots(into: Path, seconds: float) -> None:
    """Writes `pool.png`, after so many seconds of the storm, and `history.png`."""
    prepare(HOST)
    from claims_demo.accounts import demo_accounts, demo_key  # models, once Django is set up

    call_command("load_policy", os.path.relpath(POLICY), reason="The policy we start with")
    editor = demo_accounts()[0]
    keys = {service.workload_class: demo_key(POOL, service.workload_class) for service in SERVICES}
    port = free_port(HOST)
    url = address(HOST, port)
    with web(HOST, port, log=data_dir() / "web.log"), admin_page(url, editor) as page:
        _edit_share(page, url)
        storm = StormProcess(Orders(url=url, keys=keys, first_calm=FIRST_CALM))
        with contextlib.closing(storm):
            next(report for report in storm.reports() if report.elapsed >= seconds)
            page.goto(_pool_of(page, url))
            page.screenshot(path=into / "pool.png")
        page.goto(f"{url}/admin/budget/policyhistory/")
        page.screenshot(path=into / "history.png")


@contextlib.contextmanager
def admin_page(url: str, account: "Account") -> Iterator["Page"]:
    """The admin in a browser, with the account logged in."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=_browser(), args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
        page.goto(f"{url}/admin/")
        page.fill("#id_username", account.username)
        page.fill("#id_password", account.password)
        page.click("input[type=submit]")
        page.wait_for_selector("#content")
        yield page
        browser.close()


def _browser() -> str:
    for name in ("chromium", "chromium-browser", "google-chrome"):
        if program := shutil.which(name):
            return program
    raise ProcessFailed("There is no Chromium to take pictures with: install chromium.")


def _pool_of(page: "Page", url: str) -> str:
    """The address of the demo pool's page."""
    page.goto(f"{url}/admin/budget/pool/")
    link = page.get_by_role("link", name=POOL, exact=True).first
    return f"{url}{link.get_attribute('href')}"


def _edit_share(page: "Page", url: str) -> None:
    """Something for the history to show: an edit with a reason."""
    share, reason = EDIT
    page.goto(_pool_of(page, url))
    page.fill("#id_reservations-0-share_percent", share)
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
        "--seconds", type=float, default=12, help="of the storm; by then the pool is exhausted"
    )
    arguments = parser.parse_args()
    end_on_signals()
    _work_apart()
    try:
        screenshots(arguments.into, arguments.seconds)
    except (ProcessFailed, *REFUSALS) as error:
        print(in_words(error), file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 0
    return 0


if __name__ == "__main__":
    sys.exit(main())
