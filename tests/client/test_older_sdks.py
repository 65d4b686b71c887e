"""The newest SDKs that are still on httpx, in a process of their own."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.client import answers
from tests.client.servers import Asked, Server

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
PINS = HERE / "older.txt"

pytestmark = pytest.mark.processes


@pytest.fixture(scope="module")
def older(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with both SDKs; what they need besides is what the newer ones need, too."""
    folder = tmp_path_factory.mktemp("older")
    install = ["install", "--quiet", "--disable-pip-version-check", "--no-deps", "--no-compile"]
    subprocess.run(
        [sys.executable, "-m", "pip", *install, "--target", folder, "-r", PINS], check=True
    )
    return folder


@pytest.mark.timeout(300)
def test_both_of_them_are_shed_admitted_and_settled(older: Path, provider: Server) -> None:
    def answer(asked: Asked) -> answers.Answer:
        wants_stream = asked.json.get("stream")
        if asked.path.endswith("/messages"):
            return answers.streamed(answers.message_stream()) if wants_stream else answers.message()
        if wants_stream:
            return answers.streamed(answers.chat_stream(usage=answers.USAGE))
        return answers.chat()

    provider.answer = answer
    done = subprocess.run(
        [sys.executable, "-W", "error", HERE / "older_calls.py", provider.url],
        env={**os.environ, "PYTHONPATH": f"{older}{os.pathsep}{ROOT}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["library"] == ["httpx", "httpx"]
    assert told["shed"] == ["RateLimitError", "headroom", 1]
    assert told["endings"] == [
        ["succeeded", [42, 7, 10]],
        ["succeeded", [42, 7, 10]],
        ["succeeded", [20, 9, 0]],
        ["succeeded", [25, 9, 5]],
        ["succeeded", [42, 7, 10]],
    ]
