"""What the settings read from the environment."""

import stat
from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured

from claims_demo import environment


@pytest.fixture
def data_dir(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.delenv("SECRET_KEY", raising=False)
    monkeypatch.setenv("BUDGET_DATA_DIR", str(tmp_path / "data"))
    return tmp_path / "data"


def test_a_generated_key_is_kept_for_its_owner_only(data_dir: Path) -> None:
    key = environment.secret_key()
    assert len(key) > 50
    assert environment.secret_key() == key
    assert stat.S_IMODE((data_dir / "secret_key").stat().st_mode) == 0o600
    assert [path.name for path in data_dir.iterdir()] == ["secret_key"]


def test_a_given_key_is_used(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_KEY", "given")
    assert environment.secret_key() == "given"
    assert not data_dir.exists()


def test_a_key_that_cannot_be_kept_is_an_error(data_dir: Path) -> None:
    data_dir.touch()
    with pytest.raises(ImproperlyConfigured, match="Set SECRET_KEY to a long random text"):
        environment.secret_key()


@pytest.mark.parametrize(
    ("value", "expected"), [("1", True), ("True", True), ("off", False), ("", False)]
)
def test_flags(monkeypatch: pytest.MonkeyPatch, value: str, expected: bool) -> None:
    monkeypatch.setenv("HTTPS", value)
    assert environment.flag("HTTPS", default=not expected) is expected


def test_a_flag_is_never_guessed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEBUG", "maybe")
    with pytest.raises(ImproperlyConfigured, match="DEBUG is 'maybe'; set it to 1 or 0"):
        environment.flag("DEBUG", default=False)


def test_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    assert environment.pairs("BUDGET_PROVIDER_BASE_URLS") == {}
    monkeypatch.setenv("BUDGET_PROVIDER_BASE_URLS", "openai=http://a/v1?x=1, anthropic=http://b")
    assert environment.pairs("BUDGET_PROVIDER_BASE_URLS") == {
        "openai": "http://a/v1?x=1",
        "anthropic": "http://b",
    }


@pytest.mark.parametrize("value", ["http://a", "openai=", "=http://a"])
def test_half_a_pair_is_an_error(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("BUDGET_PROVIDER_BASE_URLS", value)
    with pytest.raises(ImproperlyConfigured, match=f"BUDGET_PROVIDER_BASE_URLS has '{value}'"):
        environment.pairs("BUDGET_PROVIDER_BASE_URLS")


def test_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALLOWED_HOSTS", "a.example, b.example,")
    assert environment.words("ALLOWED_HOSTS", default=[]) == ["a.example", "b.example"]
