"""Admissions over HTTP beside null views of the same server, empty and with stored calls."""

from statistics import median

import psutil

from bench.load import Load, Measured
from bench.rounds import Tell, in_turn
from bench.world import Served, World

CONNECTIONS = (1, 16, 64)
COMPARED = 16
ADMISSIONS = "/api/v1/admissions"
STORED_CALLS = 1_000_000
BODY = (
    '{"pool": "bench", "workload_class": "adjuster", "input_tokens": 800, "output_tokens": 200, '
    '"source": "bench"}'
)


def measure(world: World, seconds: float, rounds: int, tell: Tell) -> dict[str, float]:
    """Admissions per second and their slowest hundredth at several numbers of connections."""
    with world.served() as server:
        contenders = {
            f"http_{connections}": _load(server, ADMISSIONS, connections, seconds).run
            for connections in CONNECTIONS
        } | {
            name: _load(server, path, COMPARED, seconds).run
            for name, path in (("null_view", "/null"), ("null_endpoint", "/api/v1/null"))
        }
        measured = in_turn(contenders, rounds, tell)
        memory = _memory_mb(server.process_id)
    per_second = {name: _per_second(values) for name, values in measured.items()}
    http = per_second[f"http_{COMPARED}"]
    return {
        **{f"http_per_s_{n}": per_second[f"http_{n}"] for n in CONNECTIONS},
        f"null_view_per_s_{COMPARED}": per_second["null_view"],
        f"null_endpoint_per_s_{COMPARED}": per_second["null_endpoint"],
        f"http_over_null_{COMPARED}": http / per_second["null_view"],
        f"http_over_null_endpoint_{COMPARED}": http / per_second["null_endpoint"],
        f"http_p99_ms_{COMPARED}": _p99_ms(measured[f"http_{COMPARED}"]),
        "web_rss_mb": memory,
    }


def measure_growth(world: World, seconds: float, rounds: int, tell: Tell) -> dict[str, float]:
    """How much slower the slowest hundredth is with a million stored calls than with none."""
    tell(f"storing {STORED_CALLS:,} calls")
    with world.served() as empty, world.served_with_calls(STORED_CALLS) as full:

        def without_calls() -> Measured:
            world.forget_calls()
            return _load(empty, ADMISSIONS, COMPARED, seconds).run()

        contenders = {
            "empty": without_calls,
            "full": _load(full, ADMISSIONS, COMPARED, seconds).run,
        }
        measured = in_turn(contenders, rounds, tell)
    return {"p99_growth_1m": _p99_ms(measured["full"]) / _p99_ms(measured["empty"])}


def _load(server: Served, path: str, connections: int, seconds: float) -> Load:
    headers = {"Authorization": f"Api-Key {server.key}"}
    return Load(server.port, path, headers, BODY, connections, seconds)


def _per_second(values: list[Measured]) -> float:
    return median(value.per_second for value in values)


def _p99_ms(values: list[Measured]) -> float:
    return median(value.p99_ms for value in values)


def _memory_mb(process_id: int) -> float:
    """Resident memory of the process that serves: the largest below the one started."""
    parent = psutil.Process(process_id)
    processes = [parent, *parent.children(recursive=True)]
    return max(float(process.memory_info().rss) for process in processes) / 2**20
