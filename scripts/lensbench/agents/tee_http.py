"""Passes the requests to an MCP server with a URL on, and notes its messages as `tee` does. It listens on this machine,
prints its port, and serves until its standard input ends. All bytes pass as they come; only `Host` names the server.
"""

from __future__ import annotations

import os
import re
import socket
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from urllib.parse import urlsplit

from lensbench.agents.tee import FROM_SERVER, LONGEST, SMALL, TO_SERVER, Tap, opened

_END = b"\r\n\r\n"
_GAP = re.compile(rb"\r\n\r\n|\n\n|\r\r")
"""Between two events of a stream."""
_LONGEST_HEAD = 1 << 20
_FOR_EVER = float("inf")
_EMPTY = (204, 304)
"""Statuses without a body."""


class Messages:
    """The messages of one direction of a connection, of which pieces of any size come."""

    def __init__(self, tap: Tap, direction: str, methods: deque[bytes]) -> None:
        self._tap = tap
        self._direction = direction
        self._methods = methods
        """The methods of requests that wait for their response."""
        self._rest = b""
        self._body = bytearray()
        self._is_stream = self._is_chunked = False
        self._left = 0.0
        self._state = "head"

    @property
    def is_small(self) -> bool:
        return len(self._body) + len(self._rest) < SMALL

    def feed(self, piece: bytes) -> Iterator[tuple[bool, bytes]]:
        """All of this piece, in order, and which parts are heads; notes the messages that end in it."""
        data, self._rest = self._rest + piece, b""
        while data:
            if self._state in ("head", "size", "trailer"):
                is_head = self._state == "head"
                before, found, after = data.partition(_END if is_head else b"\r\n")
                if not found and len(data) < _LONGEST_HEAD:
                    self._rest = data
                    return
                yield is_head, before + found
                data = after
                self._try(self._line, before if found else b"")
            else:
                size = len(data) if self._left == _FOR_EVER else min(len(data), int(self._left))
                part, data = data[:size], data[size:]
                self._left -= size
                yield False, part
                if self._state == "body":
                    self._try(self._take, part)
                if not self._left:
                    self._try(self._ended)

    def rest(self) -> bytes:
        """What has not been passed on when the connection ends."""
        if self._state == "body":
            self._try(self._flush)
        return self._rest

    def _try(self, work: Callable[..., None], *arguments: bytes) -> None:
        """Reads a part; what follows one that cannot be read is only passed on."""
        try:
            work(*arguments)
        except Exception:
            self._state, self._left = "body", _FOR_EVER

    def _line(self, text: bytes) -> None:
        if self._state == "head":
            self._head(text)
        elif self._state == "size":
            self._left = int(text.partition(b";")[0], 16)
            self._state = "body" if self._left else "trailer"
        elif not text:  # the end of the trailer
            self._flush()

    def _head(self, text: bytes) -> None:
        first, *lines = text.split(b"\r\n")
        pairs = (line.partition(b":") for line in lines)
        head = {name.strip().lower(): value.strip() for name, _, value in pairs}
        kind = head.get(b"content-type", b"")
        self._is_stream = kind.startswith(b"text/event-stream")
        self._is_chunked = b"chunked" in head.get(b"transfer-encoding", b"").lower()
        if packing := head.get(b"content-encoding", b"").decode():
            self._tap.write(self._direction, method="unread", error=packing)
        no_length = b"0" if self._direction == TO_SERVER else b"inf"
        self._left = float(head.get(b"content-length", no_length))
        if self._is_bare(first):
            self._state = "head"
        elif self._is_chunked:
            self._state = "size"
        elif self._left:
            self._state = "body"

    def _is_bare(self, first: bytes) -> bool:
        """True when no body follows this line."""
        if self._direction == TO_SERVER:
            self._methods.append(first.partition(b" ")[0])
            return False
        status = int(first.split(b" ")[1])
        if status < 200:
            return True
        method = self._methods.popleft() if self._methods else b""
        if status >= 400:
            self._tap.write(self._direction, method="", error=f"HTTP {status}")
        return status in _EMPTY or method == b"HEAD"

    def _take(self, part: bytes) -> None:
        self._body += part
        if self._is_stream:
            self._events(len(part))
        if len(self._body) > LONGEST:
            self._body.clear()  # and the rest of it is no message

    def _events(self, size: int) -> None:
        """Notes the events of a stream that have ended with its last bytes."""
        if not _GAP.search(self._body, max(0, len(self._body) - size - 3)):
            return
        *events, rest = _GAP.split(bytes(self._body))
        for event in events:
            lines = [line[5:].strip() for line in event.splitlines() if line.startswith(b"data:")]
            if data := b"\n".join(lines):
                self._tap.message(self._direction, data)
        self._body[:] = rest

    def _ended(self) -> None:
        """What was announced has come: a body, or a piece of one with its line end."""
        if self._state == "body" and self._is_chunked:
            self._state, self._left = "piece end", 2
        elif self._state == "piece end":
            self._state = "size"
        else:
            self._flush()

    def _flush(self) -> None:
        """Notes a body that has ended."""
        if self._body and not self._is_stream:
            self._tap.message(self._direction, bytes(self._body))
        self._body.clear()
        self._state = "head"


