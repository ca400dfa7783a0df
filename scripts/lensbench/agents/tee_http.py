"""Passes the requests to an MCP server with a URL on, and notes its messages as `tee` does. It listens on this machine,
prints its port, and serves until its standard input ends. All bytes pass as they come; only `Host` names the server.
"""

from __future__ import annotations

import os
import re
import socket
import ssl
import sys
import threading
from contextlib import suppress
from urllib.parse import urlsplit

from lensbench.agents.tee import FROM_SERVER, LONGEST, SMALL, TO_SERVER, Tap, opened

_LINE = b"\r\n"
_GAP = re.compile(rb"\r\n\r\n|\n\n|\r\r")
"""Between two events of a stream."""
_NO_BODY = (*range(100, 200), 204, 304)
"""Statuses without one."""


class Copy:
    """One direction of a connection."""

    def __init__(
        self, tap: Tap, direction: str, source: socket.socket, target: socket.socket
    ) -> None:
        self._tap = tap
        self._direction = direction
        self._source = source.makefile("rb")
        self._target = target
        self._body = bytearray()
        self._is_stream = False

    def run(self, host: bytes = b"") -> None:
        """Passes everything on, until one side ends; `host` stands in the heads of requests instead of ours."""
        with suppress(OSError):
            with suppress(ValueError, IndexError):  # what cannot be read is only passed on
                while self._pass_message(host):
                    pass
            while piece := self._source.read1(SMALL):
                self._target.sendall(piece)

    def _pass_message(self, host: bytes) -> bool:
        """Passes a request or a response on; False at the end."""
        head = self._lines()
        if host:
            head = re.sub(rb"(?i)(\r\nhost:)[^\r\n]*", rb"\1 " + host, head, count=1)
        self._target.sendall(head)
        first, *lines = head.split(_LINE)
        pairs = (line.partition(b":") for line in lines)
        fields = {name.lower(): value.strip() for name, _, value in pairs}
        status = int(first.split()[1]) if self._direction == FROM_SERVER else 0
        if status >= 400:
            self._tap.write(self._direction, method="", error=f"HTTP {status}")
        if packing := fields.get(b"content-encoding"):
            self._tap.write(self._direction, method="unread", error=packing.decode())
        self._is_stream = fields.get(b"content-type", b"").startswith(b"text/event-stream")
        if status in _NO_BODY:
            return True
        if b"chunked" in fields.get(b"transfer-encoding", b"").lower():
            self._pass_chunks()
        elif length := fields.get(b"content-length"):
            self._pass(int(length), is_all=True)
        elif status:
            while self._pass(SMALL, is_all=False):
                pass
            self._read(is_end=True)
        return True

    def _lines(self) -> bytes:
        """The lines up to an empty one. Raises ValueError at the end."""
        lines = [self._source.readline(LONGEST)]
        while lines[-1] not in (_LINE, b""):
            lines.append(self._source.readline(LONGEST))
        if not lines[-1]:
            self._target.sendall(b"".join(lines))
            raise ValueError
        return b"".join(lines)

    def _pass_chunks(self) -> None:
        while True:
            line = self._source.readline(LONGEST)
            is_last = not line.partition(b";")[0].strip(b"0\r\n ")
            if is_last:
                self._read(is_end=True)
            self._target.sendall(line)
            if is_last:
                self._target.sendall(self._lines())
                return
            self._pass(int(line.partition(b";")[0], 16), is_all=False)
            self._target.sendall(self._source.readline(LONGEST))

    def _pass(self, size: int, *, is_all: bool) -> bool:
        """Passes so many bytes of a body on, all of it or a part; False when there are no more."""
        while size and (piece := self._source.read1(min(size, SMALL))):
            size -= len(piece)
            self._body += piece
            is_small = len(self._body) < SMALL
            is_end = is_all and not size
            if is_small:
                self._read(is_end, len(piece))
            self._target.sendall(piece)
            if not is_small:
                self._read(is_end, len(piece))
        return not size

    def _read(self, is_end: bool, size: int = 0) -> None:
        """Notes what is complete of a body: events, of which the last `size` bytes are new, or all of it at its end."""
        if self._is_stream and _GAP.search(self._body, max(0, len(self._body) - size - 3)):
            *events, rest = _GAP.split(bytes(self._body))
            for event in events:
                lines = [line[5:] for line in event.splitlines() if line.startswith(b"data:")]
                self._tap.message(self._direction, b"\n".join(lines))
            self._body[:] = rest
        if is_end and not self._is_stream:
            self._tap.message(self._direction, bytes(self._body))
        if is_end or len(self._body) > LONGEST:
            self._body.clear()


def connect(client: socket.socket, url: str, tap: Tap) -> None:
    """Copies between a connection and the server of a URL, until one of them ends it."""
    parts = urlsplit(url)
    is_secure = parts.scheme == "https"
    name = parts.hostname or ""
    try:
        server = socket.create_connection((name, parts.port or (443 if is_secure else 80)))
        if is_secure:
            server = ssl.create_default_context().wrap_socket(server, server_hostname=name)
    except OSError as error:
        tap.write(TO_SERVER, method="connect", error=str(error))
        client.close()
        return
    for end in (client, server):
        end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def ask() -> None:
        Copy(tap, TO_SERVER, client, server).run(parts.netloc.rpartition("@")[2].encode())
        with suppress(OSError):
            server.shutdown(socket.SHUT_RDWR if is_secure else socket.SHUT_WR)

    threading.Thread(target=ask, daemon=True).start()
    Copy(tap, FROM_SERVER, server, client).run()
    for end in (client, server):
        with suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)  # for the thread that reads it, too
        end.close()


def serve(server: socket.socket, url: str, tap: Tap) -> None:
    """Accepts connections, for ever."""
    while True:
        client = server.accept()[0]
        threading.Thread(target=connect, args=(client, url, tap), daemon=True).start()


def main() -> None:
    """Forwards connections to the server of a URL."""
    file, name = sys.argv[1:]
    url = sys.stdin.readline().strip()
    tap = Tap(opened(file), name)
    server = socket.create_server(("127.0.0.1", 0), backlog=128)
    print(server.getsockname()[1], flush=True)
    threading.Thread(target=serve, args=(server, url, tap), daemon=True).start()
    sys.stdin.read()
    os._exit(0)


if __name__ == "__main__":
    main()
