"""The wheel without extras in an environment that holds nothing else: what callers install."""

import shutil
import subprocess
import sysconfig
import venv
import zipfile
from importlib.metadata import distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from tests.client import answers
from tests.client.served import well
from tests.client.servers import Answer, Asked, serving

pytestmark = pytest.mark.processes

CALL = """
import importlib.util
import sys

import httpx2
from budget.client import Budget, BudgetTransport, workload

provider, service = sys.argv[1:]
transport = BudgetTransport("claims", url=service, key="k")
with httpx2.Client(transport=transport, base_url=provider) as client, workload("adjuster"):
    asked = {"model": "m", "messages": [{"role": "user", "content": "?"}], "max_tokens": 50}
    answer = client.post("/v1/chat/completions", json=asked)
with Budget(service, "k").admit("claims", "rescore", input_tokens=9, output_tokens=3) as call:
    call.settle(8, 2)
there = [name for name in ("django", "msgspec", "psycopg", "openai", "pytest")
         if importlib.util.find_spec(name)]
print(answer.json()["choices"][0]["message"]["content"], there)
"""


@pytest.fixture
def python(wheel: zipfile.ZipFile, tmp_path: Path) -> Path:
    """The interpreter of an environment with the wheel and what it requires without extras."""
    home = tmp_path / "venv"
    venv.create(home, symlinks=True)
    site = Path(sysconfig.get_path("purelib", "venv", {"base": str(home)}))
    wheel.extractall(site)
    for name in _required(next(site.glob("token_budget-*.dist-info/METADATA"))):
        _copy(name, site)
    return home / "bin" / "python"


def _required(metadata: Path) -> set[str]:
    """The names of everything that a wheel needs, and what that needs in turn."""
    lines = metadata.read_text().splitlines()
    found: set[str] = set()
    wanted = [line.removeprefix("Requires-Dist: ") for line in lines if "Requires-Dist: " in line]
    while wanted:
        requirement = Requirement(wanted.pop())
        unasked = requirement.marker and not requirement.marker.evaluate({"extra": ""})
        if not unasked and requirement.name not in found:
            found.add(requirement.name)
            wanted += distribution(requirement.name).requires or []
    return found


def _copy(name: str, site: Path) -> None:
    for file in distribution(name).files or []:
        if ".." not in file.parts:
            into = site / file
            into.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(str(file.locate()), into)


def test_callers_need_nothing_but_httpx2(python: Path, tmp_path: Path) -> None:
    def provide(asked: Asked) -> Answer:
        return answers.chat()

    with serving() as provider, serving() as service:
        provider.answer, service.answer = provide, well
        done = subprocess.run(
            [python, "-I", "-W", "error", "-c", CALL, provider.url, service.url],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
        )
        assert (done.stdout, done.stderr) == ("Covered. []\n", "")
        used = {asked.json["input_tokens"] for asked in service.to("/settle")}
    assert used == {42, 8}


def test_the_fixture_for_tests_needs_pytest_only_as_a_fixture(python: Path, tmp_path: Path) -> None:
    program = "from budget.client.testing import scripted\nwith scripted(): pass"
    subprocess.run([python, "-I", "-c", program], cwd=tmp_path, check=True, timeout=30)