def _rewritten(part: bytes, host: bytes) -> bytes:
    """The head of a request, for the server's own host; another part of it as it is."""
    return re.sub(rb"(?i)(\r\nhost:)[^\r\n]*", rb"\1 " + host, part, count=1)


class Forwarder:
    """Connects each connection to the server of a URL."""

    def __init__(self, url: str, tap: Tap) -> None:
        parts = urlsplit(url)
        is_secure = parts.scheme == "https"
        self._name = parts.hostname or ""
        self._port = parts.port or (443 if is_secure else 80)
        self._host = parts.netloc.rpartition("@")[2].encode()
        self._tap = tap
        self._context = None
        if is_secure:
            import ssl

            self._context = ssl.create_default_context()

    def serve(self, server: socket.socket) -> None:
        """Accepts connections, for ever."""
        while True:
            client = server.accept()[0]
            threading.Thread(target=self._connected, args=(client,), daemon=True).start()

    def _connected(self, client: socket.socket) -> None:
        try:
            server = socket.create_connection((self._name, self._port))
            if self._context:
                server = self._context.wrap_socket(server, server_hostname=self._name)
        except OSError as error:
            self._tap.write(TO_SERVER, method="connect", error=str(error))
            client.close()
            return
        for end in (client, server):
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        methods: deque[bytes] = deque()
        asked = Messages(self._tap, TO_SERVER, methods)
        answered = Messages(self._tap, FROM_SERVER, methods)
        asking = threading.Thread(target=self._ask, args=(client, server, asked), daemon=True)
        asking.start()
        _answer(server, client, answered)

    def _ask(self, client: socket.socket, server: socket.socket, messages: Messages) -> None:
        with suppress(OSError):
            while piece := client.recv(SMALL):
                for is_head, part in [*messages.feed(piece)]:  # noted before it can be answered
                    server.sendall(_rewritten(part, self._host) if is_head else part)
            server.sendall(messages.rest())
            if not self._context:
                server.shutdown(socket.SHUT_WR)
                return
        _close(server)


def _answer(server: socket.socket, client: socket.socket, messages: Messages) -> None:
    with suppress(OSError):
        while piece := server.recv(SMALL):
            is_small = messages.is_small
            if is_small:
                deque(messages.feed(piece), maxlen=0)
            client.sendall(piece)
            if not is_small:
                deque(messages.feed(piece), maxlen=0)
    messages.rest()
    _close(client)
    _close(server)


def _close(end: socket.socket) -> None:
    """Ends a connection for the threads that read it, too."""
    with suppress(OSError):
        end.shutdown(socket.SHUT_RDWR)
    end.close()


def main() -> None:
    """Forwards connections to the server of a URL."""
    file, name = sys.argv[1:]
    url = sys.stdin.readline().strip()
    tap = Tap(opened(file), name)
    server = socket.create_server(("127.0.0.1", 0), backlog=128)
    print(server.getsockname()[1], flush=True)
    forwarder = Forwarder(url, tap)
    threading.Thread(target=forwarder.serve, args=(server,), daemon=True).start()
    sys.stdin.read()
    os._exit(0)


if __name__ == "__main__":
    main()
