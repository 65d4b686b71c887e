"""The three services of the claims platform: how much they have to do, and how soon."""

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Service:
    """One service, which tags all its calls with one workload class."""

    name: str
    workload_class: str
    per_second: float
    """Questions, events or claims on an ordinary day."""
    most_per_second: float = math.inf
    """However many claims come in."""


ADJUSTERS = Service("adjuster assistant", "adjuster", per_second=0.8, most_per_second=3)
"""Only so many adjusters are on duty."""
RESCORE = Service("re-score", "rescore", per_second=1)
NIGHTLY = Service("nightly classification", "nightly", per_second=1.5)
OTHERS = (RESCORE, NIGHTLY)
SERVICES = (ADJUSTERS, *OTHERS)
"""On an ordinary day all are served; in a storm they ask for several times what there is."""
