"""The demo's settings, as a process of its own reads them."""

import logging
import subprocess
import sys

import pytest

from tests.claims_demo.programs import ROOT, environment

SHOW = "from budget import conf; print(sorted(conf.provider_hosts() or []), conf.provider_hosts())"


@pytest.mark.parametrize(
    ("changes", "shown"),
    [
        ({}, "[] None"),
        ({"BUDGET_PROVIDER_HOSTS": ""}, "[] frozenset()"),
        ({"BUDGET_PROVIDER_HOSTS": "LLM.internal, b"}, "['b', 'llm.internal'] "),
    ],
)
def test_where_keys_may_be_sent_is_said_by_the_environment(
    changes: dict[str, str], shown: str
) -> None:
    found = subprocess.run(
        [sys.executable, "-c", SHOW],
        cwd=ROOT,
        env=environment(**changes),
        capture_output=True,
        text=True,
        check=True,
    )
    assert found.stdout.startswith(shown)


def test_where_calls_go_instead_is_said_by_the_environment() -> None:
    found = subprocess.run(
        [sys.executable, "-c", "from budget import conf; print(conf.provider_base_urls())"],
        cwd=ROOT,
        env=environment(BUDGET_PROVIDER_BASE_URLS="openai=http://stand-in.test/v1"),
        capture_output=True,
        text=True,
        check=True,
    )
    assert found.stdout == "{'openai': 'http://stand-in.test/v1'}\n"


@pytest.mark.parametrize("name", ["django-q", "httpx2"])
def test_the_log_has_no_line_for_every_ticket_and_request(name: str) -> None:
    assert logging.getLogger(name).getEffectiveLevel() == logging.WARNING
    assert logging.getLogger("budget").getEffectiveLevel() == logging.INFO
