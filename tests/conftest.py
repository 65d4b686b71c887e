"""What all tests share, Hypothesis profiles, and an honest account of what a run left out."""

import os
import shutil
from collections import Counter

import pytest
from hypothesis import settings

from tests import browsing
from tests.committed import _deleting, committed

__all__ = ["_deleting", "committed"]

PROGRAMS = {
    "browser": ("chromium", "chromium-browser", "google-chrome"),
    "promtool": ("promtool",),
}
"""What tests with a marker need: any one of these programs."""

settings.register_profile("fast", max_examples=100, deadline=None, derandomize=True)
settings.register_profile("property", max_examples=10_000, deadline=None)
settings.load_profile("property" if os.environ.get("BUDGET_PROPERTY") else "fast")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skips tests whose program is missing."""
    for marker, programs in PROGRAMS.items():
        if not any(shutil.which(program) for program in programs):
            for item in items:
                if item.get_closest_marker(marker):
                    item.add_marker(pytest.mark.skip(reason=f"{marker}: no {programs[0]} found"))


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fails a CI run that left anything out: CI installs what the tests need."""
    browsing.close()
    if os.environ.get("CI") == "true" and _left_out(session.config):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(config: pytest.Config) -> None:
    """Names what was left out, and why."""
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    for reason, count in _left_out(config).items():
        reporter.write_line(f"left out: {count} × {reason}", yellow=True)


def _left_out(config: pytest.Config) -> Counter[str]:
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    reports = reporter.stats.get("skipped", []) if reporter else []
    return Counter(report.longrepr[2].removeprefix("Skipped: ") for report in reports)
