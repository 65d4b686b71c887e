"""The provider on this machine, and the choice of a real account."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from time import monotonic

import httpx2
import psutil
import pytest

from budget.models import Pool
from claims_demo import provider as providers
from claims_demo.claims.assistant import answer
from claims_demo.claims.nightly import classify, take_in_answers
from claims_demo.models import Claim
from claims_demo.processes import ProcessFailed
from claims_demo.provider import point_pool, provider
from claims_demo.tasks import rescore
from tests.claims_demo.world import MESSAGES, make_claim, put_policy_into_force
from tests.jobs.bulk import work
from tests.jobs.provider import Provider
from tests.jobs.test_llm import attempt


@pytest.fixture
def data_dir(keys: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Where the local provider logs; and no account in the environment."""
    monkeypatch.setattr(providers, "data_dir", lambda: tmp_path)
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    return tmp_path


def test_an_account_in_the_environment_is_used_and_said_and_nothing_is_started(
    data_dir: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-real")
    before = psutil.Process().children()
    with provider() as base_url:
        assert base_url == ""
        assert psutil.Process().children() == before
    assert os.environ["ANTHROPIC_API_KEY"] == "sk-real"
    assert "at its cost" in capsys.readouterr().out


def test_an_account_may_be_reached_by_another_address(
    claim: Claim, platform: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_BASE_URL", platform.url)
    with provider() as base_url:
        point_pool("claims", base_url)
        assert answer(claim, "Are you there?").text
    assert platform.calls == [MESSAGES]


@pytest.mark.processes
def test_a_local_one_answers_all_three_services_while_the_block_runs(
    committed: None, data_dir: Path
) -> None:
    with provider() as base_url:
        assert os.environ["ANTHROPIC_API_KEY"] == "local"
        put_policy_into_force("")
        point_pool("claims", base_url)
        claim = make_claim()

        began = monotonic()
        said = answer(claim, "What is still missing before this can be settled?")
        assert "missing" in said.text
        assert said.input_tokens > 500
        assert 0.25 < monotonic() - began < 2, "as long as a model takes"

        rescore(attempt(), claim=claim.number)
        _classify_in_a_batch()
        claim.refresh_from_db()
        assert claim.score is not None
        assert claim.category in Claim.Category.values
        (process,) = [
            child
            for child in psutil.Process().children()
            if "claims_demo.local_model" in child.cmdline()
        ]
    assert not process.is_running()
    assert "ANTHROPIC_API_KEY" not in os.environ
    assert (data_dir / "provider.log").exists()
    with pytest.raises(httpx2.ConnectError):
        httpx2.get(base_url)


def _classify_in_a_batch() -> None:
    Pool.objects.update(batch_collect_seconds=0)
    assert classify(5) == {"enqueued": 1}
    until = monotonic() + 30
    while not take_in_answers():
        assert monotonic() < until, "the batch never ended"
        work(0.5)


@pytest.mark.processes
def test_one_that_does_not_come_up_names_its_log(
    data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(providers.sys, "executable", "/bin/false")
    with pytest.raises(ProcessFailed, match=r"provider\.log says why"), provider():
        pytest.fail("it came up")
    assert "ANTHROPIC_API_KEY" not in os.environ


@pytest.mark.django_db
def test_a_pool_that_keys_may_not_be_sent_for_is_said(settings: object) -> None:
    put_policy_into_force("")
    settings.BUDGET_PROVIDER_HOSTS = ["llm.internal"]  # type: ignore[attr-defined]
    with pytest.raises(ProcessFailed, match=r"The pool claims: .* BUDGET_PROVIDER_HOSTS"):
        point_pool("claims", "http://127.0.0.1:1/anthropic")


@pytest.mark.django_db
def test_the_history_says_who_pointed_the_pool_there() -> None:
    pool = put_policy_into_force("")
    point_pool("claims", "http://127.0.0.1:1/anthropic")
    event = Pool.pgh_event_model.objects.latest("pgh_id")  # type: ignore[attr-defined]
    assert (event.slug, event.base_url) == (pool.slug, "http://127.0.0.1:1/anthropic")
    assert event.pgh_context["command"] == "make demo"


@pytest.mark.processes
def test_the_local_model_ends_when_it_is_told_to() -> None:
    command = [sys.executable, "-m", "claims_demo.local_model", "--port", "0"]
    process = subprocess.Popen(command)
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(4)
    process.send_signal(signal.SIGTERM)
    assert process.wait(10) in (0, -signal.SIGTERM)
