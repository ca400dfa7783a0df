"""An MCP server over HTTP for the soak test, with the tools of tests/fakes/stdio_mcp_server.py; it is killed at times.

daemon.py <port>
"""

from __future__ import annotations

import importlib.util
import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

FAKE = Path(__file__).resolve().parents[2] / "tests" / "fakes" / "stdio_mcp_server.py"
spec = importlib.util.spec_from_file_location("stdio_mcp_server", FAKE)
assert spec
assert spec.loader
fake = importlib.util.module_from_spec(spec)
spec.loader.exec_module(fake)


class Handler(BaseHTTPRequestHandler):
    """Answers requests with JSON, without streams."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        """A request or a notification."""
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if "id" not in request:
            self._send(202, b"")
            return
        result = fake.answer(request["method"], request.get("params", {}))
        said = (
            {"error": {"code": -32601, "message": "no such method"}}
            if result is None
            else {"result": result}
        )
        self._send(200, json.dumps({"jsonrpc": "2.0", "id": request["id"], **said}).encode())

    def do_GET(self) -> None:
        """There is no stream."""
        self._send(405, b"")

    def do_DELETE(self) -> None:
        """There is no session."""
        self._send(405, b"")

    def _send(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Nothing is logged."""


if __name__ == "__main__":
    ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
