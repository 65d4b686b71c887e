"""Processes end, and nothing of their calls is left under way."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from django.db import connection

from budget.models import Call, CallerProcess, WorkloadClass
from tests.client import answers
from tests.client.servers import serving
from tests.ledger.pools import make_pool

pytestmark = pytest.mark.processes


def leave(action: str) -> None:
    """Runs one of the programs to its end."""
    make_pool(shares={"adjuster": 50})
    with serving() as provider:
        provider.answer = lambda asked: (
            answers.streamed(answers.chat_stream(words=40, usage=answers.USAGE), pause=0.05)
            if asked.json.get("stream")
            else answers.chat()
        )
        done = subprocess.run(
            [sys.executable, "-m", "tests.services.leaving", action, provider.url],
            cwd=Path(__file__).parents[2],
            env={
                **os.environ,
                "DJANGO_SETTINGS_MODULE": "tests.settings",
                "CHILD_DATABASE": connection.settings_dict["NAME"],
            },
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
        )
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("action", "outcome"),
    [("call", "succeeded"), ("drop", "failed"), ("hold", "failed"), ("fail", "failed")],
)
def test_a_call_is_settled_before_its_process_ends(
    classes: dict[str, WorkloadClass], action: str, outcome: str
) -> None:
    leave(action)
    (call,) = Call.objects.all()
    assert (call.state, call.outcome) == ("settled", outcome)


def test_a_child_that_ends_leaves_its_parents_calls_alone(
    classes: dict[str, WorkloadClass],
) -> None:
    leave("fork_amid")
    assert sorted(Call.objects.values_list("outcome", "used_output_tokens")) == [
        ("succeeded", 2),
        ("succeeded", 7),
    ]


def test_workers_forked_from_a_process_that_called_do_all_the_same(
    classes: dict[str, WorkloadClass],
) -> None:
    leave("prefork")
    assert sorted(Call.objects.values_list("workload_class", "state")) == [
        ("adjuster", "settled"),
        ("adjuster", "settled"),
        ("rescore", "settled"),
        ("rescore", "settled"),
    ]
    assert CallerProcess.objects.count() == 3
