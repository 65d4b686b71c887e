"""Questions as they arrive, from a script and as a plain form."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client

from budget.models import Call, Pool, WorkloadClass
from claims_demo.claims.events import MOST_QUESTIONS
from claims_demo.models import Claim, Question
from claims_demo.models.claim import LONGEST_QUESTION
from tests.claims_demo.world import MARKUP, MESSAGES, message, slow_down, use_up
from tests.jobs.provider import Provider
from tests.ledger.locks import locked

HTML = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}


def address(claim: Claim) -> str:
    return f"/claims/{claim.number}/ask"


def ask(client: Client, claim: Claim, question: object = "What is missing?") -> Any:
    """As the page's script does."""
    body = {"question": question}
    return client.post(address(claim), body, content_type="application/json")


def ask_elsewhere(client: Client, claim: Claim) -> Any:
    """In another thread than the test's."""
    try:
        return ask(client, claim)
    finally:
        connection.close()


def send(client: Client, claim: Claim, **form: str) -> Any:
    """As a browser without scripts does."""
    return client.post(address(claim), form, headers=HTML)


def test_an_answer_comes_with_what_it_took(
    member: Client, claim: Claim, platform: Provider
) -> None:
    platform.fail(MESSAGES, 200, message("An estimate."))
    response = ask(member, claim)
    assert response.status_code == 200
    body = response.json()
    assert 0 <= body.pop("seconds") < 2
    assert body == {"answer": "An estimate.", "input_tokens": 900, "output_tokens": 40}


def test_what_was_asked_and_answered_is_remembered(
    member: Client, claim: Claim, platform: Provider
) -> None:
    platform.fail(MESSAGES, 200, message("An estimate."))
    ask(member, claim, "  What is missing?  ")
    question = claim.questions.get()
    assert (question.asked_by, question.text) == ("ada", "What is missing?")
    assert (question.answer, question.output_tokens) == ("An estimate.", 40)


def test_only_the_newest_questions_are_remembered(member: Client, claim: Claim) -> None:
    for number in range(MOST_QUESTIONS):
        Question.objects.create(
            claim=claim, asked_by="bob", text=f"{number}", answer="", seconds=1,
            input_tokens=1, output_tokens=1,
        )  # fmt: skip
    ask(member, claim, "one more")
    texts = list(claim.questions.values_list("text", flat=True))
    assert texts == [*map(str, range(1, MOST_QUESTIONS)), "one more"]


def test_a_form_leads_back_to_the_claim_with_the_answer(
    member: Client, claim: Claim, platform: Provider
) -> None:
    platform.fail(MESSAGES, 200, message(MARKUP))
    response = send(member, claim, question=MARKUP)
    assert response.status_code == 302
    assert response.headers["Location"] == f"/claims/{claim.number}/#answer"
    page = member.get(response.headers["Location"], headers=HTML).content.decode()
    assert page.count("&lt;img src=x") == 2
    assert "<img" not in page


def test_a_suggestion_is_asked_whatever_the_box_holds(member: Client, claim: Claim) -> None:
    send(member, claim, question="", suggestion="Does anything here look unusual?")
    assert claim.questions.get().text == "Does anything here look unusual?"


def test_a_shed_question_is_told_when_to_come_back(member: Client, claim: Claim) -> None:
    slow_down(60_000)
    use_up()
    response = ask(member, claim)
    assert response.status_code == 429
    assert response.headers["Content-Type"] == "application/problem+json"
    assert response.json()["reason"] == "pool_exhausted"
    assert 0 < int(response.headers["retry-after-ms"]) < 5000
    assert response.headers["Retry-After"] in {"1", "2"}
    assert not claim.questions.exists()


def test_a_question_asked_again_keeps_its_place(member: Client, claim: Claim) -> None:
    slow_down(60_000)
    use_up()
    place = {"Idempotency-Key": "7-8-9"}
    body = {"question": "What is missing?"}
    ids = {
        member.post(address(claim), body, content_type="application/json", headers=place).json()[
            "id"
        ]
        for _ in range(2)
    }
    assert len(ids) == 1
    assert ask(member, claim).json()["id"] not in ids


def test_a_shed_form_keeps_the_question(member: Client, claim: Claim) -> None:
    slow_down(60_000)
    use_up()
    response = send(member, claim, question=MARKUP)
    assert response.status_code == 429
    seconds = response.headers["Retry-After"]
    page = response.content.decode()
    assert f"send it in {seconds} s." in page
    assert "&lt;img src=x onerror=&quot;document.title=1&quot;&gt;</textarea>" in page


def test_when_no_moment_can_be_named_none_is(member: Client, claim: Claim) -> None:
    slow_down(8_000)
    use_up()
    response = ask(member, claim)
    assert response.status_code == 429
    assert "Retry-After" not in response.headers
    page = send(member, claim, question="x").content.decode()
    assert "no room in the next few seconds" in page
    assert "send it in" not in page


def test_a_paused_class_is_said(member: Client, claim: Claim) -> None:
    WorkloadClass.objects.filter(slug="adjuster").update(paused=True)
    assert "Retry-After" not in ask(member, claim).headers
    assert "The assistant is paused." in send(member, claim, question="x").content.decode()


def test_what_could_never_be_answered_is_said(member: Client, claim: Claim) -> None:
    slow_down(4_000)
    assert ask(member, claim).status_code == 422
    response = send(member, claim, question="still here?")
    assert response.status_code == 422
    assert "more than the assistant can read" in response.content.decode()


def test_too_slow_is_said(member: Client, claim: Claim, platform: Provider) -> None:
    platform.silent = True
    response = ask(member, claim)
    assert response.status_code == 504
    assert "longer than two seconds" in response.json()["detail"]


