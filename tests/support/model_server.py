"""A real HTTP server on loopback: answers chat completions as a test tells it to, and remembers what it was asked."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class Reply:
    """What goes over the wire. `cut`: bytes of the body that are sent before the connection breaks."""

    body: bytes = b""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    cut: int | None = None


Script = Callable[[dict[str, Any], int], Reply]


def chat(*texts: str | None, model: str = "tiny", reason: str = "stop", usage: bool = True, **message: Any) -> Reply:
    """A good reply with one choice for each text; `message`: further fields of each choice's message."""
    choices = [
        {"index": i, "finish_reason": reason, "message": {"role": "assistant", "content": text, **message}}
        for i, text in enumerate(texts)
    ]
    counted = {"usage": {"prompt_tokens": 11, "completion_tokens": 7 * len(texts)}} if usage else {}
    return json_reply({"id": "1", "object": "chat.completion", "model": model, "choices": choices, **counted})


def json_reply(value: Any, status: int = 200, **headers: str) -> Reply:
    return Reply(json.dumps(value).encode(), status, {k.replace("_", "-"): v for k, v in headers.items()})


def refusal(status: int, message: str = "no", **headers: str) -> Reply:
    return json_reply({"error": {"message": message, "code": None}}, status, **headers)


@dataclass
class ModelServer:
    """`url` ends in /v1; `requests` are the bodies that arrived, `headers` theirs."""

    url: str
    requests: list[dict[str, Any]]
    headers: list[dict[str, str]]
    close: Callable[[], None]  # as a server that dies: no connection is taken, and those that are there are cut
    most_at_once: int = 0


@contextmanager
def serving(script: Script, port: int = 0) -> Generator[ModelServer]:
    """`script(request, number)` gives the reply to request 0, 1, ..., in whatever thread serves it. `port` 0: any."""
    lock = threading.Lock()
    now = 0

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            nonlocal now
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            with lock:
                number = len(seen.requests)
                seen.requests.append(body)
                seen.headers.append({k.lower(): v for k, v in self.headers.items()})
                now += 1
                seen.most_at_once = max(seen.most_at_once, now)
            try:
                self._send(script(body, number))
            finally:
                with lock:
                    now -= 1

        def _send(self, reply: Reply) -> None:
            self.send_response(reply.status)
            for name, value in {"Content-Type": "application/json", **reply.headers}.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(reply.body)))
            self.end_headers()
            self.wfile.write(reply.body[: reply.cut])
            if reply.cut is not None:
                self.close_connection = True

        def log_message(self, *args: Any) -> None:
            pass

        def handle(self) -> None:
            open_now.add(self.connection)
            with suppress(ConnectionError):  # the client has left, as some tests mean it to
                super().handle()
            open_now.discard(self.connection)

    class Server(ThreadingHTTPServer):
        daemon_threads = True
        request_queue_size = 256

    open_now: set[socket.socket] = set()
    server = Server(("127.0.0.1", port), Handler)

    def close() -> None:
        server.shutdown()
        server.server_close()
        for connection in list(open_now):
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    seen = ModelServer(f"http://127.0.0.1:{server.server_port}/v1", [], [], close)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield seen
    finally:
        close()
