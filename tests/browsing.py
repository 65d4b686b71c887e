"""Looking at pages in Chromium: one for all tests of a process, since it takes seconds to start."""

import asyncio
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from playwright.sync_api import Browser, BrowserContext, Playwright, sync_playwright


class Chromium(NamedTuple):
    """The running browser, and the event loop that Playwright drives it by."""

    playwright: Playwright
    browser: Browser
    loop: asyncio.AbstractEventLoop


_running: list[Chromium] = []


@contextmanager
def browsing(**options: Any) -> Iterator[BrowserContext]:
    """A browser without memory of other tests; options are those of a Playwright context.

    Playwright's event loop counts as running in this thread while the block runs, which keeps
    Django's database out of it, and as stopped afterwards: other tests run loops of their own.
    """
    outer = asyncio._get_running_loop()
    chromium = _chromium()
    asyncio._set_running_loop(chromium.loop)
    try:
        context = chromium.browser.new_context(**options)
        try:
            yield context
        finally:
            _close(context)
    finally:
        asyncio._set_running_loop(outer)


def _close(context: BrowserContext) -> None:
    """Requests that a test answers itself may be under way: they are of no interest any more."""
    for page in context.pages:
        page.unroute_all(behavior="ignoreErrors")
    context.unroute_all(behavior="ignoreErrors")
    context.close()


def close() -> None:
    """End Chromium, if any test started it."""
    while _running:
        playwright, browser, loop = _running.pop()
        asyncio._set_running_loop(loop)
        browser.close()
        playwright.stop()


def _chromium() -> Chromium:
    if not _running:
        program = shutil.which("chromium") or shutil.which("google-chrome")
        playwright = sync_playwright().start()
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        _running.append(Chromium(playwright, browser, asyncio.get_running_loop()))
    return _running[0]
