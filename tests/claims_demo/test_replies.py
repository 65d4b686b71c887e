"""What is read out of a model's answer."""

import pytest

from claims_demo.claims.replies import UnreadableReply, category_of, score_of, text_of
from tests.claims_demo.world import message


@pytest.mark.parametrize(
    "text",
    [
        '{"score": 62, "reason": "wet"}',
        'Here you are:\n```json\n{"score": 62}\n```\nAnything else?',
    ],
)
def test_a_score_is_found_among_other_words(text: str) -> None:
    assert score_of(message(text)) == 62


@pytest.mark.parametrize(
    "text",
    [
        "",
        "62",
        '{"score": 101}',
        '{"score": -1}',
        '{"score": "62"}',
        '{"score": true}',
        '{"score": 6.5}',
        "{]}",
        "{" + "[" * 100_000 + "}",
    ],
    ids=lambda text: text[:20],
)
def test_what_is_no_score_is_unreadable(text: str) -> None:
    with pytest.raises(UnreadableReply):
        score_of(message(text))


def test_a_category_is_one_of_those_there_are() -> None:
    assert category_of(message('{"category": "papers"}')) == "papers"
    with pytest.raises(UnreadableReply, match="urgent"):
        category_of(message('{"category": "urgent"}'))


def test_all_text_of_a_message_counts() -> None:
    answer = message("one")
    answer["content"] += [{"type": "tool_use", "id": "x"}, {"type": "text", "text": "two"}]
    assert text_of(answer) == "one\ntwo"


@pytest.mark.parametrize("answer", [{}, {"content": None}, {"content": [{"type": "text"}]}])
def test_what_is_no_message_is_unreadable(answer: dict[str, object]) -> None:
    with pytest.raises(UnreadableReply, match="no message"):
        text_of(answer)
