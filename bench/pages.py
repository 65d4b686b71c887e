"""The dashboard over a month of usage on three pools and a million stored calls."""

import io
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from time import perf_counter, time
from typing import Any

import httpx2
from django.contrib.auth.models import User
from django.core.management import call_command
from django.test import Client
from django.urls import reverse

from bench.load import Load, Measured
from bench.over_http import ADMISSIONS, BODY, COMPARED, STORED_CALLS
from bench.past import store_past
from bench.rounds import Tell, in_turn
from bench.stored import make_call, store_calls
from bench.world import Served, World

POLICY = Path(__file__).with_name("past.yaml")
POOL, CLASS = "first", "kappa"
RANGES = ("live", "15m", "1h", "24h", "7d", "30d")
FILTERS = ("", "class=kappa", "reason=headroom", "source=claims/jobs/source_7.py:7", "group=class")
VIEWERS = 5
POLL_SECONDS = 2.0


def measure(world: World, seconds: float, rounds: int, tell: Tell) -> dict[str, float]:
    """Server times of the slowest page of each kind in ms, and what five viewers cost callers."""
    tell(f"storing {STORED_CALLS:,} calls and a month of usage")
    with world.served() as server:
        _store(world, server)
        viewer = _viewer()
        times = in_turn(_looks(viewer), 3 * rounds, lambda line: None)
        slowest = {name: 1000 * median(values) for name, values in times.items()}
        for name, value in slowest.items():
            tell(f"{name}: {value:.0f} ms")
        return {
            "dashboard_ms": _worst(slowest, "page"),
            "sheds_ms": _worst(slowest, "sheds"),
            "live_ms": slowest["live"],
            "live_kb": len(viewer.get(_live(viewer)).content) / 1024,
            "metrics_ms": slowest["metrics"],
            "watched_p99_over_alone": _watched(server, viewer, seconds, rounds, tell),
        }


def _store(world: World, server: Served) -> None:
    world.forget_calls()
    make_call(server.url, server.key)
    call_command("load_policy", str(POLICY), reason="bench", stdout=io.StringIO())
    with world.connect() as connection:
        store_calls(connection, STORED_CALLS)
        store_past(connection, POOL)


def _viewer() -> Client:
    """Somebody who may see everything, logged in."""
    user = User.objects.create_superuser("bench")
    client = Client(SERVER_NAME="localhost")
    client.force_login(user)
    return client


def _looks(viewer: Client) -> dict[str, Callable[[], float]]:
    """What is looked at, by kind and name; each gives the seconds it took."""
    pool = reverse("budget:dashboard_pool", args=[POOL])
    member = reverse("budget:dashboard_class", args=[POOL, CLASS])
    sheds = reverse("budget:sheds", args=[POOL])
    addresses = {
        "page overview": reverse("budget:dashboard"),
        **{f"page pool {name}": f"{pool}?range={name}" for name in RANGES},
        **{f"page class {name}": f"{member}?range={name}" for name in RANGES},
        **{f"sheds {query or 'all'}": f"{sheds}?range=30d&{query}" for query in FILTERS},
        "live": _live(viewer),
        "metrics": "/metrics",
    }
    return {name: Look(viewer, address) for name, address in addresses.items()}


@dataclass(frozen=True)
class Look:
    """A page to be opened in this process, where only the server's own time counts."""

    viewer: Client
    address: str

    def __call__(self) -> float:
        """How many seconds it took. Raises RuntimeError unless the page is there."""
        started = perf_counter()
        answer: Any = self.viewer.get(self.address)
        taken = perf_counter() - started
        if answer.status_code != httpx2.codes.OK:
            raise RuntimeError(f"{self.address} answered {answer.status_code}.")
        return taken


def _live(viewer: Client) -> str:
    """What a live page asks: it knows all but the last two minutes, and every policy change."""
    since, version = int(time()) // 60 * 60 - 60, viewer.get(_all()).json()["version"]
    return f"{_all()}&since={since}&version={version}"


def _all() -> str:
    return f"{reverse('budget:dashboard_live', args=[POOL])}?range=live"


def _worst(slowest: dict[str, float], kind: str) -> float:
    return max(value for name, value in slowest.items() if name.startswith(kind))


def _watched(server: Served, viewer: Client, seconds: float, rounds: int, tell: Tell) -> float:
    """How much longer the slowest hundredth of admissions takes with dashboards open."""
    headers = {"Authorization": f"Api-Key {server.key}"}
    load = Load(server.port, ADMISSIONS, headers, BODY, COMPARED, seconds)
    cookie = viewer.cookies["sessionid"].value

    def watched() -> Measured:
        with _viewers(server.url, cookie, _live(viewer)):
            return load.run()

    measured = in_turn({"alone": load.run, "watched": watched}, rounds, tell)
    alone, seen = (median(m.p99_ms for m in measured[name]) for name in ("alone", "watched"))
    return seen / alone


@contextmanager
def _viewers(url: str, cookie: str, live: str) -> Iterator[None]:
    """Live dashboards that poll at their own pace while the block runs."""
    over = threading.Event()

    def poll(offset: float) -> None:
        with httpx2.Client(base_url=url, cookies={"sessionid": cookie}, trust_env=False) as client:
            over.wait(offset)
            while not over.is_set():
                client.get(live).raise_for_status()
                over.wait(POLL_SECONDS)

    offsets = [POLL_SECONDS * n / VIEWERS for n in range(VIEWERS)]
    threads = [threading.Thread(target=poll, args=[offset]) for offset in offsets]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        over.set()
        for thread in threads:
            thread.join()
