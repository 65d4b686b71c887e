"""Preparing the service and running its processes, for `make serve` and `make demo` alike."""

import contextlib
import http.client
import os
import signal
import socket
import subprocess
import sys
import time
from argparse import ArgumentTypeError
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import django
from django.core.management import call_command

from claims_demo.environment import LOCAL_HOSTS, flag

LOOPBACK = {"localhost", "127.0.0.1", "::1"}
ANY = {"0.0.0.0", "::"}
PORTS = 65_536
READY_SECONDS = 60.0
STOP_SECONDS = 15.0
BLOCKING_THREADS = 32
WAITING_REQUESTS = 4 * BLOCKING_THREADS
"""Requests taken in at once; more wait unread, which slows their senders down."""


class ProcessFailed(Exception):
    """A process of the service could not be started; the message says what to do."""


def prepare(host: str) -> None:
    """Sets Django up, checks it, migrates the database, and collects the static files."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "claims_demo.settings")
    # The web process speaks plain HTTP: requiring TLS makes sense only with a proxy before it.
    os.environ.setdefault("HTTPS", "1" if flag("BEHIND_PROXY", default=False) else "0")
    if host not in LOOPBACK | ANY:
        os.environ.setdefault("ALLOWED_HOSTS", ",".join((*LOCAL_HOSTS, bracketed(host))))
    django.setup()
    call_command("migrate", interactive=False, verbosity=0, skip_checks=False)
    call_command("collectstatic", interactive=False, verbosity=0)


def address(host: str, port: int) -> str:
    """The service's URL, without a path."""
    return f"http://{bracketed(host)}:{port}"


def bracketed(host: str) -> str:
    """The host as a URL or a Host header names it."""
    return f"[{host}]" if ":" in host else host


def port_number(text: str) -> int:
    """A port as the command line names it; 0 stands for any free one."""
    if not text.isdecimal() or int(text) >= PORTS:
        raise ArgumentTypeError(f"{text} is no port: they go up to {PORTS - 1}.")
    return int(text)


def require_free(host: str, port: int) -> None:
    """Raises ProcessFailed when something listens on the port already."""
    _bind(host, port)


def free_port(host: str) -> int:
    """A port that nobody listens on, at least not yet."""
    return _bind(host, 0)


def _bind(host: str, port: int) -> int:
    """Takes the port, or any for 0, and gives it free again."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            raise ProcessFailed(
                f"Cannot listen on {host}:{port}: {error.strerror}. Choose another with PORT=…"
            ) from error
        return int(probe.getsockname()[1])


@contextlib.contextmanager
def web(host: str, port: int, log: Path | None = None) -> Iterator[subprocess.Popen[bytes]]:
    """Runs the web process while the block runs, and enters the block once it answers.

    Its output goes to `log`, which begins anew, or where this process's goes. Raises
    ProcessFailed when the port is taken, or the process ends early or doesn't answer in time.
    """
    require_free(host, port)
    with contextlib.ExitStack() as stack:
        output = stack.enter_context(log.open("wb")) if log else None
        process = _start_web(host, port, output)
        stack.callback(stop, process)
        _wait_until_ready(process, host, port, log)
        yield process


def start(
    module: str, *arguments: str, output: IO[bytes] | None, **changes: str
) -> subprocess.Popen[bytes]:
    """Starts a module that ends with this process, however this one ends.

    `changes` are to the environment. In a session of its own: Ctrl-C reaches this process
    only, which then stops the other.
    """
    return subprocess.Popen(
        [sys.executable, "-m", "claims_demo.leash", module, *arguments],
        stdin=subprocess.PIPE,
        stdout=output,
        stderr=output,
        env=os.environ | changes,
        start_new_session=True,
    )


def stop(process: subprocess.Popen[bytes]) -> None:
    """Ends a process in an orderly way, or the hard way if that takes too long."""
    if process.poll() is None:
        process.terminate()
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    release(process)


def release(process: subprocess.Popen[bytes]) -> None:
    """Lets go of a process that has ended."""
    if process.stdin is not None:
        with contextlib.suppress(BrokenPipeError):
            process.stdin.close()


def _start_web(host: str, port: int, output: IO[bytes] | None) -> subprocess.Popen[bytes]:
    return start(
        *("granian", "claims_demo.wsgi:application"),
        *("--interface", "wsgi", "--http", "1", "--no-ws"),
        *("--host", host, "--port", str(port)),
        *("--workers", "1", "--respawn-failed-workers"),
        *("--blocking-threads", str(BLOCKING_THREADS)),
        *("--backpressure", str(WAITING_REQUESTS)),
        *("--workers-kill-timeout", "10"),
        *("--log-level", "error"),
        output=output,
        DATABASE_POOL="1",
    )


def _wait_until_ready(
    process: subprocess.Popen[bytes], host: str, port: int, log: Path | None
) -> None:
    until = time.monotonic() + READY_SECONDS
    while not _is_ready(host, port):
        if process.poll() is not None or time.monotonic() > until:
            where = f"{log} says why" if log else "its output above says why"
            raise ProcessFailed(f"The web process did not come up: {where}.")
        time.sleep(0.25)


def _is_ready(host: str, port: int) -> bool:
    connection = http.client.HTTPConnection("127.0.0.1" if host == "0.0.0.0" else host, port)
    with contextlib.closing(connection):
        try:
            connection.request("GET", "/readyz", headers={"Host": "localhost"})
            return connection.getresponse().status == http.HTTPStatus.OK
        except OSError:
            return False
