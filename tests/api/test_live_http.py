"""What only a real server shows: bodies on the wire, connections, many callers at once."""

import contextlib
import json
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path
from urllib.parse import quote

import pytest
from django.db import connection

from budget.models import Call, Pool
from claims_demo.processes import free_port, web
from tests.api.conftest import ADMISSIONS, CALL, JOB, JOBS, Caller

pytestmark = [pytest.mark.processes, pytest.mark.django_db(transaction=True)]

HOST = "127.0.0.1"


@pytest.fixture(scope="module")
def address(django_db_setup: None) -> str:
    """The test database's, for processes of their own."""
    database = connection.settings_dict
    return (
        f"postgresql://{database['USER']}:{database['PASSWORD']}"
        f"@{quote(database['HOST'], safe='')}:{database['PORT']}/{database['NAME']}"
    )


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the server at `port` says."""
    return tmp_path_factory.mktemp("web") / "web.log"


@pytest.fixture(scope="module")
def port(address: str, log: Path) -> Iterator[int]:
    """Granian on the test database: one for all, since it takes seconds to start."""
    yield from served(address, log)


@pytest.fixture
def second_port(port: int, address: str, tmp_path: Path) -> Iterator[int]:
    """A second process beside the first."""
    yield from served(address, tmp_path / "second.log")


def served(address: str, log: Path) -> Iterator[int]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DATABASE_URL", address)
        port = free_port(HOST)
        with web(HOST, port, log):
            yield port


def test_admissions_share_a_connection(port: int, caller: Caller) -> None:
    kept = HTTPConnection(HOST, port)
    for _ in range(3):
        answer = post(kept, caller)
        assert answer.status == 201
        assert not answer.will_close
    kept.close()


def test_a_refused_body_is_not_waited_for(port: int, caller: Caller) -> None:
    with socket.create_connection((HOST, port), timeout=5) as line:
        line.sendall(head(caller, "Content-Length: 10000000"))

        assert b"413" in line.recv(4096).split(b"\r\n")[0]


def test_ten_megabytes_are_refused_on_the_wire(port: int, caller: Caller) -> None:
    with socket.create_connection((HOST, port), timeout=5) as line:
        line.sendall(head(caller, "Content-Length: 10000000"))
        with contextlib.suppress(OSError):
            line.sendall(b" " * 10_000_000)

        assert b"413" in line.recv(4096).split(b"\r\n")[0]


def test_a_body_in_chunks_is_told_to_have_a_length(port: int, caller: Caller) -> None:
    body = json.dumps(CALL).encode()
    with socket.create_connection((HOST, port), timeout=5) as line:
        # All at once: the server hangs up on whoever is still sending.
        line.sendall(
            head(caller, "Transfer-Encoding: chunked")
            + b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body)
        )
        answer = HTTPResponse(line)
        answer.begin()

        assert answer.status == 411
        assert "Content-Length" in json.load(answer)["detail"]
        answer.close()


def test_a_body_that_breaks_off_decides_nothing(port: int, caller: Caller) -> None:
    with socket.create_connection((HOST, port), timeout=5) as line:
        line.sendall(head(caller, "Content-Length: 1000") + b'{"pool": "claims"')
        line.shutdown(socket.SHUT_WR)
        line.recv(4096)

    assert answers(port)
    assert not Call.objects.exists()


@pytest.mark.parametrize("key", ["Idempotency-Key:", "Idempotency-Key: ", 'Idempotency-Key: ""'])
def test_an_empty_idempotency_key_is_refused(key: str, port: int, caller: Caller) -> None:
    body = json.dumps(CALL).encode()
    with socket.create_connection((HOST, port), timeout=5) as line:
        line.sendall(head(caller, key, f"Content-Length: {len(body)}") + body)
        answer = HTTPResponse(line)
        answer.begin()

        assert answer.status == 400
        assert json.load(answer)["field"] == "Idempotency-Key"
        answer.close()


@pytest.mark.parametrize("length", ["-1", "ten", "1e3"])
def test_a_length_that_is_none_is_refused(length: str, port: int, caller: Caller) -> None:
    with socket.create_connection((HOST, port), timeout=5) as line:
        line.sendall(head(caller, f"Content-Length: {length}") + json.dumps(CALL).encode())
        status = line.recv(4096).split(b" ")[1]

    assert status in (b"400", b"411")
    assert answers(port)


def test_a_job_may_have_larger_arguments_than_a_call(port: int, caller: Caller) -> None:
    kept = HTTPConnection(HOST, port)
    for args in ({"text": "x" * 200_000}, {"deep": [[]] * 60_000}):
        body = json.dumps(JOB | {"task": "nobody.knows", "args": args})
        kept.request("POST", JOBS, body, headers(caller))
        answer = kept.getresponse()

        assert answer.status == 400
        assert json.load(answer)["field"] == "task"
    kept.close()


def test_arguments_nested_without_end_do_no_harm(port: int, caller: Caller) -> None:
    kept = HTTPConnection(HOST, port)
    body = json.dumps(JOB | {"args": {"deep": "HERE"}})
    kept.request("POST", JOBS, body.replace('"HERE"', "[" * 150_000), headers(caller))

    assert kept.getresponse().status == 400
    assert answers(port)
    kept.close()


def test_an_odd_character_set_is_no_fault_of_the_service(port: int, caller: Caller) -> None:
    for charset in ("charset=hex", "charset*=bogus''x"):
        kept = HTTPConnection(HOST, port)
        odd = headers(caller) | {"Content-Type": f"application/json; {charset}"}
        kept.request("GET", "/api/v1/usage?pool=claims", headers=odd)

        assert kept.getresponse().status == 200
        kept.close()


@pytest.mark.parametrize("length", ["ten", "9" * 40])
def test_a_page_asked_for_with_an_odd_length_is_refused(length: str, port: int) -> None:
    with socket.create_connection((HOST, port), timeout=5) as line:
        line.sendall(f"GET /healthz HTTP/1.1\r\nHost: {HOST}\r\n".encode())
        line.sendall(f"Content-Length: {length}\r\n\r\n".encode())

        assert line.recv(4096).split(b" ")[1] == b"400"


def test_a_head_request_has_no_body(port: int, caller: Caller) -> None:
    kept = HTTPConnection(HOST, port)
    kept.request("HEAD", "/api/v1/pools/claims", headers=headers(caller))
    answer = kept.getresponse()

    assert answer.status == 200
    assert answer.read() == b""
    kept.close()


def test_two_processes_share_one_allowance(
    port: int, second_port: int, caller: Caller, small_pool: Pool
) -> None:
    call = CALL | {"pool": "small", "input_tokens": 100, "output_tokens": 30}

    def admit(number: int) -> int:
        own = HTTPConnection(HOST, (port, second_port)[number % 2])
        with contextlib.closing(own):
            return post(own, caller, call).status

    with ThreadPoolExecutor(16) as threads:
        statuses = list(threads.map(admit, range(16)))

    assert sorted(statuses) == [201] * 4 + [429] * 12


def test_refusals_are_not_logged_as_faults(port: int, caller: Caller, log: Path) -> None:
    earlier = len(log.read_text())
    kept = HTTPConnection(HOST, port)

    assert post(kept, caller, CALL | {"workload_class": None}).status == 429
    assert post(kept, caller, CALL | {"pool": "nowhere"}).status == 404
    kept.close()

    said = log.read_text()[earlier:]
    assert "Not Found: /api/v1/admissions" in said
    assert "Too Many Requests" not in said


def post(kept: HTTPConnection, caller: Caller, body: object = CALL) -> HTTPResponse:
    kept.request("POST", ADMISSIONS, json.dumps(body), headers(caller))
    answer = kept.getresponse()
    answer.read()
    return answer


def headers(caller: Caller) -> dict[str, str]:
    return {"Authorization": f"Api-Key {caller.key}", "Content-Type": "application/json"}


def head(caller: Caller, *lines: str) -> bytes:
    """A raw request up to its body."""
    sent = [f"POST {ADMISSIONS} HTTP/1.1", f"Host: {HOST}", *lines]
    sent += [f"{name}: {value}" for name, value in headers(caller).items()]
    return "\r\n".join([*sent, "", ""]).encode()


def answers(port: int) -> bool:
    """Whether the server still lives."""
    kept = HTTPConnection(HOST, port)
    kept.request("GET", "/healthz")
    try:
        return kept.getresponse().status == 200
    finally:
        kept.close()
