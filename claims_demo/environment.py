"""What the settings read from the environment, with what a local run falls back to."""

import os
import secrets
from pathlib import Path

from django.core.exceptions import ImproperlyConfigured

BASE_DIR = Path(__file__).resolve().parent.parent

LOCAL_HOSTS = ["localhost", "127.0.0.1", "[::1]"]
TRUE = {"1", "true", "yes", "on"}
FALSE = {"0", "false", "no", "off", ""}


def flag(name: str, default: bool) -> bool:
    """A yes-or-no variable; anything but a plain yes or no is an error, never a guess."""
    value = os.environ.get(name)
    if value is None:
        return default
    if value.lower() in TRUE | FALSE:
        return value.lower() in TRUE
    raise ImproperlyConfigured(f"{name} is {value!r}; set it to 1 or 0.")


def words(name: str, default: list[str]) -> list[str]:
    """A comma-separated variable as a list."""
    value = os.environ.get(name)
    if value is None:
        return default
    return [word.strip() for word in value.split(",") if word.strip()]


def pairs(name: str) -> dict[str, str]:
    """A variable of comma-separated `name=value`, as a dictionary; empty if it isn't set."""
    found = {}
    for word in words(name, default=[]):
        key, equals, value = word.partition("=")
        if not (key and equals and value):
            raise ImproperlyConfigured(
                f"{name} has {word!r}; write name=value, and commas between."
            )
        found[key] = value
    return found


def data_dir() -> Path:
    """Where the embedded server and the generated key live: `BUDGET_DATA_DIR`, else `var/`."""
    return Path(os.environ.get("BUDGET_DATA_DIR") or BASE_DIR / "var").expanduser().resolve()


def secret_key() -> str:
    """`SECRET_KEY`, else a key generated once and kept readable by its owner only."""
    if key := os.environ.get("SECRET_KEY"):
        return key
    path = data_dir() / "secret_key"
    try:
        return _kept_key(path)
    except OSError as error:
        raise ImproperlyConfigured(
            f"SECRET_KEY is not set and no key can be kept in {path} ({error.strerror}). "
            "Set SECRET_KEY to a long random text, or BUDGET_DATA_DIR to a writable directory."
        ) from error


def _kept_key(path: Path) -> str:
    """The key in the file; writes it whole or not at all, and the first writer wins."""
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        draft = path.with_name(f"secret_key.{os.getpid()}.{secrets.token_hex(4)}")
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w") as file:
            file.write(secrets.token_urlsafe(64))
        try:
            os.link(draft, path)
        except FileExistsError:
            pass
        finally:
            draft.unlink()
    return path.read_text().strip()
