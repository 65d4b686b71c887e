"""How near reservations come to what calls use, on the lengths of public traces.

The traces are Azure's (github.com/Azure/AzurePublicDataset), CSV with the columns ContextTokens
and GeneratedTokens. They hold no text: each call is given as much as its tokens would be, at
about 4 bytes a token and no two calls at the same. No call names a cap for its output.
"""

import csv
import json
import math
import random
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from bench.rounds import Tell
from budget.client.call import Call, call_of
from budget.client.content import PER_CALL, PER_MESSAGE
from budget.client.estimator import Estimator
from budget.providers import Tokens

TRACES = "AzureLLMInferenceTrace_*.csv"
LEARNED_FROM = 200
"""Calls before reservations are looked at."""
BYTES_PER_TOKEN = 4.0
NOISE = 0.075
"""Deviation of a call's bytes per token: nine of ten calls have 3.5 to 4.5."""
FRAME = PER_CALL + PER_MESSAGE


class Found(NamedTuple):
    """What came of one trace."""

    reserved_over_used_p95: float
    overrun_percent: float


def measure(directory: Path | None, tell: Tell) -> dict[str, float]:
    """The figures of the trace that does worst; none if the directory has no traces."""
    paths = sorted(directory.rglob(TRACES)) if directory else []
    if not paths:
        tell(f"estimates left out: --traces names no directory with {TRACES}")
        return {}
    found = []
    for path in paths:
        found.append(_follow(path, NOISE))
        tell(
            f"{path.stem}: reserved over used {found[-1].reserved_over_used_p95:.2f} at p95, "
            f"overrun in {found[-1].overrun_percent:.1f} % of calls"
        )
    return {
        "estimate_reserved_over_used_p95": max(one.reserved_over_used_p95 for one in found),
        "estimate_overrun_percent": max(one.overrun_percent for one in found),
    }


def _follow(path: Path, noise: float) -> Found:
    """Estimates the calls of a trace one after another, and learns from each."""
    estimator, ratios = Estimator(), []
    for call, used in _calls(path, noise):
        reserved = estimator.estimate(call, path.stem)
        estimator.learn(call, path.stem, used)
        ratios.append((reserved.input + reserved.output) / (used.input + used.output))
    ratios = sorted(ratios[LEARNED_FROM:])
    overruns = sum(ratio < 1 for ratio in ratios)
    return Found(ratios[math.ceil(0.95 * len(ratios)) - 1], 100 * overruns / len(ratios))


def _calls(path: Path, noise: float) -> Iterator[tuple[Call, Tokens]]:
    """The calls of a trace, as an SDK would send them, and what they used."""
    chance = random.Random(path.stem)
    with path.open(newline="") as file:
        for row in csv.DictReader(file):
            used = Tokens(int(row["ContextTokens"]), int(row["GeneratedTokens"]))
            ratio = BYTES_PER_TOKEN * math.exp(chance.gauss(0, noise))
            text = "x" * round(ratio * max(0, used.input - FRAME))
            body = {"model": "m", "messages": [{"role": "user", "content": text}]}
            yield call_of("messages", "/v1/messages", json.dumps(body).encode()), used
