"""A real browser on the dashboard, under the project's content security policy.

While Playwright runs, its event loop keeps Django's database out of this thread: `aside`
does it in another.
"""

import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

from axe_playwright_python.sync_playwright import Axe
from django.db import connections
from playwright.sync_api import BrowserContext, Locator, Page, Response

from tests.browsing import browsing

OVERFLOW = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


class Watcher:
    """Somebody who looks at pages, and what their browser had to say of them."""

    def __init__(self, context: BrowserContext, url: str) -> None:
        self.context, self.url = context, url
        self.complaints: list[str] = []
        self.answers: list[Response] = []
        self.page = context.new_page()
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("response", lambda answer: self.answers.append(answer))
        self.page.route("**/favicon.ico", lambda route: route.fulfill(status=204))

    def open(self, address: str) -> Page:
        """Go there, and wait until all charts are drawn."""
        self.page.goto(self.url + address)
        for figure in self.page.locator("figure").all():
            figure.locator("canvas:not(.swatch)").wait_for()
        return self.page

    def figure(self, name: str) -> Locator:
        """One figure of the page."""
        return self.page.locator(f"[data-figure={name}]")

    def axe(self) -> list[str]:
        """What axe-core finds wrong with the page."""
        found = Axe().run(self.page).response["violations"]
        return [f"{one['id']}: {node['html'][:200]}" for one in found for node in one["nodes"]]

    @property
    def strangers(self) -> list[str]:
        """Addresses off the host that were asked for."""
        host = urlsplit(self.url).netloc
        return [a.url for a in self.answers if urlsplit(a.url).netloc != host]

    @property
    def weight(self) -> int:
        """Bytes of all that was fetched."""
        return sum(len(answer.body()) for answer in self.answers if answer.status == 200)


@contextmanager
def watching(url: str, session: str, **options: Any) -> Iterator[Watcher]:
    """A browser in Berlin with somebody logged in; options are those of a Playwright context."""
    berlin = {"viewport": {"width": 1280, "height": 900}, "timezone_id": "Europe/Berlin"}
    with browsing(**berlin | options) as context:
        cookie = {"name": "sessionid", "value": session, "url": url}
        context.add_cookies([cookie])  # type: ignore[list-item]
        yield Watcher(context, url)


def aside(task: Callable[[], Any]) -> None:
    """Do something with the database meanwhile."""

    def run() -> None:
        try:
            task()
        except BaseException as error:
            failed.append(error)
        finally:
            connections.close_all()

    failed: list[BaseException] = []
    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    if failed:
        raise failed[0]


def words(locator: Locator) -> str:
    """Its text in one line."""
    return re.sub(r"\s+", " ", locator.inner_text()).strip()
