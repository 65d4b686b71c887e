"""A provider of both kinds, for what the mock provider lacks: faults, and batches that go wrong.

What becomes of a request of a batch stands in the text of its message: `ok`, `expire`,
`refuse` (a row that is rejected on its own) or `break` (one that fails for now).
"""

import json
import re
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

DROP = 0
"""Instead of a status: hang up without an answer."""
USED = {"input": 7, "output": 3}


class Provider:
    """Its state; tests change it between requests."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.batches: dict[str, dict[str, Any]] = {}
        self.runs: Counter[str] = Counter()
        """By text of the message: how often it was accepted for a run."""
        self.calls: list[str] = []
        """Requests of HTTP that came, as `POST /v1/batches`."""
        self.faults: list[tuple[str, int, dict[str, str], Any, bool]] = []
        self.ends = "completed"
        """How batches end; empty: they don't."""
        self.line_errors: list[dict[str, Any]] = []
        self.cuts = 0
        """How many results are cut short."""
        self.extra_lines: list[bytes] = []
        self.silent = False
        """Whether calls get no answer until their caller hangs up."""
        self.gone = threading.Event()
        """Set once a caller hung up while it waited."""
        self.pause_at = ""
        """After doing such requests it waits until `go_on`, before it answers."""
        self.paused, self.go_on = threading.Event(), threading.Event()
        self.url = ""

    def fail(
        self,
        call: str,
        status: int,
        body: Any = None,
        times: int = 1,
        headers: dict[str, str] | None = None,
        done: bool = False,
    ) -> None:
        """Answer the next such requests with that status; `done`: after doing what they ask."""
        said = body or {"error": {"message": "no luck", "type": "api_error"}}
        self.faults += [(call, status, headers or {}, said, done)] * times

    def fault_of(self, call: str) -> tuple[str, int, dict[str, str], Any, bool] | None:
        """The fault that is meant for a request, once."""
        for fault in self.faults:
            if re.fullmatch(fault[0], call):
                self.faults.remove(fault)
                return fault
        return None


