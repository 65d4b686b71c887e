"""The assistant answers in time, or says honestly that it can't, and uses no more than it says."""

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from time import monotonic, sleep

import pytest
from django.db import connection as django_connection

from budget.jobs import connection
from budget.models import Call, Pool
from budget.services import LedgerUnavailable, Shed
from claims_demo.claims import assistant, requests
from claims_demo.claims.assistant import ProviderBusy, ProviderTrouble, TooSlow
from claims_demo.models import Claim
from tests.claims_demo.deaf import deaf, nobody
from tests.claims_demo.dribbling import dribbling
from tests.claims_demo.world import MESSAGES, message, slow_down, use_up
from tests.jobs.provider import DROP, Provider
from tests.ledger.locks import locked
from tests.ledger.pools import available

LITTLE_MORE = 0.4
"""Seconds over the budget that a busy machine may take to say so."""


@pytest.fixture
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Less to wait for."""
    monkeypatch.setattr(assistant, "ANSWER_SECONDS", 0.7)


def ask(claim: Claim) -> assistant.Answer:
    return assistant.answer(claim, "What is missing?")


def ask_elsewhere(claim: Claim) -> assistant.Answer:
    """In another thread than the test's."""
    try:
        return ask(claim)
    finally:
        django_connection.close()


def test_settles_what_the_provider_says_was_used(claim: Claim, platform: Provider) -> None:
    platform.fail(MESSAGES, 200, message("Nothing."))
    full = available()
    answer = ask(claim)
    assert (answer.text, answer.input_tokens, answer.output_tokens) == ("Nothing.", 900, 40)
    call = Call.objects.get()
    assert (call.state, call.used_input_tokens, call.used_output_tokens) == ("settled", 900, 40)
    assert full - 940 <= available() <= full


def test_the_call_says_who_asks_about_what(claim: Claim, platform: Provider) -> None:
    claim.priority = Claim.Priority.URGENT
    ask(claim)
    call = Call.objects.get()
    assert call.workload_class == "adjuster"
    assert call.source == "claims_demo.claims.assistant.answer"
    assert call.tags == {"claim": claim.number, "priority": "urgent"}
    assert (call.deadline - call.offered_at).total_seconds() == 5, "the class's"


def test_the_model_is_shown_the_claim_and_the_question(claim: Claim) -> None:
    text = requests.question(claim, "What is missing?").text
    for part in (claim.number, claim.claimant, claim.description, "Taken down"):
        assert part in text
    assert text.endswith("Question: What is missing?")


def test_a_refusal_costs_nothing_and_never_reaches_the_provider(
    claim: Claim, platform: Provider
) -> None:
    slow_down(60_000)
    use_up()
    with pytest.raises(Shed) as caught:
        ask(claim)
    assert 0 < (caught.value.retry_after_ms or 0) < 5000
    assert platform.calls == []


def test_whoever_comes_back_at_that_moment_is_answered(claim: Claim, platform: Provider) -> None:
    slow_down(60_000)
    use_up()
    with pytest.raises(Shed) as caught:
        ask(claim)
    sleep((caught.value.retry_after_ms or 0) / 1000)
    assert ask(claim).text


def test_a_provider_that_is_silent_is_left_within_the_budget(
    claim: Claim, platform: Provider
) -> None:
    platform.silent = True
    began = monotonic()
    with pytest.raises(TooSlow):
        ask(claim)
    assert monotonic() - began < assistant.ANSWER_SECONDS + LITTLE_MORE
    call = Call.objects.get()
    assert (call.outcome, call.used_output_tokens) == ("failed", 160), "it may have been served"


@pytest.mark.usefixtures("hurried")
def test_a_provider_that_dribbles_is_left_within_the_budget(claim: Claim) -> None:
    began = monotonic()
    with dribbling() as url:
        Pool.objects.update(base_url=url)
        with pytest.raises(TooSlow):
            ask(claim)
        assert monotonic() - began < assistant.ANSWER_SECONDS + LITTLE_MORE


