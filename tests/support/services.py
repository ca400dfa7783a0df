"""Services on loopback: programs that listen, and files over HTTP."""

import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from lensbench.core.system.places import ROOT

START_S = 60


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        number: int = free.getsockname()[1]
        return number


@contextmanager
def listening(command: Sequence[str | Path], port: int, **options: Any) -> Iterator[subprocess.Popen[bytes]]:
    """A program that listens at the port, ended after the block."""
    with subprocess.Popen(command, stderr=subprocess.DEVNULL, **options) as process:
        try:
            until = time.monotonic() + START_S
            while not _listens(port):
                assert time.monotonic() < until, f"{command} does not listen"
                time.sleep(0.05)
            yield process
        finally:
            process.kill()


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@contextmanager
def lens_over_http(root: Path) -> Iterator[int]:
    """The port of the embedded LENS that serves a folder at /mcp."""
    port = free_port()
    command = [sys.executable, "-P", "-m", "lensbench_demo.lens", "--transport", "http", "--port", str(port)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "scripts")}
    with listening([*command, "--root", root], port, cwd=root, env=environment):
        yield port


@dataclass
class Files:
    """What a package index serves by path, and the paths that it was asked for."""

    url: str = ""
    bodies: dict[str, bytes] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    failures: dict[str, list[int]] = field(default_factory=dict)
    cut: int = 0
    """How many of the next files are cut off in the middle."""
    login: str = ""
    """The only value of the header Authorization that is accepted; any if ""."""


@contextmanager
def serving(files: Files) -> Iterator[None]:
    """Serves files until the block ends."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            files.asked.append(self.path)
            codes = files.failures.get(self.path, [])
            if files.login and self.headers.get("Authorization") != files.login:
                codes = [401]
            body = files.bodies.get(self.path)
            if codes or body is None:
                self.send_error(codes.pop(0) if codes else 404)
                return
            self.send_response(200)
            kind = "application/vnd.pypi.simple.v1+json" if body[:1] == b"{" else "text/html"
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if self.path.startswith("/files/") and files.cut:
                files.cut -= 1
                body = body[: len(body) // 2]
            self.wfile.write(body)

        def log_message(self, format: str, *arguments: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        files.url = f"http://127.0.0.1:{server.server_address[1]}"
        yield
        server.shutdown()
