"""Every setting of the app: one function each, named as the setting without `BUDGET_`."""

from math import ceil
from typing import Any

from django.conf import settings


def _setting(name: str, default: Any) -> Any:
    return getattr(settings, f"BUDGET_{name}", default)


def batch_poll_seconds() -> float:
    """How soon a provider is first asked about a batch, in seconds; then less and less often.

    Default: 10.
    """
    return _setting("BATCH_POLL_SECONDS", 10.0)


def call_retention_days() -> int:
    """How many days `prune_calls` keeps calls, jobs with their results, and batches. Default: 90.

    And what it takes to re-run the calls' decisions.
    """
    return _setting("CALL_RETENTION_DAYS", 90)


def client_address_key() -> str:
    """Where in a request's `META` its client's address stands, for the policy history.

    Behind a proxy that sets it, `HTTP_X_FORWARDED_FOR`: of several addresses the last counts,
    which the proxy nearest to the service wrote. Only name what the proxy overwrites or
    appends to; else anybody can name any address. Default: `REMOTE_ADDR`, the connection's.
    """
    return _setting("CLIENT_ADDRESS_KEY", "REMOTE_ADDR")


def clusters() -> dict[str, tuple[str, ...]]:
    """By name of a django-q cluster: the tiers whose jobs its workers run.

    A cluster for each tier keeps bulk jobs off near-line's workers; one may have both.
    Default: `{"near_line": ("near_line",), "bulk": ("bulk",)}`.
    """
    named = _setting("CLUSTERS", {"near_line": ("near_line",), "bulk": ("bulk",)})
    return {name: tuple(tiers) for name, tiers in named.items()}


def dashboard_query_seconds() -> float:
    """How long one query of a dashboard page may take, in seconds. Default: 4.

    Then the page says that it takes too long, and tries again by itself.
    """
    return _setting("DASHBOARD_QUERY_SECONDS", 4.0)


def job_threads() -> int:
    """How many jobs one worker process runs at once. Default: 8."""
    return _setting("JOB_THREADS", 8)


def key_cache_seconds() -> float:
    """How long a checked API key is trusted without looking again, in seconds.

    It is also the longest a revoked key still works. Default: 5.
    """
    return _setting("KEY_CACHE_SECONDS", 5.0)


def ledger_batch_size() -> int:
    """The most operations the ledger decides in one transaction. Default: 256."""
    return _setting("LEDGER_BATCH_SIZE", 256)


def ledger_queue_size() -> int:
    """How many operations may wait per pool and process; beyond it callers get a 503.

    Default: 10,000.
    """
    return _setting("LEDGER_QUEUE_SIZE", 10_000)


def ledger_wait_seconds() -> float:
    """How long a caller waits for the ledger before it gives up with a 503. Default: 5."""
    return _setting("LEDGER_WAIT_SECONDS", 5.0)


def leak_tolerance_percent() -> float:
    """How much of a limit's amount may be missing at the provider for no reason, in percent.

    If more is, it counts as used by calls that never came through us: a leak. Default: 10.
    """
    return _setting("LEAK_TOLERANCE_PERCENT", 10.0)


def max_batch_bytes() -> int:
    """The largest body of a batch of admissions, in bytes. Default: 1 MiB."""
    return _setting("MAX_BATCH_BYTES", 1_048_576)


def max_body_bytes() -> int:
    """The largest body of any other request, in bytes. Default: 64 KiB."""
    return _setting("MAX_BODY_BYTES", 65_536)


def max_job_bytes() -> int:
    """The largest arguments of a job, as JSON, in bytes. Default: 256 KiB."""
    return _setting("MAX_JOB_BYTES", 262_144)


def max_result_bytes() -> int:
    """The largest result of a job, as JSON, in bytes. Default: 1 MiB."""
    return _setting("MAX_RESULT_BYTES", 1_048_576)


def newest_first_after() -> float:
    """From which part of its deadline on a queue's oldest job makes it serve the newest first.

    1 or more: never. Default: 0.5.
    """
    return _setting("NEWEST_FIRST_AFTER", 0.5)


def provider_base_urls() -> dict[str, str]:
    """By provider: the base URL that all its calls go to, whatever the pools say.

    For where nobody may spend money, whoever edits the policy: a demo, a test environment.
    `PROVIDER_HOSTS` doesn't narrow it. Default: none.
    """
    return _setting("PROVIDER_BASE_URLS", {})


def provider_hosts() -> frozenset[str] | None:
    """Host names that a pool's base URL may name: where a provider's API key may be sent.

    An empty set allows no base URL at all. Default: None, any host.
    """
    hosts = _setting("PROVIDER_HOSTS", None)
    return None if hosts is None else frozenset(host.lower() for host in hosts)


def provider_keys() -> dict[str, str]:
    """The provider's API key by slug of the pool.

    Pools that aren't named use the variable of the official SDK: `OPENAI_API_KEY`,
    `ANTHROPIC_API_KEY`. Default: none.
    """
    return _setting("PROVIDER_KEYS", {})


def ticket_seconds() -> float:
    """For how long one ticket starts jobs, before it makes way for the next. Default: 5."""
    return _setting("TICKET_SECONDS", 5.0)


def ticket_timeout() -> int:
    """After how many seconds django-q kills the worker of a ticket; no setting of its own.

    A minute more than `ticket_seconds`, in which a database that is away may come back.
    """
    return ceil(ticket_seconds()) + 60