@contextmanager
def serving() -> Iterator[Provider]:
    """A provider that answers at `url`: OpenAI under `/v1`, Anthropic at the root."""
    provider = Provider()
    handler = type("Handler", (_Handler,), {"provider": provider})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    provider.url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield provider
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Handler(BaseHTTPRequestHandler):
    provider: Provider
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: Any) -> None:
        """Not in the tests' output."""

    def do_POST(self) -> None:
        self._serve()

    def do_GET(self) -> None:
        self._serve()

    def _serve(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        path = self.path.partition("?")[0]
        call = f"{self.command} {path}"
        self.provider.calls.append(call)
        fault = self.provider.fault_of(call)
        status, answer = 200, None
        if fault is None or fault[4]:
            status, answer = self._route(call, body)
        if fault is not None:
            status, answer = fault[1], fault[3]
        if call == self.provider.pause_at:
            self.provider.paused.set()
            self.provider.go_on.wait(30)
        if status == DROP:
            self.close_connection = True
            return
        self._answer(status, answer, fault[2] if fault else {})

    def _answer(self, status: int, answer: Any, headers: dict[str, str]) -> None:
        if self.provider.gone.is_set():
            self.close_connection = True
            return
        raw = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
        sent = raw
        if isinstance(answer, bytes) and self.provider.cuts:
            self.provider.cuts -= 1
            sent = raw[: len(raw) // 2]
            self.close_connection = True
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(raw)))
        self.end_headers()
        with suppress(OSError):
            self.wfile.write(sent)

    def _route(self, call: str, body: bytes) -> tuple[int, Any]:
        for pattern, serve in ROUTES:
            if found := re.fullmatch(pattern, call):
                return serve(self, body, *found.groups())
        return 404, {"error": {"message": f"no {call}", "type": "not_found_error"}}

    def chat(self, body: bytes) -> tuple[int, Any]:
        """One request, made at once."""
        self._wait()
        return 200, _completion(json.loads(body))

    def message(self, body: bytes) -> tuple[int, Any]:
        """Likewise."""
        self._wait()
        return 200, _message(json.loads(body))

    def _wait(self) -> None:
        if self.provider.silent:
            self.connection.settimeout(10)
            if self.rfile.read(1) == b"":
                self.provider.gone.set()

    def upload(self, body: bytes) -> tuple[int, Any]:
        """A file, out of its form."""
        start = body.index(b"\r\n\r\n", body.index(b'name="file"')) + 4
        return 200, self._store(body[start : body.index(b"\r\n--", start)])

    def content(self, body: bytes, name: str) -> tuple[int, Any]:
        """A file's content."""
        if name not in self.provider.files:
            return 404, {"error": {"message": f"No such File object: {name}"}}
        return 200, self.provider.files[name]

    def create_openai(self, body: bytes) -> tuple[int, Any]:
        """A batch of a file."""
        wanted = json.loads(body)
        if wanted["input_file_id"] not in self.provider.files:
            return 400, {"error": {"message": "No such file."}}
        lines = self.provider.files[wanted["input_file_id"]].splitlines()
        requests = [json.loads(line) for line in lines]
        return 200, self._start([(r["custom_id"], r["body"]) for r in requests], wanted)

    def create_anthropic(self, body: bytes) -> tuple[int, Any]:
        """A batch of its requests."""
        requests = json.loads(body)["requests"]
        return 200, self._start([(r["custom_id"], r["params"]) for r in requests], {})

    def list_batches(self, body: bytes) -> tuple[int, Any]:
        """All of them, newest first."""
        return 200, {"data": list(reversed(self.provider.batches.values())), "has_more": False}

    def look_openai(self, body: bytes, name: str) -> tuple[int, Any]:
        """A batch, ended if batches end."""
        batch = self.provider.batches[name]
        if self.provider.ends and batch["status"] == "in_progress":
            self._end_openai(batch)
        return 200, batch

    def look_anthropic(self, body: bytes, name: str) -> tuple[int, Any]:
        """Likewise."""
        batch = self.provider.batches[name]
        if self.provider.ends:
            batch["processing_status"] = "ended"
        return 200, batch

    def cancel(self, body: bytes, name: str) -> tuple[int, Any]:
        """Nothing more is run."""
        self.provider.batches[name]["cancelled"] = True
        return 200, self.provider.batches[name]

    def results(self, body: bytes, name: str) -> tuple[int, Any]:
        """Newest first, with what the test adds."""
        rows = [_anthropic_row(*request) for request in self.provider.batches[name]["rows"]]
        lines = [*self.provider.extra_lines, *(json.dumps(row).encode() for row in rows[::-1])]
        return 200, b"\n".join(lines)

    def _start(self, requests: list[tuple[str, Any]], wanted: dict[str, Any]) -> dict[str, Any]:
        name = f"batch_{len(self.provider.batches)}"
        now = datetime.now(UTC)
        batch = {
            "id": name,
            "object": "batch",
            "type": "message_batch",
            "status": "in_progress",
            "processing_status": "in_progress",
            "created_at": int(now.timestamp()) if wanted else now.isoformat(),
            "expires_at": None if wanted else now.isoformat(),
            "request_counts": {
                "processing": len(requests),
                **dict.fromkeys(("succeeded", "errored", "canceled", "expired"), 0),
                **({"total": len(requests), "completed": 0, "failed": 0} if wanted else {}),
            },
            **wanted,
            "rows": requests,
        }
        self.provider.batches[name] = batch
        self.provider.runs.update(_text(body) for _, body in requests)
        return batch

    def _end_openai(self, batch: dict[str, Any]) -> None:
        batch["status"] = self.provider.ends
        if self.provider.line_errors:
            batch["errors"] = {"object": "list", "data": self.provider.line_errors}
            return
        rows = [_openai_row(*request) for request in batch["rows"]]
        if self.provider.ends != "completed":
            rows = rows[:1]
        good = [json.dumps(row).encode() for row in rows[::-1] if row["error"] is None]
        bad = [json.dumps(row).encode() for row in rows if row["error"]]
        if good:
            lines = b"\n".join([*self.provider.extra_lines, *good])
            batch["output_file_id"] = self._store(lines)["id"]
        if bad:
            batch["error_file_id"] = self._store(b"\n".join(bad))["id"]

    def _store(self, content: bytes) -> dict[str, Any]:
        name = f"file_{len(self.provider.files)}"
        self.provider.files[name] = content
        return {"id": name, "object": "file", "bytes": len(content), "created_at": 0}


