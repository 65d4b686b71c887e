"""What figures show, in words: who took how much, who was shed and why, who waited."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime

from budget.dashboard.figure import Series
from budget.dashboard.reasons import because
from budget.dashboard.refusals import Counts
from budget.dashboard.sentence import Sentence
from budget.dashboard.steps import Steps
from budget.jobs import words
from budget.pages.percents import percent

NOTHING_KNOWN = "Nothing was recorded in this time, so nothing is known of it."
NO_CALLS = "Nobody called in this time."
NO_JOBS = "No job came in this time."
MOST_NAMED = 3

Amounts = Mapping[str, float]
"""By name of the class."""
ByClass = Mapping[str, Counts]
"""By name of the class."""
IF_ENFORCED = "had the pool enforced"


def use_finding(
    steps: Steps, series: Sequence[Series], amounts: Amounts, allowed: int, unit: str
) -> Sentence:
    """How much of the limit was used, by whom, and when most.

    `allowed` is what the limit gave in the time on record, 0 if it isn't one per time.
    """
    took = {name: amount for name, amount in amounts.items() if amount > 0}
    if not took:
        return _nothing(steps)
    if not allowed:
        parts = _listed(took, "{:,.0f}".format)
        return [f"Calls took {sum(took.values()):,.0f} {unit}: {parts}.", *_peak(steps, series)]
    shares = _listed(took, lambda amount: percent(100 * amount / allowed))
    whole = percent(100 * sum(took.values()) / allowed)
    used = f"{whole} of the limit was used: {shares}."

    def of_limit(amount: float, n: int) -> str:
        return percent(100 * amount / (steps.policies[n].allowance or amount))

    return [used, *_peak(steps, series, of_limit), *_gaps(steps)]


def shed_finding(
    steps: Steps,
    shed_series: Sequence[Series],
    would_series: Sequence[Series],
    noun: str,
    offered: int,
    shed: ByClass,
    would_shed: ByClass,
) -> Sentence:
    """How many of the `noun` were shed or would have been, whose, why, and when most."""
    if not offered:
        return _nothing(steps)
    total, spared = _total(shed), _total(would_shed)
    told: list[str | datetime] = [f"None of {offered:,} {noun} was shed."]
    if total:
        were = f"{total:,} of {offered:,} {noun} were shed ({percent(100 * total / offered)})"
        told = [f"{were}: {_by_class(shed)}.", *_peak(steps, shed_series)]
    if spared:
        would = f" {spared:,} would have been ({percent(100 * spared / offered)}), {IF_ENFORCED}"
        told += [f"{would}: {_by_class(would_shed)}.", *_peak(steps, would_series)]
    return told


def expired_finding(steps: Steps, series: Sequence[Series], expired: Mapping[str, int]) -> Sentence:
    """How many jobs expired, whose, and when most."""
    parts = _listed({name: jobs for name, jobs in expired.items() if jobs}, "{:,}".format)
    total = sum(expired.values())
    return [f"{total:,} {'job' if total == 1 else 'jobs'} expired: {parts}.", *_peak(steps, series)]


def untagged_finding(
    steps: Steps, series: Sequence[Series], took: Mapping[str, int], offered: int
) -> Sentence:
    """How many calls named no class, how many each class `took`, and when there were most.

    Those under the empty name were shed.
    """
    total = sum(took.values())
    calls = f"{total:,} {'call' if total == 1 else 'calls'} named no class"
    rate = f"{percent(100 * total / offered)} of all that was offered"
    parts = ", ".join(
        f"{count:,} into {slug}" if slug else f"{count:,} shed" for slug, count in took.items()
    )
    return [f"{calls}, {rate}: {parts}.", *_peak(steps, series)]


def depth_finding(steps: Steps, series: Sequence[Series]) -> Sentence:
    """Where most jobs waited, and when."""
    most, name, n = _highest(series)
    if n is None:
        return [NOTHING_KNOWN]
    if not most:
        return ["No job was waiting at the end of any minute."]
    return ["Most jobs waited at ", steps.times[n], f": {most:,.0f} of {name}."]


def wait_finding(steps: Steps, series: Sequence[Series]) -> Sentence:
    """The longest that a job had waited, whose, and when."""
    most, name, n = _highest(series)
    if n is None or not most:
        return ["No job was waiting at the end of any minute."]
    return [f"The oldest job had waited {words.span(most)}, in {name} at ", steps.times[n], "."]


def calls_finding(
    noun: str, offered: int, admitted: int, shed: Counts, would_shed: Counts, expired: int
) -> Sentence:
    """What became of a class's calls, or of its jobs, by the `noun`."""
    late = f" {expired:,} {'job' if expired == 1 else 'jobs'} expired." if expired else ""
    if not offered:
        return [f"{NO_JOBS if noun == 'jobs' else NO_CALLS}{late}"]
    total, spared = sum(shed.values()), sum(would_shed.values())
    were = "none was shed"
    if total:
        were = f"{total:,} were shed ({percent(100 * total / offered)}), {_why(shed)}"
    would = ""
    if spared:
        rate = percent(100 * spared / offered)
        would = f" {spared:,} would have been shed ({rate}), {IF_ENFORCED}, {_why(would_shed)}."
    return [f"{admitted:,} of {offered:,} {noun} were admitted; {were}.{would}{late}"]


