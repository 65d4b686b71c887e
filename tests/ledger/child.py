"""Another process that works on the same ledger: `python -m tests.ledger.child ACTION …`.

It prints one JSON line when it is ready for its parent, does its part after a line on
standard input, and prints the result as another.
"""

import json
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any
from uuid import UUID


class Child:
    """The parent's end of such a process."""

    def __init__(self, database: str, action: str, *arguments: object, **environ: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.ledger.child", action, *map(str, arguments)],
            cwd=Path(__file__).parents[2],
            env={**os.environ, "DJANGO_SETTINGS_MODULE": "tests.settings", **environ}
            | {"CHILD_DATABASE": database},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def hear(self) -> Any:
        """The next thing it says."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, "the child died"
        return json.loads(line)

    def go(self) -> None:
        """Let it do its part."""
        assert self.process.stdin is not None
        self.process.stdin.write("go\n")
        self.process.stdin.flush()

    def end(self) -> None:
        """Leave no process and no pipe behind."""
        self.process.kill()
        self.process.communicate()


def admit_many(count: str, tokens: str) -> Any:
    """Ask for that many calls in eight threads; say how many were admitted."""
    from tests.ledger.pools import admit, together

    _ready()
    decided = together(8, lambda: [admit(tokens=int(tokens)) for _ in range(int(count) // 8)])
    return sum(decision.admitted for decisions in decided for decision in decisions)


def enqueue_many(count: str, tokens: str) -> Any:
    """Ask for places for that many jobs in eight threads; say how many got one."""
    from budget.ledger.errors import Shed
    from tests.jobs.queueing import enqueue
    from tests.ledger.pools import together

    def place(n: int) -> int:
        try:
            enqueue(tokens=int(tokens))
        except Shed:
            return 0
        return 1

    _ready()
    return sum(together(8, lambda: sum(map(place, range(int(count) // 8)))))


def settle(call_id: str, tokens: str) -> Any:
    """Settle one call; say what was refunded."""
    from budget import services

    _ready()
    return services.settle(UUID(call_id), "succeeded", int(tokens)).refunded


def admit_slowly() -> Any:
    """Admit a call, waiting for a word with the lock held and everything decided."""
    from django.conf import settings

    from budget.ledger import store
    from tests.ledger.pools import admit

    write = store.write_and_commit

    def wait_and_write(*args: Any) -> None:
        store.write_and_commit = write
        _ready()
        write(*args)

    store.write_and_commit = wait_and_write
    settings.BUDGET_LEDGER_WAIT_SECONDS = 60
    return admit().admitted


def fork() -> Any:
    """Admit, fork, and admit in both processes."""
    from tests.ledger.pools import admit

    _ready()
    before = admit().admitted
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.write(writer, b"1" if admit().admitted else b"0")
        finally:
            os._exit(0)
    os.waitpid(pid, 0)
    return [before, os.read(reader, 1) == b"1", admit().admitted]


def restart_server() -> Any:
    """Admit from four threads on a server of its own, which is stopped meanwhile.

    Whoever connects first starts it again.
    """
    from django.core.management import call_command
    from django.db import connection, connections

    from budget.ledger.errors import LedgerUnavailable
    from budget.models import Call
    from claims_demo.database.server import EmbeddedServer
    from tests.ledger.pools import admit, make_classes, make_pool, together

    call_command("migrate", verbosity=0)
    make_classes()
    make_pool({"unit": "requests", "algorithm": "gauge", "amount": 1_000_000})
    connection.close()
    server = EmbeddedServer.at(Path(os.environ["BUDGET_DATA_DIR"]))
    done = threading.Event()
    answered: list[UUID] = []

    def call() -> int:
        unanswered = 0
        while not done.is_set():
            try:
                answered.append(admit(tokens=1).id)
            except LedgerUnavailable:
                unanswered += 1
        return unanswered

    def restart() -> None:
        try:
            _wait_for(lambda: len(answered) > 50)
            with server._exclusively():
                server.cluster.stop()
            before = len(answered)
            _wait_for(lambda: len(answered) > before + 50)
        finally:
            done.set()

    restarter = threading.Thread(target=restart)
    restarter.start()
    unanswered = sum(together(4, call))
    restarter.join()
    connections.close_all()
    stored = set(Call.objects.values_list("pk", flat=True))
    return {
        "answered": len(answered),
        "lost": len(set(answered) - stored),
        "charged twice": len(stored) - len(answered) - unanswered > 0,
    }


def _wait_for(condition: Any, seconds: float = 30.0) -> None:
    import time

    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, "it did not happen"
        time.sleep(0.02)


def _ready() -> None:
    print(json.dumps("ready"), flush=True)
    sys.stdin.readline()


def main() -> None:
    """Set Django up on the parent's test database and run the action."""
    import django
    from django.conf import settings

    if database := os.environ["CHILD_DATABASE"]:
        settings.DATABASES["default"]["NAME"] = database
    django.setup()
    action, *arguments = sys.argv[1:]
    result = globals()[action](*arguments)
    print(json.dumps(result), flush=True)


if __name__ == "__main__":
    main()
