"""A listener on this machine that stands in for a model's service: it keeps what an agent sends, and refuses it."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

REFUSED_STATUS = 403
"""A status that no program asks again after."""
_MESSAGE = "this listener only keeps requests"
_BODY = json.dumps(
    {
        "type": "error",
        "error": {"type": "permission_error", "message": _MESSAGE, "code": REFUSED_STATUS},
    }
).encode()


class Listener(ThreadingHTTPServer):
    """The server, and the bodies that were sent to it, in order."""

    daemon_threads = True
    block_on_close = False

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.bodies: list[bytes] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def handle_error(self, *_: object) -> None:
        """A client that went away is no error."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Listener

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if body:
            self.server.bodies.append(body)
        with suppress(OSError):
            self.send_response(REFUSED_STATUS)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(_BODY)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(_BODY)

    do_GET = do_HEAD = do_POST

    def log_message(self, format: str, *arguments: object) -> None:
        """Standard error stays the program's."""


@contextmanager
def listening() -> Iterator[Listener]:
    """A listener until the block ends."""
    with Listener() as server:
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        try:
            yield server
        finally:
            server.shutdown()
