"""Reports of storms, for what reads them."""

from claims_demo.storm.report import Report
from claims_demo.storm.tally import Tally


def report(elapsed: float = 20, strength: int = 10, **changes: Tally) -> Report:
    """A storm that went as promised, but for the changes."""
    tallies = {
        "adjuster": Tally(asked=20, in_time=18, offered=20, admitted=20, drawn=24_000),
        "rescore": Tally(asked=30, enqueued=21, offered=30, admitted=12, shed={"queue_full": 9}),
        "nightly": Tally(
            asked=80, enqueued=80, offered=80, batched=12, expired=7, held={"headroom": 6}
        ),
    }
    return Report(
        elapsed=elapsed,
        strength=strength,
        strongest=10,
        tallies=tallies | changes,
        waiting={"adjuster": 2, "rescore": 9, "nightly": 61},
        at_provider=12,
        least_free_percent=7.5,
        p95_ms=870,
    )
