"""What answers report, in the shapes of the official packages' own types."""

import json
from typing import Any

import pytest
from anthropic.types import Usage as AnthropicUsage
from hypothesis import given
from hypothesis import strategies as st
from openai.types import CompletionUsage
from openai.types.completion_usage import PromptTokensDetails
from openai.types.create_embedding_response import Usage as EmbeddingUsage
from openai.types.responses import ResponseUsage

from budget.client.call import Api, Call
from budget.client.usage import used_of
from budget.providers import Tokens

APIS: list[Api] = ["chat", "completions", "responses", "messages", "embeddings"]


def call(api: Api) -> Call:
    return Call(api, "m", 12, 7, None, 1)


def used(api: Api, usage: Any) -> Tokens | None:
    return used_of(call(api), json.dumps({"id": "x", "usage": usage}).encode())


def test_usage_in_the_shapes_of_the_official_packages() -> None:
    chat = CompletionUsage(
        prompt_tokens=9,
        completion_tokens=2,
        total_tokens=11,
        prompt_tokens_details=PromptTokensDetails(cached_tokens=5),
    )
    assert used("chat", chat.model_dump()) == Tokens(9, 2, 5)
    plain = CompletionUsage(prompt_tokens=9, completion_tokens=2, total_tokens=11)
    assert used("completions", plain.model_dump()) == Tokens(9, 2)
    response = ResponseUsage.model_validate(
        {
            "input_tokens": 9,
            "input_tokens_details": {"cached_tokens": 4, "cache_write_tokens": 0},
            "output_tokens": 3,
            "output_tokens_details": {"reasoning_tokens": 1},
            "total_tokens": 12,
        }
    )
    assert used("responses", response.model_dump()) == Tokens(9, 3, 4)
    message = AnthropicUsage(
        input_tokens=1, cache_creation_input_tokens=3, cache_read_input_tokens=5, output_tokens=2
    )
    assert used("messages", message.model_dump()) == Tokens(9, 2, 5)
    vectors = EmbeddingUsage(prompt_tokens=8, total_tokens=8)
    assert used("embeddings", vectors.model_dump()) == Tokens(8, 0)


def test_a_gateway_that_reports_in_both_shapes_is_understood() -> None:
    both = {"prompt_tokens": 9, "completion_tokens": 2, "input_tokens": 9, "output_tokens": 2}
    assert used("chat", both) == used("responses", both) == Tokens(9, 2)


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("nonsense", [None, -1, "9", True, 1.5, 10**30, float("nan"), [9], {}])
def test_nonsense_reports_nothing(api: Api, nonsense: Any) -> None:
    names = ("prompt_tokens", "completion_tokens", "input_tokens", "output_tokens")
    assert used(api, dict.fromkeys(names, nonsense)) is None
    assert used(api, nonsense) is None
    assert used_of(call(api), json.dumps(nonsense).encode()) is None


def test_half_a_report_is_none() -> None:
    assert used("chat", {"prompt_tokens": 9}) is None
    assert used("messages", {"output_tokens": 9}) is None
    details = {"prompt_tokens_details": {"cached_tokens": 10}}
    assert used("chat", {"prompt_tokens": 9, "completion_tokens": 2, **details}) is None


@pytest.mark.parametrize("body", [b"", b"<html>", b"\xff", b"[" * 100_000, b"9" * 5000])
@pytest.mark.parametrize("api", APIS)
def test_an_answer_that_is_no_json_reports_nothing(api: Api, body: bytes) -> None:
    assert used_of(call(api), body) is None


@given(api=st.sampled_from(APIS), body=st.binary())
def test_no_answer_is_too_odd(api: Api, body: bytes) -> None:
    assert used_of(call(api), body) is None
