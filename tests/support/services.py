"""Services on loopback: programs that listen, and files over HTTP."""

import io
import os
import socket
import subprocess
import sys
import tarfile
import threading
import time
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from tenacity import wait_none

from lensbench.core.system.places import ROOT
from lensbench.repositories.sources import downloads

START_S = 60


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        number: int = free.getsockname()[1]
        return number


@contextmanager
def listening(
    command: Sequence[str | Path], port: int, **options: Any
) -> Iterator[subprocess.Popen[bytes]]:
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
    command = [
        sys.executable,
        "-P",
        "-m",
        "lensbench_demo.lens",
        "--transport",
        "http",
        "--port",
        str(port),
    ]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "scripts")}
    with listening([*command, "--root", root], port, cwd=root, env=environment):
        yield port


class Request(NamedTuple):
    """What a client asks."""

    method: str
    path: str
    headers: Message
    body: bytes


class Reply(NamedTuple):
    """What a service answers."""

    status: int
    body: bytes = b""
    kind: str = "application/json"
    missing: int = 0
    """Bytes of the body that are announced and never come."""


@contextmanager
def answering(answer: Callable[[Request], Reply]) -> Iterator[str]:
    """The address of a service over HTTP that gives these answers until the block ends."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            reply = answer(Request(self.command, self.path, self.headers, body))
            self.send_response(reply.status)
            self.send_header("Content-Type", reply.kind)
            self.send_header("Content-Length", str(len(reply.body) + reply.missing))
            self.end_headers()
            self.wfile.write(reply.body)
            self.close_connection |= bool(reply.missing)

        do_GET = do_POST = do_PATCH = do_DELETE = answer

        def log_message(self, format: str, *arguments: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


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

    def answer(self, request: Request) -> Reply:
        self.asked.append(request.path)
        if self.login and request.headers.get("Authorization") != self.login:
            return Reply(401)
        if codes := self.failures.get(request.path):
            return Reply(codes.pop(0))
        if (body := self.bodies.get(request.path)) is None:
            return Reply(404)
        kind = "application/vnd.pypi.simple.v1+json" if body[:1] == b"{" else "text/html"
        if request.path.startswith("/files/") and self.cut:
            self.cut -= 1
            return Reply(200, body[: len(body) // 2], kind, len(body) - len(body) // 2)
        return Reply(200, body, kind)


def packed(files: dict[str, str], top: str = "demo-1.0") -> bytes:
    """The files in an archive, below one folder."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as tar:
        for name, text in files.items():
            info = tarfile.TarInfo(f"{top}/{name}")
            info.size = len(text.encode())
            tar.addfile(info, io.BytesIO(text.encode()))
    return buffer.getvalue()


def zipped(files: dict[str, str]) -> bytes:
    """The files in a zip, as in a wheel."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as bundle:
        for name, text in files.items():
            bundle.writestr(name, text)
    return buffer.getvalue()


@contextmanager
def serving(files: Files, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Serves files until the block ends, to downloads that try again at once."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setattr(downloads, "WAIT", wait_none())
    with answering(files.answer) as files.url:
        yield