ROUTES: list[tuple[str, Callable[..., tuple[int, Any]]]] = [
    ("POST /v1/chat/completions", _Handler.chat),
    ("POST /v1/messages", _Handler.message),
    ("POST /v1/files", _Handler.upload),
    ("GET /v1/files/([^/]+)/content", _Handler.content),
    ("POST /v1/batches", _Handler.create_openai),
    ("GET /v1/batches", _Handler.list_batches),
    ("GET /v1/batches/([^/]+)", _Handler.look_openai),
    ("POST /v1/batches/([^/]+)/cancel", _Handler.cancel),
    ("POST /v1/messages/batches", _Handler.create_anthropic),
    ("GET /v1/messages/batches", _Handler.list_batches),
    ("GET /v1/messages/batches/([^/]+)", _Handler.look_anthropic),
    ("POST /v1/messages/batches/([^/]+)/cancel", _Handler.cancel),
    ("GET /v1/messages/batches/([^/]+)/results", _Handler.results),
]


def _text(body: dict[str, Any]) -> str:
    return str(body["messages"][0]["content"])


def _completion(body: dict[str, Any]) -> dict[str, Any]:
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 0,
        "model": body["model"],
        "choices": [
            {
                "index": 0,
                "finish_reason": "stop",
                "message": {"role": "assistant", "content": f"did {_text(body)}"},
            }
        ],
        "usage": {
            "prompt_tokens": USED["input"],
            "completion_tokens": USED["output"],
            "total_tokens": 10,
            "prompt_tokens_details": {"cached_tokens": 4},
        },
    }


def _message(body: dict[str, Any]) -> dict[str, Any]:
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": body["model"],
        "content": [{"type": "text", "text": f"did {_text(body)}"}],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": {
            "input_tokens": USED["input"] - 4,
            "cache_read_input_tokens": 4,
            "output_tokens": USED["output"],
        },
    }


def _openai_row(custom_id: str, body: dict[str, Any]) -> dict[str, Any]:
    row: dict[str, Any] = {"custom_id": custom_id, "response": None, "error": None}
    fate = _text(body).partition(" ")[0]
    if fate == "expire":
        row["error"] = {"code": "batch_expired", "message": "This request expired."}
    elif fate in ("refuse", "break"):
        status = 400 if fate == "refuse" else 500
        row["response"] = {"status_code": status, "body": {"error": {"message": f"I {fate}"}}}
    else:
        row["response"] = {"status_code": 200, "body": _completion(body)}
    return row


def _anthropic_row(custom_id: str, body: dict[str, Any]) -> dict[str, Any]:
    fate = _text(body).partition(" ")[0]
    result: dict[str, Any] = {"type": "succeeded", "message": _message(body)}
    if fate == "expire":
        result = {"type": "expired"}
    elif fate in ("refuse", "break"):
        kind = "invalid_request_error" if fate == "refuse" else "api_error"
        error = {"type": kind, "message": f"I {fate}"}
        result = {"type": "errored", "error": {"type": "error", "error": error}}
    return {"custom_id": custom_id, "result": result}