def tokens_finding(noun: str, estimated: int, used: int) -> Sentence:
    """How good the estimates were."""
    if not estimated:
        return [f"No {noun.removesuffix('s')} was admitted in this time."]
    return [
        f"{used:,} tokens were used, {percent(100 * used / estimated)} of the {estimated:,} "
        "that were estimated."
    ]


def floor_finding(unit: str, floor: int, borrowed: int, lent: int) -> Sentence:
    """Whose floors the class drew on, and who drew on its own, by the estimates of the admitted."""
    if not (floor or borrowed or lent):
        return ["No floor was drawn on in this time."]
    return [
        f"By the estimates, before refunds, {floor:,} {unit} came out of its own floor, "
        f"{borrowed:,} out of floors that looser classes lent it; it lent {lent:,}."
    ]


def _nothing(steps: Steps) -> Sentence:
    return [NOTHING_KNOWN] if steps.first is None else [NO_CALLS, *_gaps(steps)]


def _total(refused: ByClass) -> int:
    return sum(sum(counts.values()) for counts in refused.values())


def _by_class(refused: ByClass) -> str:
    """Most refused first, each with why."""
    by_size = sorted(refused.items(), key=lambda item: -sum(item[1].values()))
    named = [
        f"{name} {sum(counts.values()):,}, {_why(counts)}"
        for name, counts in by_size[:MOST_NAMED]
        if counts
    ]
    others = sum(sum(counts.values()) for _, counts in by_size[MOST_NAMED:])
    return "; ".join([*named, f"others {others:,}"] if others else named)


def _why(counts: Counts) -> str:
    """`most (280) because floors are protected`."""
    reason, most = max(counts.items(), key=lambda item: item[1])
    total = sum(counts.values())
    if most == total:
        return f"all {because(reason)}"
    return f"{'most' if most > total / 2 else 'many'} ({most:,}) {because(reason)}"


def _listed(amounts: Amounts, told: Callable[[float], str]) -> str:
    """The first few by name, strictest first as they come, and the others together."""
    named = [f"{name} {told(amount)}" for name, amount in list(amounts.items())[:MOST_NAMED]]
    others = list(amounts.values())[MOST_NAMED:]
    return ", ".join([*named, f"others {told(sum(others))}"] if others else named)


def _peak(
    steps: Steps, series: Sequence[Series], told: Callable[[float, int], str] = "{:,.0f}".format
) -> Sentence:
    """When all of them together were highest, and how high; nothing about a single step."""
    sums = [sum(s.values[n] or 0 for s in series) for n in range(len(steps.times))]
    if sum(1 for known in steps.known if known) < 2:
        return []
    n = sums.index(max(sums))
    return [" The peak was at ", steps.times[n], f", with {told(sums[n], n)}."]


def _highest(series: Sequence[Series]) -> tuple[float, str, int | None]:
    found = [
        (value, s.name, n) for s in series for n, value in enumerate(s.values) if value is not None
    ]
    return max(found, key=lambda one: one[0], default=(0.0, "", None))


def _gaps(steps: Steps) -> Sentence:
    """Of which time nothing is known."""
    gaps = steps.gaps
    if not gaps:
        return []
    others = len(gaps) - 1
    more = f", and {others} more time{'s' if others > 1 else ''}" if others else ""
    return [" Nothing was recorded from ", gaps[0].start, " to ", gaps[0].end, f"{more}."]
