"""Policy edits in words: `share 40 % → 50 %`."""

from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal
from typing import Any, NamedTuple


class Wording(NamedTuple):
    """How a field is called and written, and what an empty one means."""

    label: str
    unit: str = ""
    empty: str = "none"


POOL = {
    "provider": Wording("provider"),
    "mode": Wording("mode"),
    "paused": Wording("paused"),
    "untagged_class": Wording("untagged calls", empty="shed"),
    "interactive_strategy": Wording("interactive strategy"),
    "near_line_strategy": Wording("near-line strategy"),
    "bulk_strategy": Wording("bulk strategy"),
    "base_url": Wording("base URL", empty="the official SDK's own"),
    "batch": Wording("batch endpoint"),
    "batch_max_requests": Wording("largest batch", "requests"),
    "batch_max_bytes": Wording("largest batch", "bytes"),
    "batch_collect_seconds": Wording("batch collected for", "s"),
    "batch_window_hours": Wording("batch window", "h"),
}
LIMIT = {
    "unit": Wording("unit"),
    "algorithm": Wording("algorithm"),
    "amount": Wording("amount"),
    "per_seconds": Wording("period", "s"),
    "burst_percent": Wording("burst", "%"),
    "of_batch": Wording("of the batch endpoint"),
}
WORKLOAD_CLASS = {
    "tier": Wording("tier"),
    "deadline_seconds": Wording("deadline", "s"),
    "max_call_seconds": Wording("longest call", "s"),
    "max_call_tokens": Wording("largest call", "tokens"),
    "when_unavailable": Wording("when unavailable", empty="tier default"),
    "queue_limit": Wording("queue limit", "jobs", "no bound"),
    "queue_tokens": Wording("queue limit", "tokens", "no bound"),
    "max_attempts": Wording("attempts"),
    "paused": Wording("paused"),
    "draining": Wording("draining"),
}
RESERVATION = {
    "share_percent": Wording("share", "%"),
    "lendable_percent": Wording("lendable", "%", "tier default"),
    "headroom_percent": Wording("headroom", "%", "tier default"),
    "ceiling_percent": Wording("ceiling", "%"),
    "weight": Wording("weight"),
    "yields_above_percent": Wording("yields above", "%", "never"),
    "except_limits": Wording("floor off on", empty="no limit"),
}
API_KEY = {
    "name": Wording("name"),
    "revoked": Wording("revoked"),
    "expiry_date": Wording("expires", empty="never"),
    "all_classes": Wording("all classes"),
    "all_pools": Wording("all pools"),
}


def written(value: Any, wording: Wording) -> str:
    """One value with its unit: `50 %`, `no bound`, `yes`."""
    match value:
        case None | "" | []:
            return wording.empty
        case bool():
            return "yes" if value else "no"
        case int():
            text = f"{value:,}"
        case Decimal():
            text = format(value.normalize(), "f")
        case list():
            text = ", ".join(value)
        case datetime():
            text = f"{value:%Y-%m-%d %H:%M} UTC"
        case _:
            text = str(value)
    return f"{text} {wording.unit}".rstrip()


def differences(
    before: Mapping[str, Any], after: Mapping[str, Any], words: Mapping[str, Wording]
) -> list[str]:
    """One phrase per field that differs, in the order of `words`."""
    return [
        f"{wording.label} {written(before[field], wording)} → {written(after[field], wording)}"
        for field, wording in words.items()
        if field in before and before[field] != after[field]
    ]


def summary(values: Mapping[str, Any], words: Mapping[str, Wording]) -> str:
    """All fields that hold something, in one line."""
    return ", ".join(
        f"{wording.label} {written(values[field], wording)}"
        for field, wording in words.items()
        if values.get(field) not in (None, "", [], False)
    )
