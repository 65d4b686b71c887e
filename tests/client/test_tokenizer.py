"""Exact counts, where there is a tokenizer, and never a download."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from budget.client import tokenizer
from budget.client.call import call_of
from budget.client.tokenizer import KEPT_AS, MOST_BYTES, exact_tokens

WORDS = '''
"""Counts words; else as tiktoken does."""
from tiktoken import registry

class Encoding:
    def encode_ordinary(self, text):
        return text.split()

def encoding_name_for_model(model):
    return {"gpt-5": "o200k_base", "gpt-2": "gpt2"}[model]

def get_encoding(name):
    return registry.ENCODINGS.setdefault(name, Encoding())
'''


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A package with tiktoken's interface, and an empty place for its encodings."""
    package = tmp_path / "site" / "tiktoken"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(WORDS)
    (package / "registry.py").write_text("ENCODINGS = {}")
    for name in ("tiktoken", "tiktoken.registry"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.syspath_prepend(package.parent)
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    tokenizer._encoding.cache_clear()
    yield tmp_path
    tokenizer._encoding.cache_clear()
    for name in ("tiktoken", "tiktoken.registry"):
        sys.modules.pop(name, None)


def test_an_encoding_that_is_kept_here_counts_exactly(cache: Path) -> None:
    (cache / KEPT_AS["o200k_base"]).touch()
    assert exact_tokens("gpt-5", ["a b", "c"], 4) == 3
    call = call_of("chat", "/v1/chat/completions", b'{"model": "gpt-5", "messages": ["a b"]}')
    assert (call.text_tokens, call.text_bytes) == (2, 3)


def test_an_encoding_that_would_have_to_be_fetched_is_let_be(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert exact_tokens("gpt-5", ["a b"], 3) is None
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", "")
    tokenizer._encoding.cache_clear()
    assert exact_tokens("gpt-5", ["a b"], 3) is None


def test_an_encoding_that_the_process_has_is_used(cache: Path) -> None:
    import tiktoken  # type: ignore[import-not-found]

    tiktoken.get_encoding("gpt2")
    assert exact_tokens("gpt-2", ["a b"], 3) == 2


def test_other_models_and_long_texts_are_estimated(cache: Path) -> None:
    (cache / KEPT_AS["o200k_base"]).touch()
    assert exact_tokens("claude", ["a b"], 3) is None
    assert exact_tokens("gpt-5", ["a b"], MOST_BYTES + 1) is None
    assert exact_tokens("gpt-5", [], 0) is None
