"""Callers in threads of this process."""

import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager

WARM_UP_SECONDS = 0.5

Admit = Callable[[], object]
"""Makes one admission."""
Line = Callable[[], AbstractContextManager[Admit]]
"""Opens what one thread needs for its admissions."""


def admissions_per_second(line: Line, callers: int, seconds: float) -> float:
    """How many admissions that many callers get, each asking again as soon as it is answered.

    Raises what the first failing caller raised.
    """
    counts = [0] * callers
    faults: list[BaseException] = []
    stop = threading.Event()

    def call(number: int) -> None:
        try:
            with line() as admit:
                while not stop.is_set():
                    admit()
                    counts[number] += 1
        except Exception as fault:
            faults.append(fault)
            stop.set()

    threads = [threading.Thread(target=call, args=(number,)) for number in range(callers)]
    for thread in threads:
        thread.start()
    stop.wait(WARM_UP_SECONDS)
    began, before = time.perf_counter(), sum(counts)
    stop.wait(seconds)
    ended, after = time.perf_counter(), sum(counts)
    stop.set()
    for thread in threads:
        thread.join()
    if faults:
        raise faults[0]
    return round((after - before) / (ended - began), 1)
