"""The provider on this machine, and the choice of a real account."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from time import monotonic
from typing import Any

import httpx2
import psutil
import pytest

from budget.models import Pool
from claims_demo import provider as providers
from claims_demo.claims.assistant import answer
from claims_demo.claims.nightly import classify
from claims_demo.models import Claim
from claims_demo.processes import ProcessFailed
from claims_demo.provider import BASE_URLS, KEYS, provider
from claims_demo.tasks import rescore
from tests.claims_demo.programs import ROOT, environment
from tests.claims_demo.world import MESSAGES, make_claim, put_policy_into_force
from tests.jobs.bulk import work
from tests.jobs.provider import Provider
from tests.jobs.test_llm import attempt

ASK = """
import django
django.setup()
from budget.jobs.clients import client_of
from budget.models import Pool
api = client_of(Pool(slug="claims", provider="{kind}", base_url="https://llm.invalid/v1")).api
ask = api.messages.create if "{kind}" == "anthropic" else api.chat.completions.create
ask(model="small", max_tokens=5, messages=[{{"role": "user", "content": "Score this claim."}}])
print(api.base_url, "success")
"""
DEMO = """
import time
from claims_demo.provider import provider
with provider() as here:
    print(here.process.pid, flush=True)
    time.sleep(60)
"""


@pytest.fixture
def data_dir(keys: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Where the local provider logs; and no account in the environment."""
    monkeypatch.setattr(providers, "data_dir", lambda: tmp_path)
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    return tmp_path


@pytest.mark.django_db
def test_an_account_is_used_when_it_is_asked_for_and_what_it_may_cost_is_said(
    data_dir: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    put_policy_into_force("")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-real")
    monkeypatch.setenv("DEMO_ACCOUNT", "real")
    before = psutil.Process().children()
    with provider() as there:
        assert there.base_urls == {}
        assert BASE_URLS not in os.environ
        there.require_running()
        assert psutil.Process().children() == before
        assert os.environ["ANTHROPIC_API_KEY"] == "sk-real"
    said = capsys.readouterr().out
    assert "at its cost: the policy allows 400,000 tokens a minute" in said


@pytest.mark.parametrize(
    ("chosen", "key", "words"),
    [("real", "", "set ANTHROPIC_API_KEY"), ("yes", "sk-real", "set it to real or local")],
)
def test_an_account_that_cannot_be_meant_is_named(
    data_dir: Path, monkeypatch: pytest.MonkeyPatch, chosen: str, key: str, words: str
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", key)
    monkeypatch.setenv("DEMO_ACCOUNT", chosen)
    with pytest.raises(ProcessFailed, match=words), provider():
        pytest.fail("it went on")


@pytest.mark.processes
def test_a_key_in_the_shell_spends_nothing_unasked_and_goes_no_further(
    committed: None, data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in KEYS:
        monkeypatch.setenv(variable, "sk-real")
    with provider() as here:
        assert here.url.startswith("http://127.0.0.1:")
        assert {os.environ[variable] for variable in KEYS} == {"local"}
        assert "sk-real" not in psutil.Process(here.process.pid).environ().values()
    assert {os.environ[variable] for variable in KEYS} == {"sk-real"}


def test_an_account_may_be_reached_by_another_address(
    claim: Claim, platform: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_BASE_URL", platform.url)
    monkeypatch.setenv("DEMO_ACCOUNT", "real")
    Pool.objects.update(base_url="")
    with provider():
        assert answer(claim, "Are you there?").text
    assert platform.calls == [MESSAGES]


@pytest.mark.processes
def test_a_local_one_answers_all_three_services_while_the_block_runs(
    committed: None, data_dir: Path, settings: Any
) -> None:
    with provider() as here:
        settings.BUDGET_PROVIDER_BASE_URLS = here.base_urls
        put_policy_into_force("")
        claim = make_claim()

        began = monotonic()
        said = answer(claim, "What is still missing before this can be settled?")
        assert "missing" in said.text
        assert said.input_tokens > 500
        assert monotonic() - began > 0.25, "as long as a model takes"

        rescore(attempt(), claim=claim.number)
        _classify_in_a_batch()
        claim.refresh_from_db()
        assert claim.score is not None
        assert claim.category in Claim.Category.values
        here.require_running()
    assert here.process.returncode in (0, -signal.SIGTERM), "it ended in an orderly way"
    assert not {"ANTHROPIC_API_KEY", BASE_URLS} & os.environ.keys()
    assert (data_dir / "provider.log").exists()
    with pytest.raises(httpx2.ConnectError):
        httpx2.get(here.url)


def _classify_in_a_batch() -> None:
    Pool.objects.update(batch_collect_seconds=0)
    assert classify(5) == {"enqueued": 1}
    until = monotonic() + 30
    while not Claim.objects.exclude(category="").exists():
        assert monotonic() < until, "the batch never ended"
        work(0.5)


@pytest.mark.processes
@pytest.mark.parametrize("kind", ["anthropic", "openai"])
def test_whatever_policy_is_loaded_meanwhile_processes_ask_only_the_local_one(
    committed: None, data_dir: Path, kind: str
) -> None:
    with provider() as here:
        asked = subprocess.run(
            [sys.executable, "-c", ASK.format(kind=kind)],
            cwd=ROOT,
            env=os.environ | {"DJANGO_SETTINGS_MODULE": "claims_demo.settings"},
            capture_output=True,
            text=True,
            check=True,
        )
        assert asked.stdout.startswith(f"{here.url}/"), asked.stdout
        assert asked.stdout.endswith(" success\n")


@pytest.mark.processes
def test_one_that_does_not_come_up_names_its_log(
    committed: None, data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(providers.sys, "executable", "/bin/false")
    with pytest.raises(ProcessFailed, match=r"provider\.log says why"), provider():
        pytest.fail("it came up")
    assert "ANTHROPIC_API_KEY" not in os.environ


@pytest.mark.processes
def test_one_that_ended_meanwhile_names_its_log(committed: None, data_dir: Path) -> None:
    with provider() as here:
        here.process.kill()
        here.process.wait()
        with pytest.raises(ProcessFailed, match=r"provider has ended: .*provider\.log"):
            here.require_running()


@pytest.mark.processes
def test_one_ends_with_a_demo_that_is_killed(tmp_path: Path) -> None:
    demo = subprocess.Popen(
        [sys.executable, "-c", DEMO],
        cwd=ROOT,
        env=environment(BUDGET_DATA_DIR=str(tmp_path)),
        stdout=subprocess.PIPE,
        text=True,
    )
    with demo:
        model = psutil.Process(int(demo.stdout.readline()))
        demo.kill()
    model.wait(10)
