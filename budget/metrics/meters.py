"""Every metric of the ledger: its name, what it says, and its labels."""

from typing import NamedTuple

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

Family = CounterMetricFamily | GaugeMetricFamily

CLASS = ("pool", "workload_class")
REASON = (*CLASS, "reason")
LIMIT = ("pool", "limit")
UNIT = ("pool", "unit")
FLOOR = (*LIMIT, "workload_class")
CHOICE = (*CLASS, "choice")


class Meter(NamedTuple):
    """What one metric is."""

    name: str
    """As it is scraped: a counter's ends in `_total`."""
    help: str
    labels: tuple[str, ...] = ()

    def family(self) -> Family:
        """Its samples' place, still empty."""
        if self.name.endswith("_total"):
            return CounterMetricFamily(self.name, self.help, labels=self.labels)
        return GaugeMetricFamily(self.name, self.help, labels=self.labels)


UP = Meter("budget_up", "1 if the ledger answered, 0 if not, and all else of it is missing.")

OFFERED = Meter(
    "budget_calls_offered_total",
    "Calls that asked to be admitted, jobs queued or tried again.",
    CLASS,
)
ADMITTED = Meter(
    "budget_calls_admitted_total", "Calls that were admitted, attempts at jobs.", CLASS
)
SHED = Meter("budget_calls_shed_total", "Calls and jobs that were shed, by reason.", REASON)
WOULD_SHED = Meter(
    "budget_calls_would_shed_total",
    "Admitted calls that a pool in observe mode would have shed in enforce mode, by reason.",
    REASON,
)
EXPIRED = Meter("budget_jobs_expired_total", "Jobs dropped or done too late.", CLASS)
LEASES_EXPIRED = Meter(
    "budget_leases_expired_total", "Admitted calls that nobody settled in time.", CLASS
)
ESTIMATED = Meter("budget_tokens_estimated_total", "Tokens that admitted calls estimated.", CLASS)
USED = Meter(
    "budget_tokens_used_total",
    "Tokens used by settled calls, and estimated by those whose lease expired.",
    CLASS,
)
CORRECTED = Meter(
    "budget_tokens_corrected_total",
    "Tokens counted as used when a lease expired, and unused as its call was settled after all.",
    CLASS,
)
REFUNDED = Meter("budget_tokens_refunded_total", "Tokens estimated and not used.", CLASS)
OVERRUN = Meter("budget_tokens_overrun_total", "Tokens used beyond the estimate.", CLASS)
UNTAGGED = Meter(
    "budget_untagged_calls_total",
    "Calls that named no class, whether they were shed or fell into one.",
    ("pool",),
)
AWAY_CALLS = Meter(
    "budget_away_calls_total",
    "Calls that callers decided on by themselves while the service was away, as reported since.",
    (*CHOICE, "decision"),
)
AWAY_TOKENS = Meter(
    "budget_away_tokens_total", "Tokens of those of them that were admitted.", CHOICE
)
LEAKED = Meter(
    "budget_leaked_tokens_total",
    "What was used at the provider and never came through here, in the unit.",
    UNIT,
)

AVAILABLE = Meter(
    "budget_limit_available", "What is left, in the limit's unit; negative while in debt.", LIMIT
)
CAPACITY = Meter("budget_limit_capacity", "What the limit can hold, in its unit.", LIMIT)
HELD = Meter("budget_limit_held", "What open leases hold of a gauge, in its unit.", LIMIT)
FLOOR_UNSPENT = Meter(
    "budget_floor_unspent", "What is left of the class's floor, in the limit's unit.", FLOOR
)
FLOOR_EFFECTIVE = Meter(
    "budget_floor_effective",
    "What is left of the class's floor as far as there is enough for it, in the limit's unit.",
    FLOOR,
)

DEPTH = Meter("budget_queue_depth", "Jobs that wait.", CLASS)
RUNNING = Meter("budget_queue_running", "Jobs that run.", CLASS)
OLDEST_WAIT = Meter(
    "budget_queue_oldest_wait_seconds",
    "How long the oldest job that waits has waited; missing while none does.",
    CLASS,
)
QUEUE_STATE = Meter(
    "budget_queue_state", "1 for the state the queue is in, 0 for the others.", (*CLASS, "state")
)

CALLERS = Meter(
    "budget_caller_processes", "Processes that call the pool, heard of in the last 90 s.", ("pool",)
)

PROVIDER_LIMIT = Meter(
    "budget_provider_limit",
    "What the provider's headers say that it allows in a minute, in the unit.",
    UNIT,
)
BACKOFF = Meter(
    "budget_class_backoff",
    "Whether a busy provider is left alone by the class: 1, else 0.",
    CLASS,
)
SPEND_CAP = Meter(
    "budget_pool_spend_cap_reached",
    "Whether the pool is paused since the provider says that the spend cap is reached: 1, else 0.",
    ("pool",),
)

CLASS_PAUSED = Meter("budget_class_paused", "Whether the class is paused: 1, else 0.", CLASS)
POOL_PAUSED = Meter("budget_pool_paused", "Whether the pool is paused: 1, else 0.", ("pool",))
POOL_MODE = Meter(
    "budget_pool_mode", "1 for the mode the pool is in, 0 for the other.", ("pool", "mode")
)

METERS = tuple(meter for meter in globals().values() if isinstance(meter, Meter))
"""All of them, in the order in which they are scraped."""
