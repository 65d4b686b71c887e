"""Whatever a caller makes of path, query and headers, it never gets a 500."""

from collections.abc import Iterator
from io import BytesIO
from itertools import product
from urllib.parse import unquote_to_bytes

import pytest

from claims_demo.wsgi import application
from tests.api.conftest import Caller

pytestmark = pytest.mark.django_db(transaction=True)

ID = "01234567-89ab-7def-8123-456789abcdef"
ENDPOINTS = [
    "/api/v1/admissions",
    "/api/v1/admissions/batch",
    f"/api/v1/admissions/{ID}",
    f"/api/v1/admissions/{ID}/settle",
    f"/api/v1/admissions/{ID}/renew",
    "/api/v1/pools/claims",
    "/api/v1/usage",
    "/api/schema/",
    "/api/docs/",
    "/healthz",
    "/readyz",
    "/metrics",
]
ODD_PATHS = [
    "/%00",
    "/%ff",
    "/api/%ff/",
    "/api/v1//admissions",
    "/api/v1/admissions/%00",
    "/api/v1/admissions/%ff/settle",
    "/api/v1/admissions/١",
    "/api/v1/admissions/ffffffff-ffff-ffff-ffff-ffffffffffff",
    "/api/v1/admissions/urn:uuid:00000000000000000000000000000000/renew",
    "/api/v1/pools/%00",
    "/api/v1/pools/%c3%28",
    "/api/v1/pools/..%2f",
    "/api/v1/pools/" + "x" * 5000,
]
ODD_QUERIES = [
    "a=1&" * 1100,
    "pool=claims&" * 1100,
    "%",
    "=",
    "&&=&",
    "é=é",
    "format=x",
    "format=",
    "format=json&lang=%00",
    "version=%00",
    "scheme=x",
    "script=1",
    "pool",
    "pool=%00",
    "pool=%ff",
    "pool=claims&class=%00",
    "pool=claims&class=%ed%a0%80",
    "pool=claims&from=",
    "pool=claims&from=%00",
    "pool=claims&from=2026-01-01T00:00:00%2B99:99",
    "pool=claims&to=0001-01-01T00:00:00Z",
    "pool=claims&to=9999-12-31T23:59:59Z",
    "pool=claims&to=2026-02-30T00:00:00Z",
]
ODD_HEADERS = [
    *[("ACCEPT", text) for text in ("x", "///", "*", "text/html;q=x", "a/b; c=;;=", "," * 1000)],
    ("ACCEPT_LANGUAGE", "x-\x00"),
    ("ACCEPT_LANGUAGE", "*" * 600),
    ("AUTHORIZATION", "Api-Key"),
    ("AUTHORIZATION", "Api-Key ÿ.\x00"),
    ("AUTHORIZATION", "Api-Key " + "b" * 100_000),
    ("COOKIE", "sessionid=\x00"),
    ("COOKIE", 'a="\\'),
    ("HOST", "evil.example"),
    ("HOST", "[::1"),
    ("HOST", ""),
    ("IDEMPOTENCY_KEY", "ÿ\x00"),
    ("ORIGIN", "null"),
    ("RANGE", "bytes=x"),
    ("REFERER", "http://["),
    ("TRANSFER_ENCODING", "chunked"),
]
ODD_TYPES = [
    "",
    ";",
    "application/json; charset=hex",
    "application/json; charset=punycode",
    "application/json; charset=undefined",
    "application/json; charset=utf-8",
    "application/json; charset=utf-16",
    "application/json; charset*=bogus''x",
    "application/json; charset*=utf-8''%ff",
    "application/x-www-form-urlencoded",
    "multipart/form-data",
    "multipart/form-data; boundary=ÿ",
]


def test_odd_methods_and_paths(caller: Caller) -> None:
    methods = ["GET", "HEAD", "POST", "PUT", "OPTIONS", "TRACE", "get", "FOO", "ÿ", ""]
    for method, path in product(methods, [*ENDPOINTS, *ODD_PATHS]):
        assert status(caller, method, path) < 500, (method, path)


def test_odd_queries(caller: Caller) -> None:
    for path, query in product(ENDPOINTS, ODD_QUERIES):
        assert status(caller, "GET", path, query) < 500, (path, query)


def test_odd_headers(caller: Caller) -> None:
    for method, path, (name, value) in product(("GET", "POST"), ENDPOINTS, ODD_HEADERS):
        assert status(caller, method, path, **{f"HTTP_{name}": value}) < 500, (path, name, value)


@pytest.mark.parametrize("query", ["pool=claims&format=json", ODD_QUERIES[0]], ids=["few", "many"])
def test_odd_content_types(caller: Caller, query: str) -> None:
    for method, path, kind in product(("GET", "POST"), ENDPOINTS, ODD_TYPES):
        assert status(caller, method, path, query, CONTENT_TYPE=kind) < 500, (path, kind)


@pytest.mark.parametrize("path", ["/api/v1/usage", "/api/schema/", "/api/docs/"])
def test_too_many_parameters_are_a_malformed_request(path: str, caller: Caller) -> None:
    assert status(caller, "GET", path, ODD_QUERIES[0]) == 400


@pytest.mark.parametrize("path", ["/api/schema/", "/api/docs/"])
def test_a_form_the_documents_do_not_come_in_is_not_found(path: str, caller: Caller) -> None:
    assert status(caller, "GET", path, "format=x") == 404


def test_a_character_set_does_not_change_what_a_query_says(caller: Caller) -> None:
    kind = "text/plain; charset=utf-16"
    assert status(caller, "GET", "/api/v1/usage", "pool=claims", CONTENT_TYPE=kind) == 200


def status(caller: Caller, method: str, path: str, query: str = "", **more: str) -> int:
    """The status of the answer to a request as a server hands it on: header values in Latin-1."""
    body = b"{}" if method == "POST" else b""
    environ = {
        "REQUEST_METHOD": method,
        "PATH_INFO": unquote_to_bytes(path).decode("latin-1"),
        "SCRIPT_NAME": "",
        "QUERY_STRING": query,
        "CONTENT_TYPE": "application/json",
        "CONTENT_LENGTH": str(len(body)),
        "SERVER_NAME": "localhost",
        "SERVER_PORT": "80",
        "SERVER_PROTOCOL": "HTTP/1.1",
        "REMOTE_ADDR": "127.0.0.1",
        "HTTP_HOST": "localhost",
        "HTTP_AUTHORIZATION": f"Api-Key {caller.key}",
        "wsgi.url_scheme": "http",
        "wsgi.input": BytesIO(body),
        **more,
    }
    answered: list[str] = []
    chunks: Iterator[bytes] = application(environ, lambda line, _: answered.append(line))
    list(chunks)
    return int(answered[0].split()[0])