def test_an_answer_that_came_whole_but_late_is_settled_as_it_was(
    claim: Claim, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(assistant, "ANSWER_SECONDS", assistant.LAST_STEPS_SECONDS + 0.5)
    monkeypatch.setattr(connection, "WATCH_SECONDS", 30)  # else it may be hung up on before
    late = json.dumps(message("Nothing.")).encode()
    with dribbling(pieces=4, then=late) as url:
        Pool.objects.update(base_url=url)
        with pytest.raises(TooSlow):
            ask(claim)
    use_up()  # after the settlement, for which nobody waits any more
    call = Call.objects.get(source=assistant.SOURCE)
    assert (call.used_input_tokens, call.used_output_tokens) == (900, 40)


@pytest.mark.usefixtures("hurried")
def test_a_ledger_that_hangs_is_left_within_the_budget(claim: Claim, platform: Provider) -> None:
    ask(claim)
    began = monotonic()
    with locked(Pool.objects.get()), pytest.raises(LedgerUnavailable):
        ask(claim)
    assert monotonic() - began < assistant.ANSWER_SECONDS + LITTLE_MORE


@pytest.mark.usefixtures("hurried")
def test_a_ledger_that_hangs_meanwhile_keeps_no_answer_back(
    claim: Claim, platform: Provider
) -> None:
    platform.pause_at = MESSAGES
    with ThreadPoolExecutor(1) as thread:
        asked = thread.submit(ask_elsewhere, claim)
        assert platform.paused.wait(5)
        with locked(Pool.objects.get()):
            platform.go_on.set()
            assert asked.result().seconds < assistant.ANSWER_SECONDS + LITTLE_MORE
    platform.pause_at = ""
    ask(claim)
    assert set(Call.objects.values_list("state", flat=True)) == {"settled"}, "by itself"


def test_what_the_ledger_takes_is_not_left_for_the_provider(
    claim: Claim, platform: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(assistant, "ANSWER_SECONDS", assistant.LAST_STEPS_SECONDS + 0.001)
    with pytest.raises(TooSlow):
        ask(claim)
    assert platform.calls == []
    assert Call.objects.get().outcome == "cancelled"


@pytest.mark.parametrize(
    ("status", "outcome"),
    [(429, "rate_limited"), (529, "rate_limited"), (500, "failed"), (401, "failed")],
)
def test_a_provider_that_turns_the_call_down_is_asked_once_and_paid_nothing(
    claim: Claim, platform: Provider, status: int, outcome: str
) -> None:
    platform.fail(MESSAGES, status)
    full = available()
    with pytest.raises(ProviderTrouble, match=str(status)):
        ask(claim)
    assert platform.calls == [MESSAGES]
    assert Call.objects.get().outcome == outcome
    assert available() == full


def test_a_busy_provider_says_how_long(claim: Claim, platform: Provider) -> None:
    platform.fail(MESSAGES, 529, headers={"retry-after": "7"})
    platform.fail(MESSAGES, 429)
    for seconds in (7, None):
        with pytest.raises(ProviderBusy) as caught:
            ask(claim)
        assert caught.value.seconds == seconds


def test_a_line_that_breaks_is_the_providers_trouble(claim: Claim, platform: Provider) -> None:
    platform.fail(MESSAGES, DROP)
    with pytest.raises(ProviderTrouble):
        ask(claim)
    assert Call.objects.get().used_output_tokens == 160, "it may have been served"


@pytest.mark.parametrize("body", [message(""), {"content": []}, b"[]", b"<html>", b"\xff"])
def test_an_odd_answer_is_the_providers_trouble(
    claim: Claim, platform: Provider, body: object
) -> None:
    platform.fail(MESSAGES, 200, body)
    with pytest.raises(ProviderTrouble):
        ask(claim)


@pytest.mark.usefixtures("hurried")
@pytest.mark.parametrize("address", [nobody, deaf])
def test_an_address_that_is_not_reached_costs_nothing(
    claim: Claim, address: Callable[[], AbstractContextManager[str]]
) -> None:
    full = available()
    began = monotonic()
    with address() as url:
        Pool.objects.update(base_url=url)
        with pytest.raises(ProviderTrouble, match="could not be reached"):
            ask(claim)
        assert monotonic() - began < assistant.ANSWER_SECONDS + LITTLE_MORE
    assert available() == full
    assert Call.objects.get().outcome == "cancelled"


def test_a_missing_key_is_named_to_the_operator(
    claim: Claim, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    with pytest.raises(ProviderTrouble, match="set ANTHROPIC_API_KEY"):
        ask(claim)
    assert Call.objects.get().outcome == "cancelled"


def test_another_provider_than_it_speaks_to_is_named(claim: Claim) -> None:
    Pool.objects.update(provider="openai")
    with pytest.raises(ProviderTrouble, match="openai"):
        ask(claim)
