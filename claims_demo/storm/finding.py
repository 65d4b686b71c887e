"""What the last minute of a storm shows, in a sentence or two."""

from claims_demo.claims import ANSWER_SECONDS
from claims_demo.storm.service import ADJUSTERS, OTHERS
from claims_demo.storm.span import Span
from claims_demo.storm.tally import Tally
from claims_demo.storm.weather import CALM
from claims_demo.storm.words import in_percent, in_seconds

NO_BREAK = "\N{NO-BREAK SPACE}"
NOTHING_ASKED = "No adjuster asked anything in the last minute."
NOTHING_TURNED_AWAY = "No other work was turned away."


def finding(minute: Span) -> str:
    """How the person waiting fared, and at whose expense."""
    times = "" if minute.strength == CALM else f"{minute.strength} times "
    asked = minute.tally(ADJUSTERS.workload_class)
    sentences = [
        f"Claims come in at {times}their usual pace.",
        _answered(asked, minute.wait_ms(0.95)),
        _turned_away(minute),
        _held_back(minute),
    ]
    return " ".join(filter(None, sentences)).replace(" %", f"{NO_BREAK}%")


def _answered(asked: Tally, p95_ms: int | None) -> str:
    if not asked.judged:
        return NOTHING_ASKED
    most = "" if p95_ms is None else f", and 95 % waited at most {in_seconds(p95_ms)}"
    return (
        f"In the last minute {in_percent(asked.in_time_percent)} of the adjusters' questions were "
        f"answered within {ANSWER_SECONDS:.0f} seconds{most}.{_unserved(asked)}"
    )


def _unserved(asked: Tally) -> str:
    """What became of the others; some of a minute's failures were late the minute before."""
    fates = {
        "waited longer": max(0, asked.late - asked.gave_up - asked.failed),
        "gave up": asked.gave_up,
        "met an error": asked.failed,
        "found everybody waiting already": asked.unasked,
    }
    told = [f"{count:,} {fate}" for fate, count in fates.items() if count]
    return f" Of the others {', '.join(told)}." if told else ""


def _turned_away(minute: Span) -> str:
    parts = []
    for service in OTHERS:
        tally = minute.tally(service.workload_class)
        if tally.turned_away:
            parts.append(f"of {service.name} {_losses(tally)}")
    return f"Meanwhile {', and '.join(parts)}." if parts else NOTHING_TURNED_AWAY


def _held_back(minute: Span) -> str:
    """Jobs that wait for room in the pool are not lost, and yet it is they who make way."""
    spans = [
        f"{service.name} for {seconds} s"
        for service in OTHERS
        if (seconds := sum(minute.tally(service.workload_class).held.values()))
    ]
    return f"Kept waiting for room: {' and '.join(spans)}." if spans else ""


def _losses(tally: Tally) -> str:
    losses = [f"{in_percent(tally.shed_percent)} was refused"] if tally.shed_total else []
    if tally.expired:
        losses.append(f"{tally.expired:,} job{'' if tally.expired == 1 else 's'} expired")
    return " and ".join(losses)
