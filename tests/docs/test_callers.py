"""The starts that docs/callers.md offers are run as they stand there."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest
from pytest_django.live_server_helper import LiveServer

from budget import services
from budget.models import Call, WorkloadClass
from tests.api.conftest import make_key
from tests.docs.blocks import ROOT, blocks
from tests.mock_provider import mock_provider
from tests.policies import claims_pool

DOCUMENT = ROOT / "docs" / "callers.md"
BEFORE = "claim, claims_service = 'Water.', __import__('os').environ['TOKEN_BUDGET_URL']\n"
AFTER = "classify(claim)\n"

pytestmark = [pytest.mark.processes]


@pytest.fixture(scope="module")
def mock() -> Iterator[str]:
    with mock_provider() as url:
        yield url


@pytest.fixture
def env(committed: None, live_server: LiveServer, mock: str) -> dict[str, str]:
    claims_pool()
    key = make_key("docs")
    # The first answer of a server that just came up takes longer than its callers wait.
    httpx2.get(
        f"{live_server.url}/api/v1/pools/claims", headers={"Authorization": f"Api-Key {key}"}
    )
    with services.admission("claims", "adjuster", 1, 1):
        pass
    Call.objects.all().delete()
    return {
        **os.environ,
        "TOKEN_BUDGET_URL": live_server.url,
        "TOKEN_BUDGET_KEY": key,
        "OPENAI_API_KEY": "k",
        "OPENAI_BASE_URL": f"{mock}/v1",
        "ANTHROPIC_API_KEY": "k",
        "ANTHROPIC_BASE_URL": f"{mock}/anthropic",
        "PYTHONPATH": str(ROOT),
    }


def test_its_python_runs_from_top_to_bottom(env: dict[str, str], tmp_path: Path) -> None:
    program = tmp_path / "callers.py"
    code = "\n".join(block.code for block in blocks(DOCUMENT, "python"))
    program.write_text(BEFORE + code + AFTER)
    done = subprocess.run(
        [sys.executable, program], env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    calls = {call.workload_class: call for call in Call.objects.filter(state="settled")}
    assert set(calls) == {"adjuster", "rescore", "nightly"}
    assert calls["nightly"].tags == {"team": "intake"}
    assert calls["nightly"].source.startswith("callers.py:")


def test_its_shell_runs(env: dict[str, str]) -> None:
    for block in blocks(DOCUMENT, "sh"):
        if "curl" in block.code:
            done = subprocess.run(
                ["sh", "-e", "-c", block.code], env=env, capture_output=True, text=True, check=True
            )
            assert '"charged"' in done.stdout or '"call_sites"' in done.stdout
    assert Call.objects.get().source == "nightly.sh"


def test_its_shell_ends_with_the_reason_of_a_refusal(env: dict[str, str]) -> None:
    WorkloadClass.objects.update(paused=True)
    start = next(block.code for block in blocks(DOCUMENT, "sh") if "admissions" in block.code)
    done = subprocess.run(["sh", "-c", start], env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "paused" in done.stderr
    assert done.stdout == ""