def test_the_providers_words_are_for_the_log_and_not_for_the_adjuster(
    member: Client, claim: Claim, platform: Provider, caplog: pytest.LogCaptureFixture
) -> None:
    platform.fail(MESSAGES, 401, {"error": {"message": "wrong key sk-1", "type": "x"}}, times=2)
    response = ask(member, claim)
    assert response.status_code == 502
    assert response.json() == {
        "detail": "The assistant can't be reached just now. Your question is still here: try again."
    }
    assert "wrong key sk-1" in caplog.text
    page = send(member, claim, question="still here?").content.decode()
    assert "still here?</textarea>" in page
    assert "sk-1" not in page


def test_a_busy_provider_is_said_with_its_own_wait(
    member: Client, claim: Claim, platform: Provider
) -> None:
    platform.fail(MESSAGES, 529, headers={"retry-after": "6.2"}, times=2)
    response = ask(member, claim)
    assert (response.status_code, response.headers["Retry-After"]) == (503, "7")
    assert response.json() == {
        "detail": "The provider is busy; try again in 7 s. Your question is still here.",
        "reason": "provider_busy",
    }
    assert "try again in 7 s" in send(member, claim, question="x").content.decode()


def test_a_busy_provider_that_names_no_moment_is_asked_some_time(
    member: Client, claim: Claim, platform: Provider
) -> None:
    platform.fail(MESSAGES, 429)
    response = ask(member, claim)
    assert response.status_code == 503
    assert response.json()["reason"] == "provider_busy"
    assert "Retry-After" not in response.headers


@pytest.mark.parametrize("asked", [False, True], ids=["never asked", "asked before"])
def test_a_pool_that_is_deleted_is_no_crash(member: Client, claim: Claim, asked: bool) -> None:
    if asked:
        ask(member, claim)
    Pool.objects.all().delete()
    response = ask(member, claim)
    assert response.status_code == 503
    assert "can't be reached just now" in response.json()["detail"]
    assert send(member, claim, question="x").status_code == 503


def test_a_pool_that_is_deleted_while_the_provider_answers_is_no_crash(
    member: Client, claim: Claim, platform: Provider
) -> None:
    platform.pause_at = MESSAGES
    with ThreadPoolExecutor(1) as thread:
        response = thread.submit(ask_elsewhere, member, claim)
        assert platform.paused.wait(5)
        Pool.objects.all().delete()
        platform.go_on.set()
        assert response.result().status_code == 200


def test_a_ledger_that_hangs_is_asked_again(member: Client, claim: Claim) -> None:
    ask(member, claim)
    with locked(Pool.objects.get()):
        response = ask(member, claim)
    assert response.status_code == 503
    assert response.headers["Retry-After"] == "1"


def test_one_key_is_for_one_question(member: Client, claim: Claim) -> None:
    for status in (200, 409):
        response = member.post(
            address(claim),
            {"question": "What is missing?"},
            content_type="application/json",
            headers={"Idempotency-Key": "7-8-9"},
        )
        assert response.status_code == status
    assert "reload the page" in response.json()["detail"]
    assert claim.questions.count() == 1


@pytest.mark.parametrize("key", ["", " ", "a b", "ä", "x" * 65])
def test_a_key_that_is_none_is_named(member: Client, claim: Claim, key: str) -> None:
    response = member.post(
        address(claim),
        {"question": "What is missing?"},
        content_type="application/json",
        headers={"Idempotency-Key": key},
    )
    assert response.status_code == 400
    assert response.json()["field"] == "Idempotency-Key"
    assert not Call.objects.exists()


@pytest.mark.parametrize(
    "question",
    ["", "   ", None, 7, ["x"], "x" * (LONGEST_QUESTION + 1), "a\0b", "\ud800"],
    ids=["empty", "blank", "null", "number", "list", "long", "nul", "surrogate"],
)
def test_what_is_no_question_is_named(member: Client, claim: Claim, question: object) -> None:
    response = ask(member, claim, question)
    assert response.status_code == 400
    body = response.json()
    assert body["field"] == "question"
    assert body["detail"]
    assert not Call.objects.exists()


@pytest.mark.parametrize("body", ["", "{", "[]", "7", '"question"', "[" * 100_000])
def test_what_is_no_json_object_is_no_question(member: Client, claim: Claim, body: str) -> None:
    response = member.post(address(claim), body, content_type="application/json")
    assert response.status_code == 400
    assert response.json()["field"] == "question"


def test_the_longest_question_is_asked(member: Client, claim: Claim) -> None:
    assert ask(member, claim, "ä" * LONGEST_QUESTION).status_code == 200


def test_who_is_logged_out_is_told_so(claim: Claim) -> None:
    program = Client(headers={"Accept": "application/json"})
    assert ask(program, claim).status_code == 403
    response = send(Client(), claim, question="x")
    assert response.headers["Location"] == f"/login/?next=/claims/{claim.number}/"


def test_other_sites_cannot_ask(claim: Claim) -> None:
    client = Client(enforce_csrf_checks=True, headers={"Accept": "application/json"})
    client.force_login(User.objects.create_user("ada"))
    assert ask(client, claim).status_code == 403


def test_only_posts_ask_and_only_about_claims_there_are(member: Client, claim: Claim) -> None:
    assert member.get(address(claim)).status_code == 405
    claim.delete()
    assert ask(member, claim).status_code == 404


def test_a_refusal_is_no_fault_in_the_log(
    member: Client, claim: Claim, caplog: pytest.LogCaptureFixture
) -> None:
    slow_down(60_000)
    use_up()
    ask(member, claim)
    send(member, claim, question="x")
    assert caplog.text == ""
